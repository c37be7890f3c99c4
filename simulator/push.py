"""Pushes changes to a subscriber in signed messages, one per change, from a thread.

Only simulators that push import httpx, since the import takes a third of a start."""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import secrets
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

from simulator.messages import Values
from simulator.readings import Readings

if TYPE_CHECKING:
    import httpx

BEIJING = timezone(timedelta(hours=8))
TIMEOUT = 10.0  # seconds for an answer
# Seconds before each retry of a push without a 2xx answer. The specification leaves retries open.
RETRY_PAUSES = (0.5, 2.0, 10.0)

Op = Literal["created", "updated", "deleted"]


@dataclass(frozen=True)
class Subscriber:
    """The address of pushes, and the token that signs them."""

    url: str
    token: str = field(repr=False)


class Pusher:
    """Sends changes in their order, in the background."""

    def __init__(self, subscriber: Subscriber, readings: Readings) -> None:
        self._subscriber, self._readings = subscriber, readings
        self._waiting: queue.SimpleQueue[tuple[int, Values]] = queue.SimpleQueue()
        threading.Thread(target=self._send_all, daemon=True).start()

    def announce(self, op: Op, school_id: int, resource: str, keys: list[Any]) -> None:
        """Push that rows with these keys were created, updated or deleted."""
        message = {
            "id": str(_uuid7()),
            "resource": resource,
            "timestamp": datetime.now(UTC).astimezone(BEIJING).strftime("%Y-%m-%d %H:%M:%S"),
            "events": [{"op": op, "pks": keys}],
        }
        self._waiting.put((school_id, message))

    def _send_all(self) -> None:
        import httpx

        with httpx.Client(timeout=TIMEOUT, trust_env=False) as session:
            while True:
                school_id, message = self._waiting.get()
                for pause in (0.0, *RETRY_PAUSES):
                    time.sleep(pause)
                    if self._is_sent(session, school_id, message):
                        break

    def _is_sent(self, session: httpx.Client, school_id: int, message: Values) -> bool:
        import httpx

        nonce, timestamp = secrets.token_hex(16), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "X-Nonce": nonce,
            "X-Timestamp": str(timestamp),
            "X-Signature": signature(nonce, timestamp, message, self._subscriber.token, self._escape),
            "X-School-Id": str(school_id),
        }
        try:
            answer = session.post(self._subscriber.url, content=json.dumps(message), headers=headers)
        except httpx.TransportError:
            return False
        return answer.is_success

    @property
    def _escape(self) -> Callable[[str], str]:
        if self._readings.push_slashes == "escaped":
            return lambda text: text.replace("/", "\\/")
        return lambda text: text


def signature(
    nonce: str, timestamp: int, message: Values, token: str, escape: Callable[[str], str] = lambda text: text
) -> str:
    """The signature of a push. The body's keys take precedence over the headers' nonce and timestamp."""
    merged = {"nonce": nonce, "timestamp": timestamp} | message
    text = json.dumps(merged, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(token.encode(), escape(text).encode(), hashlib.sha256).hexdigest()


def _uuid7() -> uuid.UUID:
    """A UUID that begins with the time, so that UUIDs sort by time."""
    milliseconds = time.time_ns() // 1_000_000
    value = milliseconds << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return uuid.UUID(int=value)
