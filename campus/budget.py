"""A rate budget for one host that slows down when the host asks for it, and recovers: AIMD.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from dataclasses import dataclass
from functools import cache

DECREASE = 0.5
# Share of the reduced rate that is added each second without a decrease.
RECOVERY_PER_SECOND = 0.2
SLOWEST = 1.0
# Seconds between two looks at the share of refusals: the effect of the last decrease must show first.
LOOK = 1.0
# A few stray 503 among many answers are no call to slow down further.
TOLERATED_SHARE = 0.05
# Pacing may catch up on this much lateness, since sleeps are never exact.
SLACK = 0.05


@dataclass(slots=True)
class Budget:
    """Requests a second to one host: unlimited until the first 429 or 503."""

    _rate: float = math.inf
    _ceiling: float = math.inf
    _decided: float = -math.inf
    _next: float = 0.0
    _blocked_until: float = 0.0
    _answered: int = 0
    _refused: int = 0
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
        if self._rate == math.inf:
            return math.inf
        recovered = self._rate * (1 + RECOVERY_PER_SECOND * (now - self._decided))
        return recovered if recovered < self._ceiling else math.inf

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""
        self._blocked_until = max(self._blocked_until, now + pause)
        if granted < self._decided:
            # Sent before the last decrease: it says nothing about the new rate.
            return
        self._answered += 1
        self._refused += refused
        unlimited = self._rate == math.inf
        if refused and (unlimited or now - self._decided >= LOOK):
            self._decide(now, unlimited)

    def _decide(self, now: float, unlimited: bool) -> None:
        if unlimited:
            self._ceiling = self._observed_rate(now)
            self._rate = max(SLOWEST, self._ceiling * DECREASE)
        elif self._refused > TOLERATED_SHARE * self._answered:
            self._rate = max(SLOWEST, min(self.rate(now), self._ceiling) * DECREASE)
        else:
            self._rate = min(self.rate(now), self._ceiling)
        self._decided = now
        self._answered = self._refused = 0

    def _count(self, now: float) -> None:
        if now - self._window >= LOOK:
            self._observed = self._sent / (now - self._window)
            self._window, self._sent = now, 0
        self._sent += 1

    def _observed_rate(self, now: float) -> float:
        return max(self._observed, self._sent / max(now - self._window, LOOK / 4))


@cache
def budget_for(origin: str) -> Budget:
    """The one budget of this process for a host, whoever talks to it."""
    return Budget()
