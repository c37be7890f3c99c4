"""The content of a push: the keys of created, updated or deleted rows of a resource."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from campus.contracts.fields import PLATFORM_ZONE
from campus.push.exact_json import Number

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
