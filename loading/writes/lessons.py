"""Marks of lessons, from a file to the platform: who was there, and who was not.

The interface marks one lesson a request, and shows what it has of one. So each lesson is asked for first,
written only where the file says something else, and asked for again. It does not say whether the students
that a request leaves out keep their marks: where one has lost his, the lesson is sent again with all marks,
and so are the lessons after it. The marks of students who left the class cannot be sent, nor those that may
only be read; that they are lost is told.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from campus.attendance.calendar import Session
from campus.attendance.requests import ask_session, records_in
from campus.attendance.semester import Semester
from campus.http.client import Client
from campus.http.errors import CampusError, Refused
from campus.http.events import Tally
from campus.writes.operations import MARK_LESSON, Write
from campus.writes.writer import Written
from loading.attendance.semester import read_semester
from loading.attendance.weeks import AttendanceSettings, timeline_of
from loading.tables import TABLES
from loading.writes.headers import day_of, needs, renamed
from loading.writes.outcomes import RowOutcome, failed
from loading.writes.table_file import TableError, TableFile, TableRow
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice

FIELDS = ("class_id", "csin", "date", "lesson", "rid", "usin", "result")
#: What may be written (absent_from_duty may only be read), and what people call it.
RESULTS: Mapping[str, str] = {
    **{each: each for each in ("normal", "absent", "lated", "early_left")},
    "正常": "normal",
    "出勤": "normal",
    "缺勤": "absent",
    "旷课": "absent",
    "迟到": "lated",
    "早退": "early_left",
}

#: Sends one write with its record; see `pipelines.writes.desk.Desk.write`.
Send = Callable[[Write, str], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a line of the file says of one student."""

    line: int
    result: str


@dataclass
class Planned:
    """What a file means: marks by lesson and student, and the rows that are refused."""

    lessons: dict[Session, dict[int, Mark]] = field(default_factory=lambda: defaultdict(dict))
    refused: list[RowOutcome] = field(default_factory=list)


class Refusal(Exception):
    """Why a row is refused."""


class Known:
    """What the lake knows of a school, to read a file of marks with. Raises TableError where it was never
    loaded."""

    def __init__(self, lake: Lake, school_id: int, settings: AttendanceSettings) -> None:
        timeline = timeline_of(lake, school_id, settings)
        self.today = timeline.today
        self.semesters = {
            semester_id: read_semester(lake, school_id, timeline, semester_id)
            for semester_id in timeline.calendars
        }
        columns = ["id", "csin", "_semester_id"]
        rows = lake.read(TABLES["v1_classes"], Slice.of(_school_id=school_id), columns).to_pylist()
        if not rows:
            raise TableError(
                f"the classes of school {school_id} are not known yet: run campus sync --school {school_id}"
            )
        self._semester_of = {row["id"]: int(row["_semester_id"]) for row in rows}
        self._by_code: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            self._by_code[row["csin"] or ""].append(row["id"])

    def class_of(self, row: Mapping[str, str]) -> int:
        """The class that a row names. Raises Refusal."""
        if row.get("class_id"):
            class_id = _whole(row, "class_id")
            if class_id not in self._semester_of:
                raise Refusal(f"there is no class {class_id}")
            return class_id
        found = self._by_code.get(row.get("csin") or "", [])
        if not row.get("csin") or not found:
            raise Refusal(f"there is no class {row['csin']}" if row.get("csin") else "the class is missing")
        if len(found) > 1:
            raise Refusal(f"the code {row['csin']} is that of {len(found)} classes: give class_id")
        return found[0]

    def semester_of(self, session: Session) -> Semester:
        """The semester of a lesson. Raises Refusal where the lesson lies outside of it, or is to come."""
        semester = self.semesters.get(self._semester_of[session.class_id])
        if semester is None:
            raise Refusal(f"the semester of class {session.class_id} has no dates")
        calendar = semester.calendar
        if not calendar.first <= session.day <= calendar.last:
            raise Refusal(f"{session.day} lies outside the semester, {calendar.first} to {calendar.last}")
        if session.day > self.today:
            raise Refusal(f"{session.day} is to come; the platform has {self.today}")
        return semester

    def student_of(self, row: Mapping[str, str], semester: Semester, class_id: int) -> int:
        """The student that a row names, by rid, or by a number that no two have. Raises Refusal."""
        if row.get("rid"):
            student = _whole(row, "rid")
        elif not row.get("usin"):
            raise Refusal("rid or usin is missing")
        elif row["usin"] in semester.ids:
            student = semester.ids[row["usin"]]
        else:
            raise Refusal("no student, or more than one, has this usin")
        if class_id not in semester.members.get(student, {}):
            raise Refusal(f"student {student} is not in class {class_id}")
        return student


def plan_marks(table: TableFile, known: Known, name: str) -> Planned:
    """What the rows of a file mean. name: of the file. Raises TableError for columns that make no sense."""
    rows = renamed(table, FIELDS, name)
    columns = rows[0].cells if rows else dict.fromkeys(FIELDS, "")
    needs(columns, ("class_id", "csin"), ("date",), ("lesson",), ("rid", "usin"), ("result",), name=name)
    planned = Planned()
    for row in rows:
        try:
            if row.problem:
                raise Refusal(row.problem)
            _add(planned, row, known)
        except Refusal as refusal:
            planned.refused.append(RowOutcome(row.line, _key(row), "refused", str(refusal)))
    return planned


def _add(planned: Planned, row: TableRow, known: Known) -> None:
    class_id = known.class_of(row.cells)
    session = Session(class_id, _day(row.cells), _whole(row.cells, "lesson"))
    if session.lesson < 1:
        raise Refusal("lesson counts from 1")
    student = known.student_of(row.cells, known.semester_of(session), class_id)
    said = row.cells["result"]
    result = RESULTS.get(said) or RESULTS.get(said.lower())
    if result is None:
        raise Refusal(f"result is {said!r}; there are normal, absent, lated and early_left")
    before = planned.lessons[session].get(student)
    if before and before.result != result:
        raise Refusal(f"line {before.line} says {before.result} of the same student and lesson")
    planned.lessons[session].setdefault(student, Mark(row.line, result))


@dataclass
class Marking:
    """Writes lessons. `whole`: a request says all marks of a lesson; found out on the way, where the settings
    do not say so. `lost`: marks that the platform forgot and that could not be sent again."""

    client: Client
    send: Send
    known: Known
    whole: bool = False
    lost: list[str] = field(default_factory=list)

    async def carry_out(
        self, lessons: Mapping[Session, Mapping[int, Mark]], *, dry: bool
    ) -> list[RowOutcome]:
        """Write the lessons that are not on the platform as the file says. dry: ask, and write nothing."""
        if not lessons:
            return []
        first, *others = lessons.items()
        # The first one shows whether the marks that a request leaves out stay.
        outcomes = await self._lesson(*first, dry=dry)
        for found in await asyncio.gather(*(self._lesson(*one, dry=dry) for one in others)):
            outcomes += found
        return outcomes

    async def _lesson(self, session: Session, marks: Mapping[int, Mark], *, dry: bool) -> list[RowOutcome]:
        try:
            return await self._carry_out(session, marks, dry=dry)
        except Refused as refusal:
            # One mark that the platform does not take costs the request: it may be that of one who has left.
            staying = {student: mark for student, mark in marks.items() if self._is_in(session, student)}
            if len(staying) in (0, len(marks)):
                return _failed(session, marks, refusal)
            leaving = {student: mark for student, mark in marks.items() if student not in staying}
            return _failed(session, leaving, refusal) + await self._lesson(session, staying, dry=dry)
        except CampusError as error:
            return _failed(session, marks, error)

    async def _carry_out(self, session: Session, marks: Mapping[int, Mark], *, dry: bool) -> list[RowOutcome]:
        before = await self._ask(session)
        if dry or all(before.get(student) == mark.result for student, mark in marks.items()):
            after = {student: mark.result for student, mark in marks.items()}
        else:
            after = await self._write(session, marks, before)
        return [
            self._outcome(session, student, mark, before.get(student), after.get(student), dry=dry)
            for student, mark in marks.items()
        ]

    def _outcome(
        self, session: Session, student: int, mark: Mark, before: str | None, after: str | None, *, dry: bool
    ) -> RowOutcome:
        key = key_of(session, student)
        if before == mark.result:
            return RowOutcome(mark.line, key, "unchanged")
        step = f"{before or 'no mark'} -> {mark.result}"
        if dry:
            return RowOutcome(mark.line, key, "waiting", step)
        if after != mark.result:
            shown = f"the platform took it, and shows {after or 'no mark'}"
            return RowOutcome(mark.line, key, "refused", shown)
        return RowOutcome(mark.line, key, "written", step)

    async def _write(
        self, session: Session, marks: Mapping[int, Mark], before: Mapping[int, str]
    ) -> dict[int, str]:
        """Write a lesson; what the platform shows of it then."""
        said = {student: mark.result for student, mark in marks.items()}
        others = {student: mark for student, mark in before.items() if student not in said}
        whole = {**self._sendable(session, others), **said}
        await self._put(session, marks, whole if self.whole else said)
        after = await self._ask(session)
        if not self.whole and others.keys() - after.keys():
            self.whole = True
            await self._put(session, marks, whole)
            after = await self._ask(session)
        self.lost += [key_of(session, student) for student in sorted(others.keys() - after.keys())]
        return after

    def _sendable(self, session: Session, marks: Mapping[int, str]) -> dict[int, str]:
        """Those of some marks that the interface takes: of students of the class, and not only to be read."""
        return {
            student: result
            for student, result in marks.items()
            if result in RESULTS and self._is_in(session, student)
        }

    def _is_in(self, session: Session, student: int) -> bool:
        """Whether a student is in the class still."""
        members = self.known.semester_of(session).members
        return members.get(student, {}).get(session.class_id) == date.max

    async def _put(self, session: Session, marks: Mapping[int, Mark], said: Mapping[int, str]) -> None:
        content: list[dict[str, Any]] = [
            {"rid": student, "result": result} for student, result in said.items()
        ]
        params: dict[str, str | int] = {"checked_at": session.day.isoformat(), "lesson": session.lesson}
        school_id = self.known.semester_of(session).school_id
        lines = in_lines([mark.line for mark in marks.values()])
        await self.send(Write(MARK_LESSON, school_id, session.class_id, params, content), lines)

    async def _ask(self, session: Session) -> dict[int, str]:
        """The marks of a lesson by student."""
        semester = self.known.semester_of(session)
        detail = await ask_session(self.client, semester, session, Tally())
        rows = records_in(semester, session, detail).rows
        return {row.student_id: row.status for row in rows if row.student_id and row.status}


def _failed(session: Session, marks: Mapping[int, Mark], error: CampusError) -> list[RowOutcome]:
    return [failed(mark.line, key_of(session, student), error) for student, mark in marks.items()]


def key_of(session: Session, student: int) -> str:
    """A mark without names."""
    return f"class {session.class_id}, {session.day}, lesson {session.lesson}, student {student}"


def in_lines(lines: Sequence[int]) -> str:
    """Lines of a file in words."""
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {min(lines)} to {max(lines)}"


def _key(row: TableRow) -> str:
    told = (name for name in ("class_id", "csin", "date", "lesson", "rid") if row.cells.get(name))
    return ", ".join(f"{name} {row.cells[name]}" for name in told)


def _day(row: Mapping[str, str]) -> date:
    day = day_of(row["date"])
    if day is None:
        raise Refusal(f"date is {row['date']!r}; expected YYYY-MM-DD")
    return day


def _whole(row: Mapping[str, str], name: str) -> int:
    if not row[name].isdecimal():
        raise Refusal(f"{name} is {row[name]!r}; expected a number")
    return int(row[name])
