"""The requests of either route, and the rows of their responses."""

import asyncio
from dataclasses import dataclass
from datetime import date
from functools import partial

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
)
from campus.attendance.semester import Semester, counts_any
from campus.decoding.page import row_keys
from campus.fetch.collection import Collection
from campus.fetch.emptiness import confirmed, repeated_params
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.errors import NotFound, Refused
from campus.paging import V1_NAMES, page_unpaged_list
from campus.plan.units import Unit
from campus.sources.gathered import Gathered
from campus.sources.row_rules import apply_row_rules, keep_requested

OF_STUDENT = "/api/v1/students/{id}/attendances"


def ask_student(reader: Reader, semester: Semester, student_id: int) -> Readings[Gathered]:
    """All records of a student in a semester, without records of other semesters from a platform that ignores
    the parameter.

    Raises NotFound: The platform does not know the student."""
    pages, outcome = yield Collection(
        OF_STUDENT.format(id=student_id),
        {"semester_id": str(semester.calendar.semester_id)},
        partial(parse_list, keep_id_numbers=reader.keep_id_numbers),
        lambda page: row_keys(page.rows, KEY) + [(bad.raw,) for bad in page.bad],
        page_unpaged_list(reader.capabilities, OF_STUDENT, V1_NAMES, empty_is_unusual=False),
    )
    gathered = Gathered(total=None, complete=outcome.complete, note=outcome.note)
    for page in pages:
        gathered.extend(records_of_student(page, student_id, semester.usins))
    of_semester = [i for i, row in enumerate(gathered.rows) if not semester.is_of_another(row.checked_at)]
    keep_requested(gathered, of_semester, "semester_id")
    return gathered


def ask_session(reader: Reader, semester: Semester, session: Session) -> Readings[SessionDetail | None]:
    """Read a session. None: the platform has no such session (404, or refused while others are shown).

    Of several responses without records, the first with statistics counts."""
    responses: list[SessionDetail] = []

    def ask(repeats: int) -> Readings[SessionDetail]:
        responses.append((yield from _ask_once(reader, semester, session, repeats)))
        return responses[-1]

    stored = semester.stored.get(semester.calendar.week_of(session.day), {}).get(session)
    counted = stored is not None and counts_any(stored)
    try:
        detail = yield from confirmed(
            reader.capabilities,
            ask,
            is_unmarked,
            is_unusual=lambda detail: counted or counts_students(detail.statistics),
            varies=(SESSIONS.path, V1_NAMES.page),
        )
    except NotFound:
        return None
    except Refused:
        if not (yield AnyShownSession(semester, session)):
            raise
        semester.refusals.unrecorded.add(session)
        return None
    semester.refusals.shown = True
    if is_unmarked(detail):
        return next((response for response in responses if response.statistics is not None), detail)
    return detail


def _ask_once(
    reader: Reader, semester: Semester, session: Session, repeats: int = 0
) -> Readings[SessionDetail]:
    """Request a session. `repeats`: how often it was requested already."""
    params: dict[str, str | int] = {
        "semester_id": semester.calendar.semester_id,
        "date": session.day.isoformat(),
        "lesson": session.lesson,
    }
    answer = yield AnswerRequest(
        SESSIONS.path.format(id=session.class_id),
        repeated_params(params, V1_NAMES.page, repeats),
        partial(parse_session, keep_id_numbers=reader.keep_id_numbers),
    )
    reader.tally.pages += 1
    detail: SessionDetail = answer.value
    return detail


@dataclass(frozen=True)
class AnyShownSession:
    """A reading that tells whether the platform shows any session of a semester but the refused one.

    The platform refuses a wrong request for every session. So a refusal means "not recorded" once the
    platform shows any other session of the semester. If it has shown none yet, sessions that were probably
    recorded are requested, and all refused sessions wait for the same result."""

    semester: Semester
    refused: Session

    async def read(self, reader: Reader) -> bool:
        """Send the requests, unless others send them. Raises CampusError."""
        refusals = self.semester.refusals
        if not refusals.shown:
            if refusals.search is None:
                refusals.search = asyncio.ensure_future(drive_readings(reader, self._search(reader)))
            await refusals.search
        return refusals.shown

    def _search(self, reader: Reader) -> Readings[None]:
        for session in self.semester.likely_recorded():
            if session != self.refused:
                try:
                    yield from _ask_once(reader, self.semester, session)
                except (NotFound, Refused):
                    continue
                self.semester.refusals.shown = True
                return


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
