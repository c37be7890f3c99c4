"""A rate budget for one host that slows down when the host asks for it, and recovers: AIMD.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Self

# The rate falls to this share at least. The second is for refusals that name a pause, as limits do: these are
# certain.
DECREASE, DECREASE_BY_LIMIT = 0.5, 0.05
# Share of the reduced rate that is added each second where almost nothing was accepted, so that no limit is
# known. Below a known limit, the rate stays for some 40 seconds and then grows faster and faster: by this
# share, times e every so many seconds.
RECOVERY_PER_SECOND = 0.3
GROWTH, GROWS_IN = 0.00001, 5.0
# The next rate is this share of the accepted rate, to stay below the limit.
CAUTION = 0.97
# A rate that requests kept to falls to this share at most; again within so many seconds, to that share.
STEP, SOON, SOON_STEP = 0.95, 4.0, 0.92
SLOWEST = 1.0
# Seconds between two decreases: the effect of the last decrease must show first.
LOOK = 1.0
# A rate is measured over so many seconds at least: a shorter start would exaggerate it.
SHORTEST = 0.05
# A share of refusals, among the answers of the last one to two looks, that does not slow down.
TOLERATED_SHARE = 0.05
# Pacing may catch up on this much lateness, since sleeps are never exact.
SLACK = 0.05
# Caps the exponent of growth so that it cannot overflow.
MAX_EXPONENT = 100.0
# A decrease has not helped where this share of the refusals is left while this share of the rate was used:
# the refusals have other causes.
LEFT, USED = 0.7, 0.7


@dataclass(slots=True)
class Budget:
    """Requests a second to one host: unlimited until refusals (429, 503) are more than a few strays."""

    _rate: float = math.inf
    _ceiling: float = math.inf
    _decided: float = -math.inf
    _recovery: float = 0.0
    # The first refusal by a limit that names a pause.
    _first: float = -math.inf
    # Before the last decrease: the rate, and the share of refusals.
    _before: float = 0.0
    _share: float = math.inf
    _next: float = 0.0
    blocked_until: float = 0.0
    _look: float = -math.inf
    _since: float = -math.inf
    _answers: int = 0
    _refusals: int = 0
    _earlier_answers: int = 0
    _earlier_refusals: int = 0
    _window: float = -math.inf
    _sent: int = 0
    _observed: float = 0.0
    _pause_began: float = -math.inf

    def acquire(self, now: float) -> float:
        """Grant one request (0), or return the seconds to wait before the next try."""
        if now < self.blocked_until:
            return self.blocked_until - now
        if self._rate != math.inf:
            rate = self.rate(now)
            if rate == math.inf:
                self._rate = math.inf
            elif now < self._next:
                return self._next - now
            else:
                self._next = max(self._next, now - SLACK) + 1 / rate
        self.sent(now)
        return 0.0

    def moments(self, now: float, wanted: int, until: float) -> list[float] | None:
        """The moments, none later than `until`, at which at most `wanted` requests may be sent; None: any
        number may be sent until a request is refused."""
        rate = self.rate(now)
        if rate == math.inf and now >= self.blocked_until:
            self._rate = math.inf
            return None
        granted: list[float] = []
        while len(granted) < wanted:
            moment = max(self._next, now - SLACK, self.blocked_until)
            if moment > until:
                break
            granted.append(moment)
            self._next = moment + 1 / rate
        self.sent(now, len(granted))
        return granted

    def free_from(self, now: float) -> float:
        """The first moment that is not granted yet."""
        return max(self._next, now, self.blocked_until)

    def state(self) -> dict[str, float]:
        """All fields, for another process."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of(cls, state: Mapping[str, float]) -> Self:
        """The budget of a state. Of a state of another version, unknown fields are dropped."""
        budget = cls()
        for f in fields(cls):
            setattr(budget, f.name, state.get(f.name, getattr(budget, f.name)))
        return budget

    def rate(self, now: float) -> float:
        """The requests a second that are granted at this moment."""
        if self._rate == math.inf:
            return math.inf
        age = now - self._decided
        grown = self._recovery * age + GROWTH * math.expm1(min(age / GROWS_IN, MAX_EXPONENT))
        recovered = self._rate * (1 + grown)
        return recovered if recovered < self._ceiling else math.inf

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""
        self._learn(granted, now, refused, names_pause=pause > 0)
        if pause and now + pause > self.blocked_until:
            if now >= self.blocked_until:
                self._pause_began = now
            self.blocked_until = now + pause

    def _learn(self, granted: float, now: float, refused: bool, *, names_pause: bool) -> None:
        """names_pause: the answer names a pause, as limits do."""
        if granted < self._decided:
            # Sent before the last decrease: it says nothing about the new rate.
            if not refused and now - self._first < LOOK:
                # But the requests that a limit has accepted meanwhile belong to its first measurement.
                self._rate = min(self._ceiling, self._rate + CAUTION / LOOK)
            return
        if now - self._look >= LOOK:
            self._start_look(now)
        self._answers += 1
        if refused:
            self._refusals += 1
            self._decrease_if_due(now, names_pause=names_pause)

    def _start_look(self, now: float) -> None:
        recent = now - self._look < 2 * LOOK
        self._earlier_answers = self._answers if recent else 0
        self._earlier_refusals = self._refusals if recent else 0
        self._since = self._look if recent else now
        self._look, self._answers, self._refusals = now, 0, 0

    def _decrease_if_due(self, now: float, *, names_pause: bool) -> None:
        answers = self._answers + self._earlier_answers
        refusals = self._refusals + self._earlier_refusals
        share, rate, seconds = refusals / answers, self.rate(now), now - self._since
        excessive = share > TOLERATED_SHARE
        # A single refusal that names a pause shows that a set rate has grown past the limit.
        if now - self._decided < LOOK or not (excessive or (names_pause and rate != math.inf)):
            return
        if rate == math.inf:
            rate = self._ceiling = self._observed_rate(now)
            self._first = now if names_pause else -math.inf
        # Paced: requests kept to the rate for a while; else they came in bursts between pauses.
        paused = max(0.0, min(now, self.blocked_until) - max(self._since, self._pause_began))
        paced = seconds - paused > LOOK / 2 and answers > USED * rate * (seconds - paused)
        # A pause is named in whole seconds, so half a second of it was for nothing.
        busy = seconds - (paused if paced else min(paused, LOOK) / 2)
        sent = answers / max(busy, LOOK)
        if paced and LEFT * self._share < share < DECREASE:
            before, self._share = self._before, math.inf
            self._decide(now, before, RECOVERY_PER_SECOND)
            return
        if seconds >= LOOK or names_pause:
            # The momentary rate of a burst is no rate.
            rate = min(rate, sent)
        self._before, self._share = rate, share if excessive else math.inf
        # No slower than the platform has just accepted: the rate nears a limit from above, and other faults
        # do not starve the client. A limit that names a pause, in whole seconds, spans a second at least.
        accepted = (answers - refusals) / max(busy, LOOK if names_pause or seconds >= LOOK else SHORTEST)
        step = (STEP if now - self._decided > SOON else SOON_STEP) if paced else 1.0
        least = rate * (DECREASE_BY_LIMIT if names_pause else DECREASE)
        lower = max(SLOWEST, least, min(CAUTION * accepted, step * rate))
        self._decide(now, lower, RECOVERY_PER_SECOND if share > DECREASE else 0.0)

    def _decide(self, now: float, rate: float, recovery: float) -> None:
        self._rate, self._recovery = rate, recovery
        self._decided = self._look = self._since = now
        self._answers = self._refusals = self._earlier_answers = self._earlier_refusals = 0

    def sent(self, now: float, requests: int = 1) -> None:
        """Count sent requests."""
        if now - self._window >= LOOK:
            self._observed = self._sent / (now - self._window)
            self._window, self._sent = now, 0
        self._sent += requests

    def _observed_rate(self, now: float) -> float:
        return max(self._observed, self._sent / max(now - self._window, SHORTEST))


@cache
def budget_for(base_url: str) -> Budget:
    """The budget of this process for a platform, which all clients share."""
    return Budget()
