"""Which answers are retried, and when: one table and pure functions."""

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

TOO_MANY = 429
THROTTLED = frozenset({TOO_MANY, 503})
RETRIED = frozenset({408, 429, *range(500, 600)})


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
