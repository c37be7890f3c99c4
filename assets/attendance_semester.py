"""What the lake knows of a semester before its attendance is asked for: classes, students, sessions."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from typing import Any

from assets.attendance_weeks import Timeline
from assets.tables import TABLES, slice_of
from assets.users import STUDENT
from campus.attendance.calendar import Calendar, ClassTimes, Session, meetings_of
from campus.attendance.semester import Semester
from campus.contract import column_names
from campus.contracts_v1_attendance import AttendanceSession
from campus.resources import RESOURCES
from warehouse.lake import Lake
from warehouse.tables import Slice

Row = dict[str, Any]


def read_semester(lake: Lake, school_id: int, timeline: Timeline, semester_id: int) -> Semester:
    """One semester as far as the lake holds it."""
    calendar = timeline.calendars[semester_id]
    here = _Here(lake, school_id, semester_id)
    classes = here.rows("v1_classes", ["id", "start_at", "end_in", "week_type", "schedules"])
    users = here.rows("v1_users", ["id", "usin", "role"])
    enrolled = here.rows("v1_class_students", ["class_id", "student_id", "usin", "_deleted_at"], alive=False)
    students = {row["id"] for row in users if row["role"] == STUDENT}
    return Semester(
        school_id=school_id,
        calendar=calendar,
        today=timeline.today,
        classes=[_times(row) for row in classes],
        members=_members(here, enrolled, users),
        askable=frozenset(students | {row["student_id"] for row in enrolled if row["_deleted_at"] is None}),
        usins={row["student_id"]: row["usin"] for row in enrolled}
        | {row["id"]: row["usin"] for row in users if row["usin"]},
        known=here.sessions(calendar),
        others=[(one.first, one.last) for one in timeline.calendars.values() if one is not calendar],
    )


class _Here:
    """The lake, as far as one semester of one school goes."""

    def __init__(self, lake: Lake, school_id: int, semester_id: int) -> None:
        self._lake, self._school_id, self._semester_id = lake, school_id, semester_id

    def rows(self, name: str, columns: list[str], *, alive: bool = True) -> list[Row]:
        slice = slice_of(RESOURCES[name], self._school_id, self._semester_id)
        return list(self._lake.read(TABLES[name], slice, columns, alive=alive).to_pylist())

    def sessions(self, calendar: Calendar) -> dict[int, dict[Session, AttendanceSession]]:
        """The sessions by the week that they count as. Where the dates of the semester have moved, that is
        not the week that they were loaded as."""
        semester = Slice.of(_school_id=self._school_id, _semester_id=self._semester_id)
        columns = column_names(AttendanceSession)
        known: dict[int, dict[Session, AttendanceSession]] = defaultdict(dict)
        for sent in self._lake.read(TABLES["attendance_sessions"], semester, columns).to_pylist():
            row = AttendanceSession(**sent)
            if row.class_id is not None and row.date is not None and row.lesson is not None:
                known[calendar.week_of(row.date)][Session(row.class_id, row.date, row.lesson)] = row
        return known


def _times(row: Row) -> ClassTimes:
    return ClassTimes(
        row["id"],
        meetings_of((entry["day"], entry["lesson"]) for entry in row["schedules"] or ()),
        row["start_at"] or None,
        row["end_in"] or None,
        row["week_type"] or 0,
    )


def _members(here: _Here, enrolled: Iterable[Row], users: Iterable[Row]) -> dict[int, dict[int, date]]:
    """By student the classes that he is or was in, each with his last day in it.

    The v1 interface does not show who has left; the v3 interface does, as deleted members of classes."""
    members: dict[int, dict[int, date]] = defaultdict(dict)

    def add(student: int, class_id: int, left_at: date | None) -> None:
        last_day = left_at or date.max
        members[student][class_id] = max(last_day, members[student].get(class_id, date.min))

    for row in enrolled:
        add(row["student_id"], row["class_id"], _day(row))
    classes, students = _v1_classes(here), _v1_students(here, enrolled, users)
    for row in here.rows("class_members", ["class_id", "reflection_id", "_deleted_at"], alive=False):
        if row["class_id"] in classes and row["reflection_id"] in students:
            add(students[row["reflection_id"]], classes[row["class_id"]], _day(row))
    return dict(members)


def _day(row: Row) -> date | None:
    return row["_deleted_at"].date() if row["_deleted_at"] else None


def _v1_classes(here: _Here) -> dict[int, int]:
    """The v1 id of each class of the v3 interface: the same, or that of the one class of the same code."""
    ours = here.rows("v1_classes", ["id", "csin"])
    ids = {row["id"] for row in ours}
    times = Counter(row["csin"] for row in ours)
    by_code = {row["csin"]: row["id"] for row in ours if row["csin"] and times[row["csin"]] == 1}
    found = {}
    for row in here.rows("classes", ["id", "csin"], alive=False):
        if row["id"] in ids or row["csin"] in by_code:
            found[row["id"]] = row["id"] if row["id"] in ids else by_code[row["csin"]]
    return found


def _v1_students(here: _Here, enrolled: Iterable[Row], users: Iterable[Row]) -> dict[int, int]:
    """The v1 id of each student of the v3 interface: the same, or that of the same number; who has left is
    nowhere in v1, and keeps his id."""
    ids = {row["id"] for row in users} | {row["student_id"] for row in enrolled}
    by_usin: dict[str | None, int] = {row["usin"]: row["id"] for row in users if row["usin"]}
    return {
        row["id"]: row["id"] if row["id"] in ids else by_usin.get(row["usin"]) or row["id"]
        for row in here.rows("students", ["id", "usin"], alive=False)
    }
