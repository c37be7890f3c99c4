"""Limits the bytes of bodies in memory, and the bodies that are verified at a time.

Small bodies go first: a genuine push has some hundred bytes, and must not wait behind the long bodies of an
attacker who floods the receiver."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

#: Seconds for the read of a body and the wait for its verification.
WAIT_SECONDS = 20.0


class NoRoom(Exception):
    """There is no room for a body, or a smaller body took the room."""


class Admission:
    """Memory for bodies, and turns for their verification. Serves one event loop."""

    def __init__(self, room_bytes: int, turns: int) -> None:
        self._room_bytes, self._free_turns = room_bytes, turns
        # Reserved bytes of waiting bodies, by the timeout that can end the wait.
        self._waiting: dict[asyncio.Timeout, int] = {}
        self._verified_bytes = 0
        # Bodies that wait for a turn, by size and then by arrival.
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()

    @asynccontextmanager
    async def turn(self, size: int, read: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
        """Reserve `size` bytes, read the body, and wait for a turn. The turn ends with the block.

        Raises NoRoom, and the errors of `read`."""
        self._make_room(size)
        try:
            async with asyncio.timeout(WAIT_SECONDS) as wait:
                self._waiting[wait] = size
                try:
                    body = await read()
                    await self._next_turn(len(body))
                finally:
                    self._waiting.pop(wait, None)
        except TimeoutError:
            raise NoRoom from None
        self._verified_bytes += size
        try:
            yield body
        finally:
            self._verified_bytes -= size
            self._end_turn()

    def _make_room(self, size: int) -> None:
        """End the wait of larger bodies until `size` bytes are free. Raises NoRoom."""
        while self._verified_bytes + sum(self._waiting.values()) + size > self._room_bytes:
            largest = max(self._waiting, key=self._waiting.__getitem__, default=None)
            if largest is None or self._waiting[largest] <= size:
                raise NoRoom
            del self._waiting[largest]
            if not largest.expired():
                largest.reschedule(asyncio.get_running_loop().time())

    async def _next_turn(self, size: int) -> None:
        if self._free_turns:
            self._free_turns -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (size, next(self._arrivals), turn))
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come at the moment when the wait ended.
            if not turn.cancelled():
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        while self._queue:
            _, _, turn = heapq.heappop(self._queue)
            if not turn.done():
                turn.set_result(None)
                return
        self._free_turns += 1
