"""Marks of lessons in a file: finds the lesson and the student of each row."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from campus.attendance.calendar import Session
from campus.attendance.semester import Semester
from campus.files.headers import day_of, needs, renamed
from campus.files.table_file import TableFile, TableRow
from writeback.operations import Write
from writeback.outcomes import RowOutcome
from writeback.send.writer import Written

FIELDS = ("class_id", "csin", "date", "lesson", "rid", "usin", "result")
#: The marks that can be written, and the words for them. absent_from_duty can only be read.
RESULTS: Mapping[str, str] = {
    **{result: result for result in ("normal", "absent", "lated", "early_left")},
    "正常": "normal",
    "出勤": "normal",
    "缺勤": "absent",
    "旷课": "absent",
    "迟到": "lated",
    "早退": "early_left",
}

#: Sends one write with its record; see `WriteSession.write`.
Send = Callable[[Write, str], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one student in the file, on one line or on several equal lines."""

    lines: tuple[int, ...]
    result: str


@dataclass
class Planned:
    """Marks by lesson and student, and the refused rows."""

    lessons: dict[Session, dict[int, Mark]] = field(default_factory=lambda: defaultdict(dict))
    refused: list[RowOutcome] = field(default_factory=list)


class Refusal(Exception):
    """The reason to refuse a row. It quotes no cell."""


class ClassIndex:
    """Looks up the classes, semesters and students that the rows of a file name.

    Args:
        today: by the platform's clock.
        semesters: those that have dates, by the ids of v1.
        classes: rows of `v1_classes`: id, csin and _semester_id."""

    def __init__(
        self,
        school_id: int,
        today: date,
        semesters: Mapping[int, Semester],
        classes: Iterable[Mapping[str, Any]],
    ) -> None:
        self.school_id = school_id
        self.today = today
        self.semesters = semesters
        self._semester_of: dict[int, int] = {}
        self._by_code: dict[str, list[int]] = defaultdict(list)
        for row in classes:
            self._semester_of[row["id"]] = int(row["_semester_id"])
            self._by_code[row["csin"] or ""].append(row["id"])

    def class_of(self, row: Mapping[str, str]) -> int:
        """The class that a row names. Raises Refusal."""
        if row.get("class_id"):
            class_id = _whole(row, "class_id")
            if class_id not in self._semester_of:
                raise Refusal("the school has no class of this class_id")
            return class_id
        class_ids = self._by_code.get(row.get("csin") or "", [])
        if not row.get("csin") or not class_ids:
            raise Refusal(
                "the school has no class of this csin" if row.get("csin") else "the class is missing"
            )
        if len(class_ids) > 1:
            raise Refusal(f"{len(class_ids)} classes have this csin: give class_id")
        return class_ids[0]

    def semester_of(self, session: Session) -> Semester:
        """The semester of a lesson. Raises Refusal if the lesson is outside the semester, or in the
        future."""
        if session.class_id not in self._semester_of:
            raise Refusal("the school has no class of this class_id")
        semester = self.semesters.get(self._semester_of[session.class_id])
        if semester is None:
            raise Refusal("the semester of the class has no dates")
        calendar = semester.calendar
        if not calendar.first <= session.day <= calendar.last:
            raise Refusal(f"date lies outside the semester, {calendar.first} to {calendar.last}")
        if session.day > self.today:
            raise Refusal(f"date is to come; the platform has {self.today}")
        return semester

    def student_of(self, row: Mapping[str, str], semester: Semester, class_id: int) -> int:
        """The student that a row names, by rid or by a unique number. Raises Refusal."""
        if row.get("rid"):
            student = _whole(row, "rid")
        elif not row.get("usin"):
            raise Refusal("rid or usin is missing")
        elif row["usin"] in semester.ids:
            student = semester.ids[row["usin"]]
        else:
            raise Refusal("no student, or more than one, has this usin")
        if class_id not in semester.members.get(student, {}):
            raise Refusal("the student is not in the class")
        return student


def plan_marks(table: TableFile, index: ClassIndex, name: str) -> Planned:
    """Plan the marks of a file. name: the file's name. Raises TableError for unusable columns."""
    rows = renamed(table, FIELDS, name)
    columns = rows[0].cells if rows else dict.fromkeys(FIELDS, "")
    needs(columns, ("class_id", "csin"), ("date",), ("lesson",), ("rid", "usin"), ("result",), name=name)
    planned = Planned()
    results: dict[tuple[Session, int], list[tuple[int, str]]] = defaultdict(list)
    for row in rows:
        try:
            session, student, result = _meant(row, index)
            results[session, student].append((row.line, result))
        except Refusal as refusal:
            planned.refused.append(RowOutcome(row.line, "", "refused", str(refusal)))
    for (session, student), rows_of in results.items():
        lines = tuple(line for line, _ in rows_of)
        if len({result for _, result in rows_of}) == 1:
            planned.lessons[session][student] = Mark(lines, rows_of[0][1])
            continue
        words = f"lines {', '.join(map(str, lines))} contradict each other"
        key = key_of(session, student)
        planned.refused += [RowOutcome(line, key, "refused", words) for line in lines]
    return planned


def _meant(row: TableRow, index: ClassIndex) -> tuple[Session, int, str]:
    """The lesson, the student and the result of a row. Raises Refusal."""
    if row.problem:
        raise Refusal(row.problem)
    class_id = index.class_of(row.cells)
    session = Session(class_id, _day(row.cells), _whole(row.cells, "lesson"))
    if session.lesson < 1:
        raise Refusal("lesson counts from 1")
    student = index.student_of(row.cells, index.semester_of(session), class_id)
    text = row.cells["result"]
    result = RESULTS.get(text) or RESULTS.get(text.lower())
    if result is None:
        raise Refusal("result: expected normal, absent, lated or early_left")
    return session, student, result


def key_of(session: Session, student: int) -> str:
    """Describes a mark without names."""
    return f"class {session.class_id}, {session.day}, lesson {session.lesson}, student {student}"


def in_lines(lines: Sequence[int]) -> str:
    """Names lines of a file in a message."""
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {min(lines)} to {max(lines)}"


def _day(row: Mapping[str, str]) -> date:
    day = day_of(row["date"])
    if day is None:
        raise Refusal("date: expected YYYY-MM-DD")
    return day


def _whole(row: Mapping[str, str], name: str) -> int:
    if not row[name].isdecimal():
        raise Refusal(f"{name}: expected a number")
    return int(row[name])
