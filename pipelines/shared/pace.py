"""One pace for all workers: permits are leased in batches from one budget, which learns from all answers."""

import asyncio
import json
import threading
import time
from collections import deque
from typing import Any

from sqlalchemy import Connection, text

from campus.http.rate_limit import Budget
from pipelines.shared.database import Database, held, keep

#: Seconds that permits reach ahead: so late do the others hear of a refusal at most.
AHEAD = 0.2
#: Seconds before its last permit at which a process begins to lease more.
SOON = AHEAD / 2
#: Seconds after its moment for which a permit counts, since nobody sends exactly on time.
LATE = 0.1
#: Seconds between two looks for permits, where others have leased all there are.
LOOK = 0.05
#: Whose turn it is with the budget.
ALONE = "SELECT pg_advisory_xact_lock(1, hashtext(:name))"


class SharedPace:
    """The pace of one process among others; see `campus.http.shared.Pace`.

    Budget and permits are by the database's clock; `_ahead` is how far that is ahead of ours."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name
        self._budget = Budget()
        self._exchanging = threading.Lock()
        self._moments: deque[float] = deque()
        self._free_until = self._blocked_until = self._look_at = float("-inf")
        self._ahead = 0.0
        self._answers: list[tuple[float, bool, float]] = []
        self._sent = 0
        self._exchanges: set[asyncio.Task[None]] = set()

    def acquire(self, now: float) -> float:
        """0 grants one request; more are the seconds to wait before asking again."""
        if self._database.is_away(now):
            return self._budget.acquire(now + self._ahead)
        if now < self._blocked_until:
            return self._blocked_until - now
        if now < self._free_until:
            self._lease_soon(self._free_until - now, 0)
            self._sent += 1
            return 0.0
        while self._moments and self._moments[0] < now - LATE:
            self._moments.popleft()
        if self._moments and self._moments[0] <= now:
            self._moments.popleft()
            return 0.0
        return (self._moments[0] if self._moments else max(self._look_at, now + 0.001)) - now

    async def rest(self, seconds: float, waiting: int) -> None:
        """Wait for the next permit, or lease some."""
        now = time.monotonic()
        if self._moments or now < max(self._look_at, self._blocked_until) or self._database.is_away(now):
            if self._moments:
                self._lease_soon(self._moments[-1] - now, waiting)
            await asyncio.sleep(seconds)
        else:
            await self.exchange(waiting)

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer; one that asks for a pause is passed on at once."""
        if self._database.is_away(now):
            self._budget.answered(granted + self._ahead, now + self._ahead, refused, pause)
            return
        self._answers.append((granted + self._ahead, refused, pause))
        if pause:
            self._blocked_until = max(self._blocked_until, now + pause)
            self._free_until = float("-inf")
            self._moments.clear()
            self._begin_exchange(0)

    def _lease_soon(self, left: float, wanted: int) -> None:
        """Lease more before the last permit is used: on a busy machine the database answers late."""
        if left < SOON and not self._exchanges:
            self._begin_exchange(wanted)

    def _begin_exchange(self, wanted: int) -> None:
        task = asyncio.get_running_loop().create_task(self.exchange(wanted))
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)

    async def exchange(self, wanted: int) -> None:
        """Tell of the answers so far, and lease so many permits at most."""
        await self._database.run(lambda connection: self._exchange(connection, wanted))

    def _exchange(self, connection: Connection, wanted: int) -> None:
        with self._exchanging:
            answers, self._answers = self._answers, []
            sent, self._sent = self._sent, 0
            connection.execute(text(ALONE), {"name": self._name})
            before = time.monotonic()
            now = float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
            self._ahead = now - (before + time.monotonic()) / 2
            state: dict[str, Any] = json.loads(held(connection, self._name) or b"{}")
            self._budget = budget = Budget.of(state.get("budget", {}))
            budget.sent(now, sent)
            for granted, refused, pause in answers:
                budget.answered(granted, now, refused, pause)
            self._lease(budget, now, wanted)
            keep(connection, self._name, json.dumps({"budget": budget.state()}).encode())

    def _lease(self, budget: Budget, now: float, wanted: int) -> None:
        moments, ours = budget.moments(now, wanted, now + AHEAD), self._ahead
        # A pause may have been asked for since the answers were told.
        self._blocked_until = max(self._blocked_until, budget.blocked_until - ours)
        self._free_until = now - ours + AHEAD if moments is None else float("-inf")
        self._moments.extend(moment - ours for moment in moments or ())
        if moments == []:
            self._look_at = max(budget.free_from(now) - AHEAD / 2, now + LOOK) - ours
