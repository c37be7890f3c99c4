"""A rate budget for one host that slows down when the host asks for it, and recovers: AIMD.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

# The rate falls to this share at least. The second is for refusals that name a pause, as limits do: these are
# certain.
DECREASE, DECREASE_BY_LIMIT = 0.5, 0.05
# The reduced rate grows by this exponent each second where almost nothing was accepted, so that no limit is
# known. Below a known limit, the rate stays for some 40 seconds and then grows faster and faster: by this
# share, times e every so many seconds.
RECOVERY_PER_SECOND = 0.3
GROWTH, GROWS_IN = 0.00001, 5.0
# The next rate is this share of the accepted rate, to stay below the limit.
CAUTION = 0.97
# A rate that requests kept to falls to this share at most; within so many seconds, to that share, and grows
# by that share each second, since it may now be far below the limit.
STEP, SOON, SOON_STEP, SEARCH = 0.95, 3.0, 0.8, 0.04
SLOWEST = 1.0
# Seconds between two decreases: the effect of the last decrease must show first.
LOOK = 1.0
# A rate is measured over so many seconds at least: a shorter start would exaggerate it.
SHORTEST = 0.05
# A share of refusals, among the answers of the last one to two looks, that does not slow down. Refusals that
# name no pause may be more by chance, up to so many standard deviations.
TOLERATED_SHARE, CHANCE = 0.05, 3.0
# Pacing may catch up on this much lateness, since sleeps are never exact.
SLACK = 0.05
# Caps the exponent of growth so that it cannot overflow.
MAX_EXPONENT = 100.0
# A decrease has not helped where this share of the refusals is left while this share of the rate was used:
# the refusals have other causes.
LEFT, USED = 0.7, 0.9
# With a larger share of refusals, the platform is in trouble: no limit is known.
TROUBLE = 0.95


@dataclass(slots=True)
class Budget:
    """Requests a second to one host: unlimited until refusals (429, 503) are more than a few strays."""

    #: Seconds from a decision until all processes that share the budget follow it.
    settles_in: float = 0.0
    #: Requests a second while no limit is known, or twice as many as were sent in the last second.
    first_rate: float = math.inf
    _rate: float = math.inf
    _ceiling: float = math.inf
    decided: float = -math.inf
    _recovery: float = 0.0
    _grows_from: float = -math.inf
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

    @classmethod
    def at(cls, rate: float, now: float) -> Self:
        """The budget of a process that goes on with a rate."""
        return cls(_rate=rate, decided=now, _grows_from=now)

    @property
    def has_limit(self) -> bool:
        """Whether a limit has been met."""
        return self._rate != math.inf

    def acquire(self, now: float) -> float:
        """Grant one request (0), or return the seconds to wait before the next try."""
        if now < self.blocked_until:
            return self.blocked_until - now
        if self.has_limit:
            rate = self.rate(now)
            if rate == math.inf:
                self._rate = math.inf
            elif now < self._next:
                return self._next - now
            else:
                self._next = max(self._next, now - SLACK, self.blocked_until) + 1 / rate
        self.sent(now)
        return 0.0

    def rate(self, now: float) -> float:
        """The requests a second that are granted at this moment."""
        if not self.has_limit:
            return max(self.first_rate, 2 * self._observed)
        age = max(0.0, now - self._grows_from)
        recovery = math.exp(min(self._recovery * age, MAX_EXPONENT))
        recovered = self._rate * (recovery + GROWTH * math.expm1(min(age / GROWS_IN, MAX_EXPONENT)))
        return recovered if recovered < self._ceiling else math.inf

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""
        self._learn(granted, now, refused, names_pause=pause > 0)
        if pause:
            self.pause(now, pause)
            if self.has_limit and now + pause > self._since:
                self._measure_from(now + pause)

    def pause(self, now: float, seconds: float) -> None:
        """Grant nothing for so many seconds; 0: no pause."""
        if seconds:
            self.blocked_until = max(self.blocked_until, now + seconds)

    def keep_rate(self, seconds: float) -> None:
        """Let the rate not grow for the last so many seconds, in which it was not used."""
        self._grows_from += seconds

    def _learn(self, granted: float, now: float, refused: bool, *, names_pause: bool) -> None:
        """names_pause: the answer names a pause, as limits do."""
        if granted < self.decided:
            # Sent before the last decrease: it says nothing about the new rate.
            if not refused and now - self._first < LOOK:
                # But the requests that a limit has accepted meanwhile belong to its first measurement.
                self._rate = min(self._ceiling, self._rate + CAUTION / LOOK)
            return
        if now < self._since:
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
        age = now - self.decided - self.settles_in
        is_first = not self.has_limit or rate == math.inf
        tolerated = TOLERATED_SHARE * answers
        if not names_pause:
            tolerated += CHANCE * math.sqrt(tolerated * (1 - TOLERATED_SHARE))
        excessive = refusals > tolerated
        # A single refusal that names a pause shows that a set rate has grown past the limit.
        past_limit = names_pause and rate != math.inf
        if age < LOOK or not (excessive or past_limit):
            return
        if is_first:
            if rate == math.inf:
                rate = self._ceiling = self._observed_rate(now)
            self._first = now if names_pause else -math.inf
        # Paced: requests kept to the rate for a while; else they came in a burst.
        too_short = not is_first and seconds < LOOK / 2
        paced = not is_first and not too_short and answers > USED * rate * seconds
        if paced and age < SOON and LEFT * self._share < share < min(DECREASE, self._share / LEFT):
            before, self._share = self._before, math.inf
            self._decide(now, before, RECOVERY_PER_SECOND)
            return
        searches = too_short or (names_pause and (age < SOON or not paced))
        near_limit = too_short or (paced and share <= TROUBLE)
        if near_limit:
            accepted = rate if too_short else rate * (1 - share)
            # A rate that grew was past the limit for a while before a request was refused.
            step = SOON_STEP if searches else STEP * (1 - self._recovery)
        else:
            # A limit that names a pause, in whole seconds, spans a second at least.
            busy = max(seconds, LOOK if names_pause or seconds >= LOOK else SHORTEST)
            accepted, step = (answers - refusals) / busy, CAUTION
            if seconds >= LOOK or names_pause:
                # The momentary rate of a burst is no rate.
                rate = min(rate, answers / max(busy, LOOK))
        self._before, self._share = rate, math.inf if is_first or not excessive else share
        # No slower than the platform has just accepted: the rate nears a limit from above, and other faults
        # do not starve the client.
        least = rate * (DECREASE_BY_LIMIT if names_pause or near_limit else DECREASE)
        lower = max(SLOWEST, least, min(CAUTION * accepted, step * rate))
        in_trouble = share > DECREASE and not near_limit
        self._decide(now, lower, RECOVERY_PER_SECOND if in_trouble else SEARCH if searches else 0.0)

    def _decide(self, now: float, rate: float, recovery: float) -> None:
        self._rate, self._recovery = rate, recovery
        self._grows_from = now + (self.settles_in + SOON if recovery == SEARCH else 0.0)
        self.decided = now
        self._measure_from(now + self.settles_in)

    def _measure_from(self, moment: float) -> None:
        self._look = self._since = moment
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
