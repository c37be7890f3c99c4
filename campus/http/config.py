"""The configuration of a client for one platform, and what it shares with other clients of the platform.

All clients share the pace of requests and the tokens. The workers of a district share them through a database
(`pipelines.shared.workers`). Without a district, each process has its own pace, and each client its own
tokens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from campus.http.events import Event
from campus.http.rate_limit import budget_for


@dataclass(frozen=True, slots=True)
class SharedToken:
    """A token that the platform issued to any of the clients."""

    text: str = field(repr=False)
    scopes: frozenset[str]
    #: By refused scope, the platform's reason.
    refused: Mapping[str, str]
    #: By the wall clock, in seconds since the epoch.
    fresh_until: float


class Pace(Protocol):
    """The pace of requests. The parameters `now` and `granted` are monotonic seconds."""

    def acquire(self, now: float) -> float:
        """Ask for one request. Returns 0 if it is granted, else the seconds to wait before the next try."""

    async def wait(self, seconds: float) -> None:
        """Wait for so many seconds, or less."""

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""


class TokenLock:
    """The lock of a shared token: no other client requests the token meanwhile. This one locks nothing, and
    shares no token."""

    #: The token that was stored last.
    token: SharedToken | None = None

    async def store(self, token: SharedToken) -> None:
        """Store a token for the other clients."""


class ProcessPace:
    """The pace of one process."""

    def __init__(self, base_url: str) -> None:
        self._budget = budget_for(base_url)
        self.acquire, self.answered = self._budget.acquire, self._budget.answered

    async def wait(self, seconds: float) -> None:
        """Wait the whole time, since no other process shares the pace."""
        await asyncio.sleep(seconds)


class SharedState:
    """The pace and the tokens of all clients of one platform with the same credentials. This one shares the
    pace with the other clients of its process, and no tokens."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Register one client. notify: called with an event for each delay of the client."""

    @asynccontextmanager
    async def lock_token(self, name: str) -> AsyncIterator[TokenLock]:
        """Wait for the lock of the token of this name."""
        yield TokenLock()


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
