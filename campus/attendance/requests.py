"""One request of either route, and the rows of its response."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any

from campus.account import Tally
from campus.attendance.calendar import Session
from campus.attendance.rows import (
    KEY,
    RECORDS,
    SESSIONS,
    SessionDetail,
    counts_students,
    parse_list,
    parse_session,
    records_of_session,
    records_of_student,
    session_rows,
)
from campus.attendance.semester import Semester, counts_any
from campus.decoding.page import row_keys
from campus.fetch.answer import fetch
from campus.fetch.collection import Collection, read_unpaged
from campus.fetch.emptiness import confirmed, repeated_params
from campus.http.client import Client
from campus.http.errors import NotFound, Refused
from campus.paging import V1_NAMES
from campus.plan.units import Unit
from campus.sources.concurrent_units import UnitResult, read_units
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import apply_row_rules, keep_requested

OF_STUDENT = "/api/v1/students/{id}/attendances"


async def ask_student(client: Client, semester: Semester, student_id: int, tally: Tally) -> Gathered:
    """All records of a student in a semester, without records of other semesters from a platform that ignores
    the parameter.

    Raises NotFound: The platform does not know the student."""
    pages, outcome = await read_unpaged(
        client,
        Collection(
            OF_STUDENT.format(id=student_id),
            {"semester_id": str(semester.calendar.semester_id)},
            semester.school_id,
            RECORDS.scopes,
            partial(parse_list, keep_id_numbers=client.config.keep_id_numbers),
            lambda page: row_keys(page.rows, KEY) + [(bad.raw,) for bad in page.bad],
        ),
        OF_STUDENT,
        V1_NAMES,
        empty_is_unusual=False,
        tally=tally,
    )
    gathered = Gathered(total=None, complete=outcome.complete, note=outcome.note)
    for page in pages:
        gathered.extend(records_of_student(page, student_id, semester.usins))
    own = [i for i, row in enumerate(gathered.rows) if not semester.is_of_another(row.checked_at)]
    keep_requested(gathered, own, "semester_id")
    return gathered


async def ask_students(
    client: Client,
    semester: Semester,
    students: Iterable[int],
    progress: Collector,
    take: Callable[[int, Gathered], None],
) -> None:
    """Request the records of some students. A student whom the platform does not know has none.

    Args:
        progress: Takes no rows. Its account counts the requests, and has the students who failed.
        take: Takes a student and the records."""

    async def ask(unit: Unit) -> UnitResult:
        student_id = int(unit.ids[0])
        gathered = await ask_student(client, semester, student_id, progress.account.tally)
        return UnitResult(partial(take, student_id, gathered), not gathered.rows and not gathered.bad)

    units = [Unit(OF_STUDENT, ids=(student,), may_be_absent=True) for student in students]
    await read_units(client, units, ask, [progress])


async def ask_session(
    client: Client, semester: Semester, session: Session, tally: Tally
) -> SessionDetail | None:
    """Read one session. None: the platform has no such session (404, or refused while others are shown).

    Of several responses without records, the first with statistics counts."""
    responses: list[SessionDetail] = []

    async def ask(before: int) -> SessionDetail:
        responses.append(await _ask_once(client, semester, session, tally, before))
        return responses[-1]

    stored = semester.stored.get(semester.calendar.week_of(session.day), {}).get(session)
    counted = stored is not None and counts_any(stored)
    refusals = semester.refusals
    try:
        detail = await confirmed(
            client.capabilities,
            ask,
            is_unmarked,
            is_unusual=lambda detail: counted or counts_students(detail.statistics),
            varies=(SESSIONS.path, V1_NAMES.page),
        )
    except NotFound:
        return None
    except Refused:
        others = (other for other in semester.likely_recorded() if other != session)
        if not await refusals.mean_unrecorded(
            lambda other: _ask_once(client, semester, other, tally), others
        ):
            raise
        refusals.unrecorded.add(session)
        return None
    refusals.shown = True
    if is_unmarked(detail):
        return next((response for response in responses if response.statistics is not None), detail)
    return detail


async def _ask_once(
    client: Client, semester: Semester, session: Session, tally: Tally, before: int = 0
) -> SessionDetail:
    """Request one session once. `before`: how often it was requested already."""
    answer = await fetch(
        client,
        SESSIONS.path.format(id=session.class_id),
        repeated_params(
            {
                "semester_id": semester.calendar.semester_id,
                "date": session.day.isoformat(),
                "lesson": session.lesson,
            },
            V1_NAMES.page,
            before,
        ),
        school_id=semester.school_id,
        scope=SESSIONS.scopes,
        decode=partial(parse_session, keep_id_numbers=client.config.keep_id_numbers),
        tally=tally,
    )
    tally.pages += 1
    return answer.value


def is_unmarked(detail: SessionDetail | None) -> bool:
    """Whether a session has no records."""
    return detail is None or not (detail.records.rows or detail.records.bad)


def records_in(semester: Semester, session: Session, detail: SessionDetail | None) -> Gathered:
    """The records of one session, without records of other sessions from a platform that ignores the date or
    the lesson."""
    if detail is None:
        return Gathered(total=None)
    when: dict[str, int | date] = {"checked_at": session.day, "lesson": session.lesson}
    gathered = records_of_session(detail.records, session.class_id, semester.usins, semester.ids)
    return apply_row_rules(gathered, RECORDS, Unit(SESSIONS.path, defaults=when, expected=when))


def row_of(
    semester: Semester, session: Session, statistics: Mapping[str, Any] | None, *, scheduled: bool
) -> Gathered:
    """The row of one session, with its statistics as sent."""
    own_columns = {
        "semester_id": semester.calendar.semester_id,
        "week": semester.calendar.week_of(session.day),
        "scheduled": scheduled,
    }
    return session_rows({session: {**(statistics or {}), **own_columns}})
