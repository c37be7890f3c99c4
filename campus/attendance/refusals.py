"""Tells whether a refused session was not recorded, or the request is wrong.

The platform refuses a wrong request for every session. So a refusal means "not recorded" once the platform
shows any other session of the semester. If none was requested yet, sessions that were probably recorded are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from campus.attendance.calendar import Session
from campus.http.errors import NotFound, Refused


@dataclass
class Refusals:
    """The refused sessions of a semester in one run."""

    #: The platform showed some session, recorded or not.
    shown: bool = False
    #: Refused sessions that were not recorded.
    unrecorded: set[Session] = field(default_factory=set)
    _asking: "asyncio.Task[None] | None" = None

    async def mean_unrecorded(
        self, ask: Callable[[Session], Awaitable[object]], others: Iterable[Session]
    ) -> bool:
        """Whether a refused session was not recorded. Concurrent callers wait for one result.

        Args:
            others: Sessions to request where the platform has shown none yet."""
        if not self.shown:
            if self._asking is None:
                self._asking = asyncio.ensure_future(self._ask_until_shown(ask, others))
            await self._asking
        return self.shown

    async def _ask_until_shown(
        self, ask: Callable[[Session], Awaitable[object]], others: Iterable[Session]
    ) -> None:
        for session in others:
            try:
                await ask(session)
            except (NotFound, Refused):
                continue
            self.shown = True
            return
