"""The pace of requests and the tokens that all clients of one platform share.

The workers of a district share them through a database (`pipelines.shared.workers`). Without a district, each
process has its own pace, and each client its own tokens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from campus.http.events import Event
from campus.http.sending.rate_limit import budget_for


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

    async def rest(self, seconds: float) -> None:
        """Wait for so many seconds, or less."""

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""


class TokenLock(Protocol):
    """The lock of a shared token: no other client requests the token meanwhile."""

    @property
    def token(self) -> SharedToken | None:
        """The token that was stored last."""

    async def store(self, token: SharedToken) -> None:
        """Store a token for the other clients."""


class SharedState(Protocol):
    """The pace and the tokens of all clients of one platform with the same credentials."""

    @property
    def pace(self) -> Pace:
        """The pace of requests."""

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Register one client. notify: called with an event for each delay of the client."""

    def lock_token(self, name: str) -> AbstractAsyncContextManager[TokenLock]:
        """Wait for the lock of the token of this name."""


class ProcessPace:
    """The pace of one process."""

    def __init__(self, base_url: str) -> None:
        self._budget = budget_for(base_url)
        self.acquire, self.answered = self._budget.acquire, self._budget.answered

    async def rest(self, seconds: float) -> None:
        """Wait the whole time, since no other process shares the pace."""
        await asyncio.sleep(seconds)


class NoTokenLock:
    """Locks nothing, and shares no token."""

    token = None

    async def store(self, token: SharedToken) -> None:
        """Do nothing: no other client needs the token."""


class SharedInProcess:
    """Shares the pace with the other clients of this process, and no tokens."""

    def __init__(self, base_url: str) -> None:
        self.pace: Pace = ProcessPace(base_url)

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Do nothing."""

    @asynccontextmanager
    async def lock_token(self, name: str) -> AsyncIterator[TokenLock]:
        """Return at once, since no other client shares the token."""
        yield NoTokenLock()
