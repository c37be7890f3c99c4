"""What is asked again, and when: one table and pure functions."""

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

TOO_MANY = 429
THROTTLED = frozenset({TOO_MANY, 503})
RETRIED = frozenset({408, 429, *range(500, 600)})


def fault_of(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """Why the request is to be sent again, in words; None: the answer is final."""
    if status in RETRIED:
        return f"status {status}"
    if 200 <= status < 300 and _is_html(headers, body):
        return f"an HTML page with status {status}"
    return None


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    first = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    # A script that sets no content type sends JSON as text/html: what begins like an answer is read as one.
    return first == b"<" or ("html" in headers.get("content-type", "") and first not in b"[{n")


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110: seconds or a date); None: it says nothing useful."""
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


def pause_asked(headers: Mapping[str, str]) -> float:
    """The seconds that a response asks us to wait; 0: it names none."""
    # Measured by the platform's own clock where it sends it, since ours may be wrong.
    now = http_date(headers.get("date", "")) or datetime.now(UTC)
    return retry_after(headers.get("retry-after"), now) or 0.0


def http_date(text: str) -> datetime | None:
    """The moment that an HTTP date names; None if it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def backoff(attempt: int, base: float, cap: float) -> float:
    """Seconds before the next attempt after `attempt` (from 1) failed: exponential with full jitter."""
    return random.uniform(0.0, min(cap, base * 2.0 ** (attempt - 1)))
