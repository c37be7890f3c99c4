"""What the clients of one platform share: the pace of their requests, and tokens.

Campus knows no database: this is what one has to offer. Where there is none, a process has its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from campus.http.events import Event
from campus.http.rate_limit import budget_for


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A token that some client was given. `fresh_until`: by the wall clock, in seconds since the epoch.
    `refused`: the scopes that the platform refused meanwhile, and in which words."""

    text: str = field(repr=False)
    scopes: frozenset[str]
    refused: Mapping[str, str]
    fresh_until: float
    clock_skew: float | None


class Pace(Protocol):
    """When requests may be sent. `now`, `granted`: monotonic seconds."""

    def acquire(self, now: float) -> float:
        """0 grants one request; more are the seconds to wait before asking again."""

    async def rest(self, seconds: float, waiting: int) -> None:
        """Wait so long, or until there may be more to acquire. waiting: the requests in line."""

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""


class Turn(Protocol):
    """The one turn at a token: nobody else asks for it meanwhile."""

    @property
    def held(self) -> HeldToken | None:
        """What was kept last."""

    async def keep(self, token: HeldToken) -> None:
        """Keep it for the others."""


class Shared(Protocol):
    """What all clients of one platform with the same credentials hold together."""

    @property
    def pace(self) -> Pace:
        """When requests may be sent."""

    async def join(self, tell: Callable[[Event], None]) -> None:
        """Begin for one client; whoever holds it up is told of with `tell`."""

    def turn(self, name: str) -> AbstractAsyncContextManager[Turn]:
        """Wait for the turn at the token of this name."""


class OwnPace:
    """The pace of one process."""

    def __init__(self, base_url: str) -> None:
        self._budget = budget_for(base_url)
        self.acquire, self.answered = self._budget.acquire, self._budget.answered

    async def rest(self, seconds: float, waiting: int) -> None:
        """Wait: nobody else acquires."""
        await asyncio.sleep(seconds)


class NoTurn:
    """A turn where there are no others: nothing is held, and nothing kept."""

    held = None

    async def keep(self, token: HeldToken) -> None:
        """Nobody is there to keep it for."""


class OwnProcess:
    """Nothing is shared but the pace, with the other clients of this process."""

    def __init__(self, base_url: str) -> None:
        self.pace: Pace = OwnPace(base_url)

    async def join(self, tell: Callable[[Event], None]) -> None:
        """There is nothing to begin."""

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Turn]:
        """Always at once."""
        yield NoTurn()
