"""A rate budget for one host that slows down when the host asks for it, and recovers: AIMD.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Self

# Seconds of a measurement, and between two decreases: the effect of the last decrease must show first.
WINDOW_SECONDS = 1.0
# A shorter measurement would exaggerate a rate.
SHORTEST_SECONDS = 0.05
# Pacing may catch up on so many seconds of lateness, since sleeps are never exact.
SLACK_SECONDS = 0.05
SLOWEST_RATE = 1.0

# A larger share of refusals slows down. Refusals that name no pause may be more by chance, up to so many
# standard deviations.
REFUSED_SHARE_TO_SLOW_DOWN, DEVIATIONS_BY_CHANCE = 0.05, 3.0
# With a larger share of refusals, the platform is in trouble, and no limit is known: for requests that came
# in a burst, and for requests that kept to the rate.
REFUSED_SHARE_IN_TROUBLE, REFUSED_SHARE_OF_PACED_IN_TROUBLE = 0.5, 0.95
# Requests that use a larger share of the rate keep to the rate; with fewer, the refusals came in a burst.
USED_SHARE_OF_PACED = 0.9
# A decrease has not helped where the share of refusals is the same as before, within this factor.
SAME_SHARE_FACTOR = 0.7

# The next rate is this share of the accepted rate, to stay below the limit.
SHARE_OF_ACCEPTED_RATE = 0.97
# One decrease leaves this share of the rate at least. The second is for limits, which are certain.
LOWEST_SHARE_OF_RATE, LOWEST_SHARE_BY_LIMIT = 0.5, 0.05
# One decrease of a rate that requests kept to leaves this share of the rate at most. The second is for a
# search: within so many seconds of the last decision, the rate may still be far from the limit.
PACED_STEP, SEARCH_STEP, SEARCH_SECONDS = 0.95, 0.8, 3.0

# By this exponent a rate grows each second: while the platform is in trouble; and after a step of a search,
# since the rate may now be far below the limit.
RECOVERY_PER_SECOND, SEARCH_PER_SECOND = 0.3, 0.04
# Below a known limit, the rate stays for some 40 seconds and then grows faster and faster: by this share,
# times e every so many seconds.
GROWTH_SHARE, GROWTH_SECONDS = 0.00001, 5.0
# Caps the exponent of growth so that it cannot overflow.
MAX_EXPONENT = 100.0


@dataclass(slots=True)
class AnswerCounts:
    """The answers of the last one to two windows; none that came before `since` count."""

    since: float = -math.inf
    window_began: float = -math.inf
    number: int = 0
    refused: int = 0
    #: Those of the window before.
    earlier: int = 0
    earlier_refused: int = 0

    @classmethod
    def measured_from(cls, moment: float) -> Self:
        """No answers yet, from this moment on."""
        return cls(moment, moment)

    def add(self, now: float, *, refused: bool) -> None:
        """Count an answer."""
        if now - self.window_began >= WINDOW_SECONDS:
            self._begin_window(now)
        self.number += 1
        self.refused += refused

    def _begin_window(self, now: float) -> None:
        is_recent = now - self.window_began < 2 * WINDOW_SECONDS
        self.earlier = self.number if is_recent else 0
        self.earlier_refused = self.refused if is_recent else 0
        self.since = self.window_began if is_recent else now
        self.window_began, self.number, self.refused = now, 0, 0


@dataclass(slots=True)
class SentRequests:
    """The rate of the requests that were sent, in the last window or in this one."""

    window_began: float = -math.inf
    number: int = 0
    #: Requests a second of the last window.
    earlier_rate: float = 0.0

    def add(self, now: float, requests: int) -> None:
        """Count sent requests."""
        if now - self.window_began >= WINDOW_SECONDS:
            self.earlier_rate = self.number / (now - self.window_began)
            self.window_began, self.number = now, 0
        self.number += requests

    def rate(self, now: float) -> float:
        """Requests a second."""
        return max(self.earlier_rate, self.number / max(now - self.window_began, SHORTEST_SECONDS))


@dataclass(slots=True)
class Limit:
    """A rate that grows, in requests a second."""

    rate: float = math.inf
    #: The exponent of growth each second, from `grows_from` on.
    growth: float = 0.0
    grows_from: float = -math.inf
    #: From this rate on, there is no limit.
    ceiling: float = math.inf

    def at(self, now: float) -> float:
        """The rate at this moment; infinite: there is no limit any more."""
        age = max(0.0, now - self.grows_from)
        recovery = math.exp(min(self.growth * age, MAX_EXPONENT))
        slow_growth = GROWTH_SHARE * math.expm1(min(age / GROWTH_SECONDS, MAX_EXPONENT))
        rate = self.rate * (recovery + slow_growth)
        return rate if rate < self.ceiling else math.inf


class NextRate(NamedTuple):
    """A rate, its growth a second and, for the next decision, the rate and the share of refusals before."""

    rate: float = math.inf
    growth: float = 0.0
    earlier_rate: float = 0.0
    earlier_share: float = math.inf


class Situation(NamedTuple):
    """A refusal, and the answers before it to requests that were sent since the last decision."""

    last: NextRate
    #: Seconds since the last decision came into force.
    age: float
    #: The refusal names a pause, as limits do.
    names_pause: bool
    #: All requests are granted.
    is_unlimited: bool
    #: A limit has been met.
    has_limit: bool
    #: Requests a second that are granted or, where all are granted, that were sent.
    rate: float
    answers: int
    refusals: int
    #: Seconds in which the answers came.
    seconds: float

    @property
    def share(self) -> float:
        """The share of refusals."""
        return self.refusals / self.answers

    @property
    def is_excessive(self) -> bool:
        """Whether the refusals are more than a few strays."""
        tolerated = REFUSED_SHARE_TO_SLOW_DOWN * self.answers
        if not self.names_pause:
            tolerated += DEVIATIONS_BY_CHANCE * math.sqrt(tolerated * (1 - REFUSED_SHARE_TO_SLOW_DOWN))
        return self.refusals > tolerated


def decide(refusal: Situation) -> NextRate | None:
    """Decide on the next rate; None: the rate stays. The first case that applies counts."""
    # A single refusal that names a pause shows that a rate has grown past the limit.
    is_past_limit = refusal.names_pause and not refusal.is_unlimited
    if refusal.age < WINDOW_SECONDS or not (refusal.is_excessive or is_past_limit):
        return None
    if not refusal.has_limit:
        return _keep_to_accepted_rate(refusal)
    if refusal.seconds < WINDOW_SECONDS / 2:
        # Too short to measure the accepted rate.
        return _decrease(refusal, refusal.rate * SEARCH_STEP, SEARCH_PER_SECOND)
    is_paced = refusal.answers > USED_SHARE_OF_PACED * refusal.rate * refusal.seconds
    if not is_paced or refusal.share > REFUSED_SHARE_OF_PACED_IN_TROUBLE:
        return _keep_to_accepted_rate(refusal)
    if refusal.age < SEARCH_SECONDS and _has_same_share(refusal):
        # The decrease has not helped: the refusals have other causes than the rate.
        return NextRate(refusal.last.earlier_rate, RECOVERY_PER_SECOND, refusal.last.earlier_rate, math.inf)
    accepted = refusal.rate * (1 - refusal.share) * SHARE_OF_ACCEPTED_RATE
    if refusal.names_pause and refusal.age < SEARCH_SECONDS:
        # The rate is still past the limit, which may be far below.
        return _decrease(refusal, min(accepted, refusal.rate * SEARCH_STEP), SEARCH_PER_SECOND)
    # The rate is near the limit. A rate that grew was past it for a while before a request was refused.
    return _decrease(refusal, min(accepted, refusal.rate * (PACED_STEP * (1 - refusal.last.growth))), 0.0)


def _has_same_share(refusal: Situation) -> bool:
    most = min(REFUSED_SHARE_IN_TROUBLE, refusal.last.earlier_share / SAME_SHARE_FACTOR)
    return SAME_SHARE_FACTOR * refusal.last.earlier_share < refusal.share < most


def _keep_to_accepted_rate(refusal: Situation) -> NextRate:
    """Keep to the rate that the platform has just accepted, after a burst of requests or in trouble.

    No slower: so the rate nears a limit from above, and faults of another kind do not starve the client."""
    seconds, rate = refusal.seconds, refusal.rate
    if seconds < WINDOW_SECONDS:
        # A limit that names a pause, in whole seconds, spans a second at least.
        seconds = WINDOW_SECONDS if refusal.names_pause else max(seconds, SHORTEST_SECONDS)
    if seconds >= WINDOW_SECONDS:
        # The momentary rate of a burst is no rate.
        rate = min(rate, refusal.answers / seconds)
    accepted = (refusal.answers - refusal.refusals) / seconds
    growth = SEARCH_PER_SECOND if refusal.names_pause else 0.0
    if refusal.share > REFUSED_SHARE_IN_TROUBLE:
        growth = RECOVERY_PER_SECOND
    least = LOWEST_SHARE_BY_LIMIT if refusal.names_pause else LOWEST_SHARE_OF_RATE
    lower = max(least * rate, SHARE_OF_ACCEPTED_RATE * min(accepted, rate))
    return _decrease(refusal._replace(rate=rate), lower, growth)


def _decrease(refusal: Situation, rate: float, growth: float) -> NextRate:
    is_measured = refusal.has_limit and refusal.is_excessive
    share = refusal.share if is_measured else math.inf
    least = max(SLOWEST_RATE, LOWEST_SHARE_BY_LIMIT * refusal.rate)
    return NextRate(max(least, rate), growth, refusal.rate, share)


@dataclass(slots=True)
class Budget:
    """Requests a second to one host: unlimited until refusals (429, 503) are more than a few strays."""

    #: Seconds from a decision until all processes that share the budget follow it.
    settles_in: float = 0.0
    #: Requests a second while no limit is known, or twice as many as were sent in the last second.
    first_rate: float = math.inf
    #: The moment of the last decision.
    decided: float = -math.inf
    blocked_until: float = 0.0
    _limit: Limit = field(default_factory=Limit)
    _answers: AnswerCounts = field(default_factory=AnswerCounts)
    _sent: SentRequests = field(default_factory=SentRequests)
    #: The moment of the next request.
    _next: float = 0.0
    #: The moment of the first refusal by a limit that names a pause.
    _limit_met: float = -math.inf
    _last: NextRate = field(default_factory=NextRate)

    @classmethod
    def at(cls, rate: float, now: float) -> Self:
        """The budget of a process that goes on with a rate."""
        return cls(decided=now, _limit=Limit(rate, grows_from=now))

    @property
    def has_limit(self) -> bool:
        """Whether a limit has been met."""
        return self._limit.rate != math.inf

    def acquire(self, now: float) -> float:
        """Grant one request (0), or return the seconds to wait before the next try."""
        if now < self.blocked_until:
            return self.blocked_until - now
        if self.has_limit:
            rate = self.rate(now)
            if rate == math.inf:
                self._limit.rate = math.inf
            elif now < self._next:
                return self._next - now
            else:
                self._next = max(self._next, now - SLACK_SECONDS, self.blocked_until) + 1 / rate
        self._sent.add(now, 1)
        return 0.0

    def rate(self, now: float) -> float:
        """The requests a second that are granted at this moment."""
        return self._limit.at(now) if self.has_limit else max(self.first_rate, 2 * self._sent.earlier_rate)

    def answered(self, granted: float, now: float, refused: bool, pause: float = 0.0) -> None:
        """Learn from an answer to the request granted at `granted`; pause: its Retry-After in seconds."""
        if granted < self.decided:
            # Sent before the last decision, so this answer says nothing about the new rate. But the requests
            # that a limit has accepted meanwhile belong to its first measurement.
            if not refused and now - self._limit_met < WINDOW_SECONDS:
                rate = self._limit.rate + SHARE_OF_ACCEPTED_RATE / WINDOW_SECONDS
                self._limit.rate = min(self._limit.ceiling, rate)
        elif now >= self._answers.since:
            self._answers.add(now, refused=refused)
            if refused:
                self._decide(now, names_pause=pause > 0)
        if pause:
            self.pause(now, pause)
            if self.has_limit and now + pause > self._answers.since:
                self._answers = AnswerCounts.measured_from(now + pause)

    def pause(self, now: float, seconds: float) -> None:
        """Grant nothing for so many seconds; 0: no pause."""
        if seconds:
            self.blocked_until = max(self.blocked_until, now + seconds)

    def keep_rate(self, seconds: float) -> None:
        """Let the rate not grow for the last so many seconds, in which it was not used."""
        self._limit.grows_from += seconds

    def sent(self, now: float, requests: int = 1) -> None:
        """Count sent requests."""
        self._sent.add(now, requests)

    def _decide(self, now: float, *, names_pause: bool) -> None:
        granted_rate, answers = self.rate(now), self._answers
        is_unlimited = granted_rate == math.inf
        has_limit = self.has_limit and not is_unlimited
        rate = self._sent.rate(now) if is_unlimited else granted_rate
        decision = decide(
            Situation(
                last=self._last,
                names_pause=names_pause,
                is_unlimited=is_unlimited,
                rate=rate,
                has_limit=has_limit,
                age=now - self.decided - self.settles_in,
                answers=answers.number + answers.earlier,
                refusals=answers.refused + answers.earlier_refused,
                seconds=now - answers.since,
            )
        )
        if decision is None:
            return
        if is_unlimited:
            self._limit.ceiling = rate
        if not has_limit:
            self._limit_met = now if names_pause else -math.inf
        self._last, self.decided = decision, now
        self._limit.rate, self._limit.growth, self._limit.grows_from = decision.rate, decision.growth, now
        if decision.growth == SEARCH_PER_SECOND:
            self._limit.grows_from += self.settles_in + SEARCH_SECONDS
        self._answers = AnswerCounts.measured_from(now + self.settles_in)


@cache
def budget_for(base_url: str) -> Budget:
    """The budget of this process for a platform, which all clients share."""
    return Budget()
