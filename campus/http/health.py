"""Whether a platform answers at all: what tells an outage from requests that fail by themselves.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
from dataclasses import dataclass, field

from campus.http.errors import PlatformUnavailable

#: Parts of the platform, as the first segments of their paths, that all were given up without an answer in
#: between: so many are no longer faults of their own.
PARTS_DOWN = 3
#: Segments of a path that name a part: /api/v3/klass of /api/v3/klass/classes.
PART_SEGMENTS = 3
#: Seconds without an answer after which two attempts suffice, where each of them takes as long as we wait.
LONG_SILENCE = 60.0


@dataclass(slots=True)
class Health:
    """What the requests of one client have shown. A token proves nothing: what issues it may be all that is
    up. `silent_since`: the first attempt that failed with no answer since. `given_up`: the parts of the
    platform to which requests were given up since. `down`: why nothing more is asked."""

    silent_since: float | None = None
    given_up: set[str] = field(default_factory=set)
    down: PlatformUnavailable | None = None
    last_answer: float = -math.inf

    def check(self) -> None:
        """Raise PlatformUnavailable where the platform counts as down."""
        if self.down is not None:
            raise self.down.with_traceback(None)

    @property
    def has_answered(self) -> bool:
        """Whether there was an answer to any request."""
        return self.last_answer >= 0

    def answered(self, now: float) -> None:
        """Note an answer, be it a refusal."""
        self.last_answer, self.silent_since = now, None
        self.given_up.clear()

    def failed(self, sent: float) -> None:
        """Note an attempt that got none. sent: when it began."""
        if self.silent_since is None:
            self.silent_since = sent

    def suspect(self, since: float) -> None:
        """Take over from an earlier client that nothing has been answered since."""
        self.silent_since = since
        self.given_up.add("an earlier run")

    def silence(self, now: float) -> float:
        """For how many seconds there has been no answer."""
        return 0.0 if self.silent_since is None else now - self.silent_since

    def is_spent(self, attempt: int, attempts: int, now: float) -> bool:
        """Whether a request is given up after its attempt no. `attempt`. The first one keeps all of its
        attempts; where it was given up and nothing came since, two tell the others as much."""
        hopeless = self.given_up or self.silence(now) >= LONG_SILENCE
        return attempt >= attempts or (attempt > 1 and bool(hopeless))

    def paced(
        self, pause: float, *, patience: float, shortest: float, last: bool, began: float, now: float
    ) -> float:
        """A pause before the next attempt, so that a silent platform is asked until `patience` has passed,
        and not much longer; plain `pause` where others were answered since the request began. last: no
        further attempt follows that one."""
        if self.last_answer > began:
            return pause
        left = patience - self.silence(now)
        return max(min(pause, max(left, shortest)), left if last else 0.0)

    def gave_up(self, path: str) -> bool:
        """Note a request that was given up; whether the platform counts as down with it."""
        self.given_up.add("/".join(path.split("/")[: PART_SEGMENTS + 1]))
        return len(self.given_up) >= PARTS_DOWN
