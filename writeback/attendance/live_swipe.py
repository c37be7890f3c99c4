"""A live swipe: a student, or a card, in a classroom now. The platform finds the class that is in session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from campus.attendance.calendar import Session
from campus.attendance.requests import OF_STUDENT, RECORDS, SentRecord, parse_list
from campus.fetch.reader import Reader
from campus.files.headers import moment_of
from campus.http.client import Client
from warehouse.load.logs.load_log import now
from writeback.attendance.swipes import RECORDED, class_of
from writeback.bindings import CARDS, Binder, SendOnce
from writeback.operations import SWIPE_CARD, SWIPE_STUDENT, Write

#: The tolerance, since created_time has whole minutes, and clocks differ.
EARLIER = timedelta(minutes=2)


@dataclass(frozen=True)
class Swiped:
    """The platform's answer to a swipe."""

    #: The interface's word for the result; found: the response was lost, and a look has shown the record.
    status: str
    #: The platform's message, shown unchanged.
    message: str
    #: None: the platform does not say.
    student: int | None
    #: Of the class in session; None: the platform does not say.
    class_id: int | None

    @property
    def counts(self) -> bool:
        """Whether the platform has a record of the swipe."""
        return self.status in {*RECORDED, "found"}


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
    message = str(value.get("message") or value.get("title") or "")
    return Swiped(status, message, student or _student_of(value), class_of(value))


async def lesson_of(client: Client, school_id: int, swiped: Swiped) -> Session | None:
    """The lesson that a swipe has marked: the student's latest lesson of the class. None: it is not known.
    Raises the client's errors."""
    if swiped.student is None or swiped.class_id is None:
        return None
    lessons = [
        Session(swiped.class_id, row.checked_at, row.lesson)
        for row in await _records(client, school_id, swiped.student)
        if row.klass is not None and row.klass.id == swiped.class_id and row.checked_at and row.lesson
    ]
    return max(lessons, key=lambda lesson: (lesson.day, lesson.lesson), default=None)


async def _holder(client: Client, send: SendOnce, school_id: int, card: str) -> int | None:
    """The student that a card is bound to."""
    return _student_of(await Binder(client, send, CARDS, school_id).look(card) or {})


def _student_of(profile: Mapping[str, Any]) -> int | None:
    inner = profile.get("reflection") or profile
    who = inner.get("rid") or inner.get("id")
    return int(who) if who else None


async def _recorded(
    client: Client, school_id: int, student: int, since: datetime
) -> Mapping[str, Any] | None:
    """The record of a student that was created since then; None: there is none."""
    for record in await _records(client, school_id, student):
        made = moment_of(f"{record.created_date} {record.created_time}")
        if made is not None and made >= since:
            return {"id": record.id, "status": record.status}
    return None


async def _records(client: Client, school_id: int, student: int) -> Sequence[SentRecord]:
    """Read a student's attendance records of the current semester."""
    reader = Reader(client, school_id, RECORDS.scopes)
    answer = await reader.fetch(OF_STUDENT.format(id=student), {}, parse_list)
    return answer.value.rows
