"""Pushes as a platform would sign them, made with the standard library alone."""

import hashlib
import hmac
import json
import time
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

BEIJING = timezone(timedelta(hours=8))
TOKEN = "a-token-of-the-tests"


def hex_hmac(text: str, token: str = TOKEN) -> str:
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def beijing(ago: float = 0) -> str:
    """A moment so many seconds ago, as a push has it."""
    return (datetime.now(UTC) - timedelta(seconds=ago)).astimezone(BEIJING).strftime("%Y-%m-%d %H:%M:%S")


def a_push(*events: tuple[str, list[Any]], resource: str = "students", **fields: Any) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid4()),
        "resource": resource,
        "timestamp": beijing(),
        "events": [{"op": op, "pks": keys} for op, keys in events],
    } | fields


def headers_for(body: dict[str, Any], token: str = TOKEN, school: int | str = 101) -> dict[str, str]:
    nonce, timestamp = uuid.uuid4().hex, int(time.time())
    text = json.dumps(
        {"nonce": nonce, "timestamp": timestamp} | body,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return {
        "Content-Type": "application/json",
        "X-Nonce": nonce,
        "X-Timestamp": str(timestamp),
        "X-Signature": hex_hmac(text, token),
        "X-School-Id": str(school),
    }
