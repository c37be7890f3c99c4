"""What the client needs to know of one platform."""

from dataclasses import dataclass, field

from campus.http.shared import Shared


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Address, credentials and limits of one platform; durations are seconds."""

    base_url: str
    client_id: str
    client_secret: str = field(repr=False)
    concurrency: int = 16
    per_page: int = 1000
    # Up to this many rows a list is asked for in one answer, which is a snapshot where pages are not.
    unpaged_limit: int = 50_000
    max_attempts: int = 8
    backoff_base: float = 0.5
    backoff_cap: float = 30.0
    # A platform that asks for a longer pause than this fails the request instead of stalling the run.
    retry_after_cap: float = 60.0
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    # Values of the filter by status with which archived rows may be asked for, beside those that are likely.
    archived_statuses: tuple[str, ...] = ()
    # Scopes that every token is asked for besides, where a platform has names of its own.
    extra_scopes: tuple[str, ...] = ()
    # The platform keeps one token a client, so that a new one ends the last: one then is for all schools, of
    # which these are known from the start.
    one_token: bool = False
    school_ids: tuple[int, ...] = ()
    # A larger answer, unpacked, fails: of a few hundred kilobytes a platform can make memory full.
    max_answer_bytes: int = 256 << 20
    # National identity numbers in answers are decoded too; else nothing of them gets past the decoder.
    keep_id_numbers: bool = False
    # What is held together with clients in other processes; None: nothing.
    shared: Shared | None = field(default=None, repr=False, compare=False)

    @property
    def patience(self) -> float:
        """Seconds for which a platform that answers nothing is asked again: what the pauses between all
        attempts of a request come to on average, half a minute by default. A restart takes less."""
        steps = range(self.max_attempts - 1)
        return sum(min(self.backoff_cap, self.backoff_base * 2.0**step) / 2 for step in steps)
