"""A live swipe: a student, or a card, in a classroom now. The platform finds the class that is in session."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from campus.attendance.requests import OF_STUDENT
from campus.attendance.rows import RECORDS, parse_list
from campus.http.client import Client
from campus.writes.operations import SWIPE_CARD, SWIPE_STUDENT, Write
from loading.writes.bindings import CARDS, Binder, SendOnce
from loading.writes.headers import moment_of
from warehouse.load.load_log import now

#: Created_time tells minutes, and clocks differ.
EARLIER = timedelta(minutes=2)


@dataclass(frozen=True)
class Swiped:
    """What the platform says of a swipe: `status` as the interface names it, or found where the answer was
    lost and the record was seen; `message`: to be shown to the person as it is. `value`: all of it."""

    status: str
    message: str
    value: Mapping[str, Any]


async def swipe(
    client: Client, send: SendOnce, school_id: int, classroom_id: int, *, student: int | None, card: str
) -> Swiped:
    """Swipe for a student by id, or for a card. Raises NotFound for a card that is bound to nobody, and the
    errors of `Writer.write`."""
    operation = SWIPE_CARD if student is None else SWIPE_STUDENT
    write = Write(
        operation, school_id, card if student is None else student, content={"classroom_id": classroom_id}
    )
    skew = timedelta(seconds=client.clock_skew or 0.0)
    since = now() + skew - EARLIER

    async def look() -> Mapping[str, Any] | None:
        who = student if student is not None else await _holder(client, send, school_id, card)
        return None if who is None else await _recorded(client, school_id, who, since)

    written = await send(write, "", look)
    value = written.value if isinstance(written.value, dict) else {}
    status = str(value.get("status") or "success") if written.status else "found"
    return Swiped(status, str(value.get("message") or value.get("title") or ""), value)


async def _holder(client: Client, send: SendOnce, school_id: int, card: str) -> int | None:
    """The student that a card is bound to."""
    profile = await Binder(client, send, CARDS, school_id).look(card) or {}
    inner = profile.get("reflection") or profile
    who = inner.get("rid") or inner.get("id")
    return int(who) if who else None


async def _recorded(
    client: Client, school_id: int, student: int, since: datetime
) -> Mapping[str, Any] | None:
    """The record of a student that was made since then; None: there is none."""
    answer = await client.get(
        OF_STUDENT.format(id=student), {}, school_id=school_id, scope=RECORDS.scopes, parse=parse_list
    )
    for record in answer.value.rows:
        made = moment_of(f"{record.created_date} {record.created_time}")
        if made is not None and made >= since:
            return {"id": record.id, "status": record.status}
    return None
