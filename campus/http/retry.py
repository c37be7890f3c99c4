"""Which responses are retried and when, and after which failures the platform counts as down.

Pure logic: times are monotonic seconds given by the caller, and nothing sleeps here.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from campus.http.errors import PlatformUnavailable

TOO_MANY = 429
THROTTLED = frozenset({TOO_MANY, 503})
RETRIED = frozenset({408, 429, *range(500, 600)})
#: After requests to so many parts of the platform failed for good, without an answer in between, the platform
#: counts as down. A part is named by the first segments of its paths.
PARTS_DOWN = 3
#: Segments that name a part: /api/v3/klass of /api/v3/klass/classes.
PART_SEGMENTS = 3
#: After so many seconds without an answer, a request gets two attempts only.
LONG_SILENCE = 60.0


def fault_of(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """Why the request has to be retried, in words; None: the answer is final."""
    if status in RETRIED:
        return f"status {status}"
    if 200 <= status < 300 and _is_html(headers, body):
        return f"an HTML page with status {status}"
    return None


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    first = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    # Scripts that set no content type send JSON as text/html, so the first byte decides.
    return first == b"<" or ("html" in headers.get("content-type", "") and first not in b"[{n")


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds of a Retry-After header (RFC 9110: seconds or a date); None: absent or invalid."""
    if value is None:
        return None
    moment = http_date(value)
    if moment is not None:
        return max((moment - now).total_seconds(), 0.0)
    try:
        seconds = float(value)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def requested_pause(headers: Mapping[str, str]) -> float:
    """The pause that a response asks for, in seconds; 0: it names none."""
    # A date is measured by the platform's own clock, where the response shows it: ours may be wrong.
    now = http_date(headers.get("date", "")) or datetime.now(UTC)
    return retry_after(headers.get("retry-after"), now) or 0.0


def http_date(text: str) -> datetime | None:
    """The moment of an HTTP date; None: the text is no date."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def backoff(attempt: int, base: float, cap: float) -> float:
    """Seconds to wait after the failed attempt number `attempt` (from 1): exponential with full jitter."""
    return random.uniform(0.0, min(cap, base * 2.0 ** (attempt - 1)))


@dataclass(slots=True)
class Health:
    """The health of the platform, by the requests of one client. A token is no proof of health: the service
    that issues tokens may be the only one that is up."""

    #: The first failed attempt since the last answer.
    silent_since: float | None = None
    #: The parts of the platform whose requests failed for good since the last answer.
    given_up: set[str] = field(default_factory=set)
    #: The error of all further requests.
    down: PlatformUnavailable | None = None
    last_answer: float = -math.inf

    def check(self) -> None:
        """Raise PlatformUnavailable where the platform counts as down."""
        if self.down is not None:
            raise self.down.with_traceback(None)

    @property
    def has_answered(self) -> bool:
        """Whether any request was answered."""
        return self.last_answer >= 0

    def answered(self, now: float) -> None:
        """Note an answer, even a refusal."""
        self.last_answer, self.silent_since = now, None
        self.given_up.clear()

    def failed(self, sent: float) -> None:
        """Note an attempt without an answer. sent: when it began."""
        if self.silent_since is None:
            self.silent_since = sent

    def suspect(self, since: float) -> None:
        """Take over from an earlier client that the platform has not answered since then."""
        self.silent_since = since
        self.given_up.add("an earlier run")

    def silence(self, now: float) -> float:
        """The seconds without an answer."""
        return 0.0 if self.silent_since is None else now - self.silent_since

    def is_spent(self, attempt: int, attempts: int, now: float) -> bool:
        """Whether a request fails for good after attempt number `attempt`.

        The first request has all of its attempts. After it failed without an answer since, two are enough."""
        is_hopeless = bool(self.given_up) or self.silence(now) >= LONG_SILENCE
        return attempt >= attempts or (attempt > 1 and is_hopeless)

    def paced(
        self, pause: float, *, patience: float, shortest: float, last: bool, began: float, now: float
    ) -> float:
        """The pause before the next attempt, so that a silent platform is retried for `patience` seconds, not
        much longer; `pause` where it has answered since `began`. last: the next attempt is the last."""
        if self.last_answer > began:
            return pause
        left = patience - self.silence(now)
        return max(min(pause, max(left, shortest)), left if last else 0.0)

    def gave_up(self, path: str) -> bool:
        """Note a request that failed for good. Returns whether the platform now counts as down."""
        self.given_up.add("/".join(path.split("/")[: PART_SEGMENTS + 1]))
        return len(self.given_up) >= PARTS_DOWN
