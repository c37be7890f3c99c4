"""Sessions that the platform refuses to show: its word for one that nobody recorded, or a wrong question.

A wrong question is refused for every session. So a refusal is the platform's word once it shows any other
session of the semester; where none was asked for yet, some that were most likely recorded are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from campus.attendance.calendar import Session
from campus.http.errors import NotFound, Refused


@dataclass
class Refusals:
    """What came of a semester's sessions in one run. `shown`: the platform showed one, recorded or not.
    `unrecorded`: those that it refused, which is its word for it."""

    shown: bool = False
    unrecorded: set[Session] = field(default_factory=set)
    _asking: "asyncio.Task[None] | None" = None

    async def are_its_word(
        self, ask: Callable[[Session], Awaitable[object]], others: Iterable[Session]
    ) -> bool:
        """Whether a refusal says that a session was not recorded. `others`: whom to ask for where the
        platform has shown none yet; whoever comes meanwhile waits for what comes of it."""
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
