"""The configuration of a client for one platform."""

from dataclasses import dataclass, field

from campus.http.shared import SharedState


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Address, credentials and limits of one platform; durations are seconds."""

    base_url: str
    client_id: str
    client_secret: str = field(repr=False)
    concurrency: int = 16
    per_page: int = 1000
    # Most rows of a list to request in one answer: one answer is a snapshot, and several pages are not.
    unpaged_limit: int = 50_000
    max_attempts: int = 8
    backoff_base: float = 0.5
    backoff_cap: float = 30.0
    # A request fails where the platform asks for a longer pause, so that the run does not stall.
    retry_after_cap: float = 60.0
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    # Further values of the filter by status that may show archived rows.
    archived_statuses: tuple[str, ...] = ()
    # Further scopes for every token, where a platform has names of its own.
    extra_scopes: tuple[str, ...] = ()
    # The platform keeps one token a client: a new token ends the last. So one token is for all schools; these
    # are known from the start.
    one_token: bool = False
    school_ids: tuple[int, ...] = ()
    # A larger answer, unpacked, fails: a few hundred compressed kilobytes could fill the memory.
    max_answer_bytes: int = 256 << 20
    # Decode national identity numbers too; else the decoder drops them.
    keep_id_numbers: bool = False
    # The pace and the tokens that clients of other processes share; None: other processes share nothing.
    shared: SharedState | None = field(default=None, repr=False, compare=False)

    @property
    def patience(self) -> float:
        """Seconds of retries while the platform does not answer: the average sum of all pauses of a request,
        half a minute by default. A restart of a platform takes less."""
        steps = range(self.max_attempts - 1)
        return sum(min(self.backoff_cap, self.backoff_base * 2.0**step) / 2 for step in steps)
