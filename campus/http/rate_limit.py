"""A rate budget for one host that slows down when the host asks for it, and recovers: AIMD.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from dataclasses import dataclass
from functools import cache

DECREASE = 0.5
# Share of the reduced rate that is added each second without a decrease.
RECOVERY_PER_SECOND = 0.3
SLOWEST = 1.0
# Seconds between two decreases: the effect of the last one must show first.
LOOK = 1.0
# A rate is measured over this long at least; a shorter start would exaggerate it.
SHORTEST = 0.05
# Share of refusals among the answers of the last one to two looks that slows nothing down.
TOLERATED_SHARE = 0.05
# Pacing may catch up on this much lateness, since sleeps are never exact.
SLACK = 0.05


@dataclass(slots=True)
class Budget:
    """Requests a second to one host: unlimited until refusals (429, 503) are more than a few strays."""

    _rate: float = math.inf
    _ceiling: float = math.inf
    _decided: float = -math.inf
    _next: float = 0.0
    _blocked_until: float = 0.0
    _look: float = -math.inf
    _since: float = -math.inf
    _answers: int = 0
    _refusals: int = 0
    _earlier_answers: int = 0
    _earlier_refusals: int = 0
    _window: float = -math.inf
    _sent: int = 0
    _observed: float = 0.0

    def acquire(self, now: float) -> float:
        """0 grants one request; more are the seconds to wait before asking again."""
        if now < self._blocked_until:
            return self._blocked_until - now
        if self._rate != math.inf:
            rate = self.rate(now)
            if rate == math.inf:
                self._rate = math.inf
            elif now < self._next:
                return self._next - now
            else:
                self._next = max(self._next, now - SLACK) + 1 / rate
        self._count(now)
        return 0.0

    def rate(self, now: float) -> float:
        """Requests a second that are granted at this moment."""
        recovered = self._rate * (1 + RECOVERY_PER_SECOND * (now - self._decided))
        return recovered if recovered < self._ceiling else math.inf

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""
        if pause:
            self._blocked_until = max(self._blocked_until, now + pause)
        if granted < self._decided:
            # Sent before the last decrease: it says nothing about the new rate.
            return
        if now - self._look >= LOOK:
            self._start_look(now)
        self._answers += 1
        if refused:
            self._refusals += 1
            self._decrease_if_due(now)

    def _start_look(self, now: float) -> None:
        recent = now - self._look < 2 * LOOK
        self._earlier_answers = self._answers if recent else 0
        self._earlier_refusals = self._refusals if recent else 0
        self._since = self._look if recent else now
        self._look, self._answers, self._refusals = now, 0, 0

    def _decrease_if_due(self, now: float) -> None:
        answers = self._answers + self._earlier_answers
        refusals = self._refusals + self._earlier_refusals
        if now - self._decided < LOOK or refusals <= TOLERATED_SHARE * answers:
            return
        rate = self.rate(now)
        if rate == math.inf:
            rate = self._ceiling = self._observed_rate(now)
        # No slower than what the platform has just accepted: a limit is met from above, and faults that have
        # nothing to do with the rate do not starve us.
        accepted = (answers - refusals) / max(now - self._since, SHORTEST)
        self._rate = max(SLOWEST, rate * DECREASE, min(accepted, rate))
        self._decided = self._look = self._since = now
        self._answers = self._refusals = self._earlier_answers = self._earlier_refusals = 0

    def _count(self, now: float) -> None:
        if now - self._window >= LOOK:
            self._observed = self._sent / (now - self._window)
            self._window, self._sent = now, 0
        self._sent += 1

    def _observed_rate(self, now: float) -> float:
        return max(self._observed, self._sent / max(now - self._window, SHORTEST))


@cache
def budget_for(base_url: str) -> Budget:
    """The one budget of this process for a platform, whichever client talks to it."""
    return Budget()
