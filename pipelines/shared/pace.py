"""The pace of one process that shares the rate of a platform with others: it sends its share of the rate."""

import asyncio
import math
import time
from typing import Protocol

from campus.http.rate_limit import SLACK_SECONDS, Budget
from pipelines.shared.rate_table import Reading
from pipelines.shared.shares import EXCHANGE_SECONDS, GONE_AFTER, Answers, Report

#: Seconds for which a process may use what it has read.
FRESH = GONE_AFTER / 2
#: Seconds before the next exchange of a process that has no share yet.
RETRY_SECONDS = 0.05
#: A process that does not have to wait may send so many times as much as now.
MORE = 1.1


class Table(Protocol):
    """The shared rate of one platform; see `pipelines.shared.rate_table.RateTable`."""

    def is_away(self, now: float) -> bool:
        """Whether the last attempt failed a moment ago. `now`: monotonic seconds."""

    async def exchange(self, report: Report, *, urgent: bool) -> Reading | None:
        """Report, and read the shared rate; None: the database is away."""


class SharedPace:
    """The pace of one process among others; see `campus.http.config.Pace`. process: its id among them."""

    def __init__(self, table: Table, process: str) -> None:
        self._table, self._process = table, process
        self._reading: Reading | None = None
        # By the monotonic clock: of the last reading, of the first with its decision, of the last report.
        self._read_at = self._decision_read_at = self._reported_at = -math.inf
        self._blocked_until = -math.inf
        # The moment of the last request, and what the moments follow.
        self._last = -math.inf
        self._follows: tuple[float, float, float] | None = None
        self._answers: list[Answers] = []
        self._sent = 0
        self._has_waited = True
        self._waiting = 0
        self._exchanges: set[asyncio.Task[None]] = set()
        # While the database is away.
        self._own_budget: Budget | None = None

    def acquire(self, now: float) -> float:
        """0 grants a request; a positive result is the seconds to wait before the next call."""
        if self._table.is_away(now):
            return max(0.0, self._blocked_until - now) or self._alone(now).acquire(now)
        if not self._has_share(now):
            return RETRY_SECONDS
        self._exchange_if_due(now)
        share, last = self._share_and_last(now)
        moment = max(last + 1 / share, self._blocked_until)
        if now < moment:
            self._has_waited = True
            return moment - now
        self._last = max(moment, now - SLACK_SECONDS)
        self._sent += 1
        return 0.0

    async def wait(self, seconds: float) -> None:
        """Wait for so many seconds, or until the next exchange is due."""
        self._waiting += 1
        try:
            now = time.monotonic()
            if not self._has_share(now) and not self._table.is_away(now):
                await self.exchange()
                if self._has_share(time.monotonic()):
                    return
            await asyncio.sleep(min(seconds, EXCHANGE_SECONDS))
        finally:
            self._waiting -= 1

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Record an answer. An answer that demands a pause is reported at once."""
        is_new = pause > 0 and now >= self._blocked_until
        if pause:
            self._blocked_until = max(self._blocked_until, now + pause)
        if self._table.is_away(now):
            self._alone(now).answered(granted, now, refused, pause)
            return
        offset, decided = 0.0, -math.inf
        if self._reading is not None:
            offset = self._reading.clock_offset
            if granted >= self._decision_read_at:
                decided = self._reading.rate.budget.decided
        answer, last = Answers(now + offset, decided, refused, pause, 1), self._answers[-1:]
        if last and last[0].is_like(answer):
            last[0].number += 1
        else:
            self._answers.append(answer)
        if is_new:
            self._begin_exchange(urgent=True)
        else:
            self._exchange_if_due(now)

    async def exchange(self, *, urgent: bool = False) -> None:
        """Report to the other processes, and read the rate."""
        now = time.monotonic()
        waits = self._has_waited or self._waiting > 0
        wants = math.inf if waits else MORE * self._sent / max(now - self._reported_at, RETRY_SECONDS)
        report = Report(self._process, wants, self._answers)
        self._reported_at, self._answers, self._sent, self._has_waited = now, [], 0, False
        reading = await self._table.exchange(report, urgent=urgent)
        if reading is None:
            return
        self._own_budget = None
        now = time.monotonic()
        if self._reading is None or self._reading.rate.budget.decided != reading.rate.budget.decided:
            self._decision_read_at = now
        self._reading, self._read_at = reading, now
        blocked_until = reading.rate.budget.blocked_until - reading.clock_offset
        self._blocked_until = max(self._blocked_until, blocked_until)

    def _has_share(self, now: float) -> bool:
        if self._reading is None or now >= self._read_at + FRESH:
            return False
        return self._process in self._reading.rate.wants

    def _exchange_if_due(self, now: float) -> None:
        if now >= self._reported_at + EXCHANGE_SECONDS and not self._exchanges:
            self._begin_exchange(urgent=False)

    def _begin_exchange(self, *, urgent: bool) -> None:
        task = asyncio.get_running_loop().create_task(self.exchange(urgent=urgent))
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)

    def _share_and_last(self, now: float) -> tuple[float, float]:
        """The share of the rate, and the moment after which the next request is due."""
        assert self._reading is not None
        rate, offset = self._reading.rate, self._reading.clock_offset
        budget, share, place = rate.budget, rate.share(self._process, now + offset), rate.place(self._process)
        follows = (budget.decided, budget.blocked_until, place)
        if follows != self._follows:
            # From the decision or the end of the pause on, the processes send one after the other.
            self._follows = follows
            begins = max(0.0, budget.decided, budget.blocked_until) - offset
            turns = math.ceil(max(0.0, now - begins) * share - place) - 1
            self._last = begins + (turns + place) / share
        return share, self._last

    def _alone(self, now: float) -> Budget:
        """The budget while the database is away: it begins with the last share."""
        if self._own_budget is None:
            self._own_budget = Budget()
            reading = self._reading
            if reading and reading.rate.budget.has_limit and self._process in reading.rate.wants:
                share = reading.rate.share(self._process, self._read_at + reading.clock_offset)
                self._own_budget = Budget.at(share, now)
        return self._own_budget
