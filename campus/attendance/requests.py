"""Requests attendance of a student or of a session, and decodes the responses into the same rows."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.attendance.calendar import Session
from campus.attendance.semester import Semester, counts_any
from campus.contracts.fields import Contract, Int, Text, doc
from campus.contracts.v1_attendance import STATUSES, AttendanceRecord
from campus.decoding.page import Page, decode_page, row_keys
from campus.decoding.raw_json import raw_rows
from campus.fetch.answers import confirmed, repeated_params
from campus.fetch.collection import Collection
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.paging import V1_NAMES, page_unpaged_list
from campus.plan.units import Unit
from campus.registry import RESOURCES
from campus.sources.gathered import Gathered
from campus.sources.row_rules import apply_row_rules, keep_requested

SESSIONS, RECORDS = RESOURCES["attendance_sessions"], RESOURCES["attendance_records"]
KEY = ("id",)


class StudentIds(msgspec.Struct, gc=False):
    """A student by the ids that platforms send."""

    id: Int | None = None
    rid: Int | None = None
    usin: Text | None = None


class Ref(StudentIds):
    """The student or class inside a record. Its other fields are stored elsewhere."""

    # Of any type, so that a value of another type does not lose the student.
    reflection: Annotated[Any, doc("Who it is, where that stands inside", arrow=pa.string())] = None

    @property
    def student_id(self) -> int | None:
        """The student's id: the inner id before the object's own."""
        inside = self._inside
        return next((id for id in (self.account_id, inside.id, self.id) if id is not None), None)

    @property
    def account_id(self) -> int | None:
        """The id that is certainly of the account. `id` may be of the pupil, or a place in a list."""
        return self.rid if self.rid is not None else self._inside.rid

    @property
    def student_usin(self) -> str | None:
        """The student's number."""
        return self.usin or self._inside.usin

    @property
    def _inside(self) -> StudentIds:
        if not isinstance(self.reflection, dict):
            return _NOBODY
        try:
            return msgspec.convert(self.reflection, StudentIds, strict=False)
        except msgspec.ValidationError:
            return _NOBODY


_NOBODY = StudentIds()


class SentRecord(Contract):
    """A record as sent: with its class by the student route, with its student by the session route."""

    id: Annotated[Int, doc("Record id")]
    checked_at: Annotated[dt.date | None, doc("Date of the session")] = None
    lesson: Annotated[Int | None, doc("Lesson number")] = None
    status: Annotated[Text | None, doc("Status", values=STATUSES)] = None
    status_label: Annotated[Text | None, doc("Label of what the teacher marked")] = None
    absence_label: Annotated[Text | None, doc("Leave")] = None
    conclusion_label: Annotated[Text | None, doc("Result")] = None
    created_date: Annotated[dt.date | None, doc("Date on which it was marked")] = None
    created_time: Annotated[Text | None, doc("Time at which it was marked")] = None
    # Another text every day for the same record, so it is not stored.
    created_date_label: Annotated[Text | None, doc("Relative day", expected=False)] = None
    klass: Annotated[Ref | None, doc("Class", expected=False)] = None
    student: Annotated[Ref | None, doc("Student", expected=False)] = None


@dataclass(frozen=True)
class SessionDetail:
    """The response for one session."""

    #: JSON members. None: the platform sends none.
    statistics: Mapping[str, Raw] | None
    records: Page[SentRecord]


def parse_list(body: bytes, *, keep_id_numbers: bool = False) -> Page[SentRecord]:
    """Decode a student's list of records. `keep_id_numbers`: as in `decode_page`."""
    return decode_page(body, SentRecord, keep_id_numbers=keep_id_numbers)


def parse_session(body: bytes, *, keep_id_numbers: bool = False) -> SessionDetail:
    """Decode the detail of one session. A platform may leave out an empty list, or send only the list.
    `keep_id_numbers`: as in `decode_page`."""
    if not body.startswith(b"{"):
        return SessionDetail(None, parse_list(body, keep_id_numbers=keep_id_numbers))
    [whole] = raw_rows(b"[%b]" % body)
    try:
        members = _MEMBERS.decode(whole)
        statistics = _statistics(bytes(members.get("statistics", b"null")))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnexpectedAnswer(f"expected the statistics and the list of a session: {error}.") from error
    records = parse_list(bytes(members.get("list", b"null")), keep_id_numbers=keep_id_numbers)
    return SessionDetail(statistics, records)


def counts_students(statistics: Mapping[str, Raw] | None) -> bool:
    """Whether the statistics of a session, as sent, count any student."""
    sent = (bytes((statistics or {}).get(name, b"0")) for name in ("normal", "late", "absent"))
    return any(value not in (b"0", b"null") for value in sent)


def records_of_student(page: Page[SentRecord], student_id: int, usins: Mapping[int, str]) -> Gathered:
    """The rows of one student. `usins`: student numbers by id, which this route does not send."""
    usin = usins.get(student_id)
    rows = [_row(sent, sent.klass.id if sent.klass else None, student_id, usin) for sent in page.rows]
    return _gathered(page, rows)


def records_of_session(
    page: Page[SentRecord], class_id: int, usins: Mapping[int, str], ids: Mapping[str, int]
) -> Gathered:
    """The rows of one session of a class.

    Args:
        usins: Student numbers by id.
        ids: Ids by student number, for students without an id or with an id that is not of the account."""
    rows = []
    for sent in page.rows:
        who = sent.student or Ref()
        number = who.student_usin
        student_id = who.student_id
        if who.account_id is None and usins.get(student_id or 0) != number:
            student_id = ids.get(number or "", student_id)
        usin = number if student_id is None else usins.get(student_id, number)
        rows.append(_row(sent, class_id, student_id, usin))
    return _gathered(page, rows)


def _row(
    sent: SentRecord, class_id: int | None, student_id: int | None, usin: str | None
) -> AttendanceRecord:
    return AttendanceRecord(
        sent.id,
        class_id,
        student_id,
        usin,
        sent.checked_at,
        sent.lesson,
        sent.status,
        sent.status_label,
        sent.absence_label,
        sent.conclusion_label,
        sent.created_date,
        sent.created_time,
    )


def _gathered(page: Page[SentRecord], rows: list[AttendanceRecord]) -> Gathered:
    return Gathered(rows, page.extras, [False] * len(rows), page.bad, page.drift, total=None)


def _statistics(sent: bytes) -> Mapping[str, Raw] | None:
    """None: no statistics, for which PHP writes an empty list too."""
    return None if sent == b"[]" else _STATISTICS.decode(sent)


_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_STATISTICS: msgspec.json.Decoder[dict[str, Raw] | None] = msgspec.json.Decoder(dict[str, Raw] | None)


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
