"""Verifies and reads a pushed message: the keys of created, updated or deleted rows. No I/O.

Numbers are signed as they were sent, 1.10 as 1.10, so the parser of the body keeps them as text."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from campus.contracts.fields import PLATFORM_ZONE

LONGEST_NAME = 200
_UNIX_TIME = re.compile("[0-9]{1,12}")
_TIMESTAMP = "%Y-%m-%d %H:%M:%S"


class Malformed(ValueError):
    """A body that is no push; the message says which field, and never its value."""


@dataclass(frozen=True)
class PushedEvent:
    """Rows that met the same fate. `keys`: as sent, a scalar each, or an object where the key has several
    columns; none where the resource has no key."""

    op: str
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class Push:
    """One push. `sent_at`: when the platform made it, as it is signed."""

    id: str
    resource: str
    sent_at: datetime
    events: tuple[PushedEvent, ...]


def unix_time(text: str) -> int | None:
    """The seconds that a header names; None: it names none."""
    return int(text) if _UNIX_TIME.fullmatch(text) else None


def parse_push(body: Mapping[str, Any], header_timestamp: int) -> Push:
    """Read a body as `exact_json.parse` gives it. Raises Malformed.

    `header_timestamp`: what is signed in place of the body's own where that has none."""
    events = body.get("events")
    if not isinstance(events, list):
        raise Malformed("events must be a list")
    return Push(
        id=_name(body, "id"),
        resource=_name(body, "resource"),
        sent_at=_moment(body.get("timestamp", Number(header_timestamp))),
        events=tuple(_event(event) for event in events),
    )


def _name(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise Malformed(f"{field} must be text of 1 to {LONGEST_NAME} characters")
    return str(value)


def _moment(value: Any) -> datetime:
    """A moment in Beijing time, or seconds of Unix time."""
    try:
        if isinstance(value, Number):
            return datetime.fromtimestamp(float(value), UTC)
        return datetime.strptime(value, _TIMESTAMP).replace(tzinfo=PLATFORM_ZONE)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise Malformed("timestamp must be YYYY-MM-DD HH:MM:SS") from error


def _event(value: Any) -> PushedEvent:
    if not isinstance(value, dict):
        raise Malformed("each of events must be an object")
    keys = value.get("pks") or []
    if not isinstance(value.get("op"), str) or not isinstance(keys, list):
        raise Malformed("each of events must have op, a text, and pks, a list")
    return PushedEvent(value["op"], tuple(map(_key, keys)))


def _key(value: Any) -> Any:
    """A key with whole numbers as integers; all else as it is."""
    if isinstance(value, dict):
        return {name: _key(part) for name, part in value.items()}
    if isinstance(value, Number) and re.fullmatch("-?[0-9]{1,18}", value):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        raise Malformed("a key must be a scalar or an object")
    return value


def signed_texts(nonce: str, timestamp: int, body: Mapping[str, Any]) -> tuple[str, str]:
    """The two texts that a platform may sign: with plain slashes, and with escaped slashes.

    `nonce` and `timestamp` are of the headers. `body` is as `exact_json.parse` gives it; its own keys win, so
    that a timestamp of its own is what is signed, and that of the header is not."""
    text = compact({"nonce": nonce, "timestamp": Number(timestamp), **body})
    # Slashes stand in texts alone.
    return text, text.replace("/", "\\/")


def sign(text: str, token: str) -> str:
    """HMAC-SHA256 of a text, in lowercase hex. Raises UnicodeEncodeError for half a surrogate pair."""
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_signed(signature: str, nonce: str, timestamp: int, body: Mapping[str, Any], token: str) -> bool:
    """Whether `signature` is ours, compared in constant time."""
    try:
        own = [sign(text, token) for text in signed_texts(nonce, timestamp, body)]
    except (UnicodeEncodeError, RecursionError):
        # Nobody can have signed such a text.
        return False
    given = signature.encode("utf-8", "replace")
    # Both, always: how long this takes tells nothing.
    plain, escaped = (hmac.compare_digest(given, expected.encode()) for expected in own)
    return plain or escaped


class NotJson(ValueError):
    """Bytes that are no JSON text."""


class Number(str):
    """A number, spelled as it was sent."""

    __slots__ = ()


def parse(body: bytes) -> Any:
    """The value of a JSON text in UTF-8; its numbers are `Number`. Raises NotJson."""
    try:
        return json.loads(body.decode("utf-8"), parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise NotJson("the body is no JSON") from error


def compact(value: Any) -> str:
    """A value of `parse` as JSON without whitespace, keys sorted in objects of any depth, and characters
    beyond ASCII as they are."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return f"{{{','.join(f'{compact(name)}:{compact(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(compact, value))}]"
    return {None: "null", True: "true", False: "false"}[value]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
