"""The pace of requests and the tokens that all clients of one platform share.

A database of workers implements these protocols. Without one, each process has its own pace and tokens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from campus.http.events import Event
from campus.http.rate_limit import budget_for


@dataclass(frozen=True, slots=True)
class SharedToken:
    """A token that some client was given."""

    text: str = field(repr=False)
    scopes: frozenset[str]
    #: The scopes that the platform refused meanwhile, and its words.
    refused: Mapping[str, str]
    #: By the wall clock, in seconds since the epoch.
    fresh_until: float
    clock_skew: float | None


class Pace(Protocol):
    """The pace of requests. `now`, `granted`: monotonic seconds."""

    def acquire(self, now: float) -> float:
        """Grant one request (0), or return the seconds to wait before the next try."""

    async def rest(self, seconds: float, waiting: int) -> None:
        """Wait for so many seconds, or until a request may be granted. waiting: the requests in the queue."""

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""


class Turn(Protocol):
    """The lock of a shared token: no other client requests the token meanwhile."""

    @property
    def token(self) -> SharedToken | None:
        """The token that was kept last."""

    async def keep(self, token: SharedToken) -> None:
        """Keep a token for the other clients."""


class Shared(Protocol):
    """The pace and the tokens of all clients of one platform with the same credentials."""

    @property
    def pace(self) -> Pace:
        """The pace of requests."""

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Begin for one client. notify: takes an event for whatever delays the client."""

    def turn(self, name: str) -> AbstractAsyncContextManager[Turn]:
        """Wait for the lock of the token of this name."""


class OwnPace:
    """The pace of one process."""

    def __init__(self, base_url: str) -> None:
        self._budget = budget_for(base_url)
        self.acquire, self.answered = self._budget.acquire, self._budget.answered

    async def rest(self, seconds: float, waiting: int) -> None:
        """Wait: no other process acquires."""
        await asyncio.sleep(seconds)


class NoTurn:
    """A turn without other clients: no token is shared."""

    token = None

    async def keep(self, token: SharedToken) -> None:
        """Do nothing: no other client needs the token."""


class OwnProcess:
    """Shares the pace with the other clients of this process, and no tokens."""

    def __init__(self, base_url: str) -> None:
        self.pace: Pace = OwnPace(base_url)

    async def join(self, notify: Callable[[Event], None]) -> None:
        """Do nothing."""

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Turn]:
        """Take a turn at once."""
        yield NoTurn()
