"""One question of either route, and the rows of its answer."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from campus.attendance.calendar import Session
from campus.attendance.semester import Semester
from campus.attendance.wire import (
    KEY,
    RECORDS,
    SESSIONS,
    SessionDetail,
    parse_list,
    parse_session,
    records_of_session,
    records_of_student,
    session_rows,
)
from campus.client import Client
from campus.collect import Gathered
from campus.collection import Collection, read_collection
from campus.decode import row_key
from campus.errors import NotFound
from campus.events import Tally
from campus.paging import V1_NAMES, Unpaged
from campus.questions import Unit
from campus.settle import leave_out, settle

OF_STUDENT = "/api/v1/students/{id}/attendances"


async def ask_student(client: Client, semester: Semester, student_id: int, tally: Tally) -> Gathered:
    """All records of a student in a semester. Those of another one, which a platform sends that ignores the
    semester, are left out.

    Raises NotFound for a student whom the platform does not know."""
    pages, outcome = await read_collection(
        client,
        Collection(
            OF_STUDENT.format(id=student_id),
            {"semester_id": str(semester.calendar.semester_id)},
            semester.school_id,
            RECORDS.scopes,
        ),
        Unpaged(V1_NAMES),
        parse=parse_list,
        keys=lambda page: (
            [row_key(row, KEY) for row in page.rows] + [bad.key or (bad.raw,) for bad in page.bad]
        ),
        tally=tally,
    )
    found = Gathered(total=None, complete=outcome.complete, note=outcome.note)
    for page in pages:
        part = records_of_student(page, student_id, semester.usins)
        found.rows += part.rows
        found.extras += part.extras
        found.trashed += part.trashed
        found.bad += part.bad
        found.drift.update(part.drift)
    own = [i for i, row in enumerate(found.rows) if not semester.is_of_another(row.checked_at)]
    leave_out(found, own, "semester_id")
    return found


async def ask_session(
    client: Client, semester: Semester, session: Session, tally: Tally
) -> SessionDetail | None:
    """What the platform has of one session; None where it knows of none (404)."""
    try:
        answer = await client.get(
            SESSIONS.path.format(id=session.class_id),
            {
                "semester_id": semester.calendar.semester_id,
                "date": session.day.isoformat(),
                "lesson": session.lesson,
            },
            school_id=semester.school_id,
            scope=SESSIONS.scopes,
            parse=parse_session,
            tally=tally,
        )
    except NotFound:
        return None
    tally.pages += 1
    return answer.value


def records_in(semester: Semester, session: Session, detail: SessionDetail | None) -> Gathered:
    """The records of one session. Those of another one, which a platform sends that ignores the date or the
    lesson, are left out."""
    if detail is None:
        return Gathered(total=None)
    when: dict[str, int | date] = {"checked_at": session.day, "lesson": session.lesson}
    found = records_of_session(detail.records, session.class_id, semester.usins, semester.ids)
    return settle(found, RECORDS, Unit(SESSIONS.path, known=when, belongs=when))


def row_of(
    semester: Semester, session: Session, statistics: Mapping[str, Any] | None, *, scheduled: bool
) -> Gathered:
    """The row of one session, with its statistics as sent."""
    ours = {
        "semester_id": semester.calendar.semester_id,
        "week": semester.calendar.week_of(session.day),
        "scheduled": scheduled,
    }
    return session_rows({session: {**(statistics or {}), **ours}})
