"""The rows of a school's log of talks and measures, and the lines that are refused.

A line names its student by id, number or external id. A refused line is named by its file and number alone:
it may name anybody."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from campus.account import BadRow
from campus.contracts.inputs import KINDS, Intervention
from campus.files.headers import day_of, needs, renamed
from campus.files.table_file import TableFile, TableRow
from campus.identity_numbers import without_identity_numbers
from campus.sources.gathered import Gathered

#: The headings of the fields, in Chinese and English, in the order of the template.
HEADINGS: Mapping[str, tuple[str, str]] = {
    "usin": ("学号", "student number"),
    "outer_id": ("外部编号", "external id"),
    "student_id": ("学生ID", "student id"),
    "name": ("姓名", "name"),
    "date": ("日期", "date"),
    "kind": ("类型", "what"),
    "done_by": ("负责人", "by whom"),
    "result": ("结果", "result"),
    "note": ("备注", "note"),
    "again_on": ("再看日期", "look again on"),
}
_FIELDS = {heading: field for field, headings in HEADINGS.items() for heading in headings}
_KINDS = {word: kind for kind, words in KINDS.items() for word in (kind, *words)}
#: The fields that name a student.
NAMED_BY = ("student_id", "usin", "outer_id")
TEXTS = ("done_by", "result", "note")
#: Begins the first cell of a line that is a comment.
COMMENT = "#"
LONGEST_TEXT = 2000
# A spreadsheet counts days from here, and shows the number where the cell has no format of a date.
_DAY_0 = date(1899, 12, 30)


class Refused(Exception):
    """The reason to refuse a line. It quotes no cell."""


@dataclass(frozen=True)
class Student:
    """A student in the lake."""

    id: int
    usin: str | None
    outer_id: str | None
    name: str | None
    #: The student has left.
    is_deleted: bool


class Students:
    """The students of a school, by each way to name them."""

    def __init__(self, students: Iterable[Student]) -> None:
        self._named: dict[tuple[str, str], list[Student]] = defaultdict(list)
        for student in students:
            for field, value in (
                ("student_id", str(student.id)),
                ("usin", student.usin),
                ("outer_id", student.outer_id),
            ):
                if value:
                    self._named[field, value.strip()].append(student)

    def find(self, cells: Mapping[str, str]) -> int:
        """The id of the student whom a line names. Raises Refused."""
        named = [field for field in NAMED_BY if cells.get(field)]
        if not named:
            raise Refused(f"it names no student: fill in {', '.join(NAMED_BY[1:])} or {NAMED_BY[0]}")
        candidates = [self._candidates(field, cells[field]) for field in named]
        students = [student for student in candidates[0] if all(student in others for others in candidates)]
        if not students:
            raise Refused(f"{' and '.join(named)} are not of the same student")
        if len(students) > 1:
            raise Refused(f"several students have this {named[0]}: name the student by another field, too")
        [student] = students
        if cells.get("name") and cells["name"] != (student.name or "").strip():
            raise Refused(f"the student with this {named[0]} has another name")
        return student.id

    def _candidates(self, field: str, text: str) -> list[Student]:
        students = self._named.get((field, text), [])
        if not students:
            raise Refused(f"no student of the school has this {field}")
        # A number may be given again once its student has left.
        return [student for student in students if not student.is_deleted] or students


@dataclass(frozen=True, order=True)
class Line:
    """A line of a school's files."""

    #: The name of the file.
    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


@dataclass(frozen=True)
class Lines:
    """The lines of a file that make sense, and the refused lines as bad rows."""

    rows: Mapping[Line, Intervention]
    bad: list[BadRow]


def read_lines(table: TableFile, students: Students, today: date, path: Path) -> Lines:
    """Read the lines of a file. today: the last day that a line may have. path: for messages.

    Raises TableError for columns that make no sense."""
    named = renamed(table, HEADINGS, str(path), _FIELDS)
    columns = [_FIELDS.get(column, column.lower()) for column in table.columns]
    needs(columns, NAMED_BY, ("date",), ("kind",), name=str(path))
    rows, bad = dict[Line, Intervention](), list[BadRow]()
    for row in named:
        if row.cells[columns[0]].startswith(COMMENT):
            continue
        line = Line(path.name, row.line)
        try:
            rows[line] = _intervention(row, students, today)
        except Refused as refusal:
            bad.append(_refused(line, None, str(refusal)))
    return Lines(rows, bad)


def gather(*files: Lines) -> Gathered:
    """The rows of a school's files, and their refused lines. Several files may have the same line."""
    gathered, lines = Gathered(total=None), defaultdict[tuple[int, date, str], list[Line]](list)
    rows = {line: row for file in files for line, row in file.rows.items()}
    gathered.bad = [bad for file in files for bad in file.bad]
    for line, row in rows.items():
        lines[row.student_id, row.date, row.kind].append(line)
    for key, same in lines.items():
        is_copied = len({line.file for line in same}) == len(same)
        if is_copied and all(rows[line] == rows[same[0]] for line in same):
            gathered.rows.append(rows[same[0]])
            continue
        reason = f"{' and '.join(map(str, same))} have the same student, day and kind: put them into one line"
        gathered.bad += [_refused(line, key, reason) for line in same]
    gathered.extras, gathered.trashed = [None] * len(gathered.rows), [False] * len(gathered.rows)
    return gathered


def line_of(bad: BadRow) -> Line:
    """The line of a refused row."""
    raw = json.loads(bad.raw)
    return Line(raw["file"], raw["line"])


def _refused(line: Line, key: tuple[int, date, str] | None, reason: str) -> BadRow:
    return BadRow(key, reason, json.dumps({"file": line.file, "line": line.number}, ensure_ascii=False))


def _intervention(row: TableRow, students: Students, today: date) -> Intervention:
    if row.problem:
        # The problem of a row quotes its column and the spreadsheet's error, and no other cell.
        raise Refused(row.problem)
    cells = row.cells
    student_id = students.find(cells)
    day = _day("date", cells["date"])
    if day > today:
        raise Refused("the date is in the future")
    again_on = _day("again_on", cells["again_on"]) if cells.get("again_on") else None
    if again_on and again_on < day:
        raise Refused("again_on is before the date")
    kind = _KINDS.get(cells["kind"].lower())
    if kind is None:
        words = ", ".join(f"{kind} ({words[0]})" for kind, words in KINDS.items())
        raise Refused(f"kind is none of {words}")
    for field in TEXTS:
        if len(cells.get(field, "")) > LONGEST_TEXT:
            raise Refused(f"{field} has more than {LONGEST_TEXT} letters")
    done_by, result, note = (without_identity_numbers(cells.get(field, "")) or None for field in TEXTS)
    return Intervention(student_id, day, kind, done_by, result, note, again_on)


def _day(field: str, text: str) -> date:
    if not text:
        raise Refused(f"{field} is missing")
    day = _DAY_0 + timedelta(int(text)) if text.isdecimal() and len(text) == 5 else day_of(text)
    if day is None:
        raise Refused(f"{field} is no day: write it as 2026-09-01")
    return day


#: The headings of the columns to fill in, in Chinese and English.
TALK_DATE, NOTE = ("谈话日期", "Talk on"), ("谈话备注", "Note")
#: The columns of the list that are read. The others are for people.
FIELDS: Mapping[str, str] = {
    "学号": "usin",
    "Student number": "usin",
    "姓名": "name",
    "Student": "name",
    **dict.fromkeys(TALK_DATE, "date"),
    **dict.fromkeys(NOTE, "note"),
}
TALK = next(iter(KINDS))
COLUMNS = ("usin", "name", "date", "kind", "note")


def lines_of_list(table: TableFile) -> TableFile:
    """The rows of a list with a day or a note, as lines of the log."""
    rows = []
    for row in table.rows:
        cells = {FIELDS[column]: cell for column, cell in row.cells.items() if column in FIELDS}
        if cells.get("date") or cells.get("note"):
            own = dict.fromkeys(COLUMNS, "") | cells | {"kind": TALK}
            rows.append(TableRow(row.line, own, row.problem))
    return TableFile(COLUMNS, tuple(rows))
