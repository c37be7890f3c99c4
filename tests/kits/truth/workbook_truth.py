"""The ready-made workbooks beside what is in the published file, by other ways than their own queries.

Sheets of rows are compared with the rows of a mart, matrices cell by cell with the rows that they are made
of, and what is summed up with sums over the facts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb

from exports.export import Options, Written, export
from exports.library.words import labels
from tests.kits.exports.spreadsheets import Tab, read_book
from tests.kits.truth import workbook_queries as queries

#: The kinds of codes in cells; a code means the same in each kind.
KINDS = (
    "tiers",
    "levels",
    "states",
    "discrimination",
    "group_types",
    "indicators",
    "interventions",
    "no_ranks",
    "verdicts",
)
WORDS = {code: words.en for kind in KINDS for code, words in labels(kind).items()}

TALKS = "Talks and measures"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class File:
    """A published file, and the school that is looked at."""

    con: duckdb.DuckDBPyConnection
    school: int

    def rows(self, query: str) -> list[Row]:
        """The rows of a query on the file and on queries.TABLES, with values as cells have them."""
        rows = self.con.execute(queries.TABLES + query, {"school": self.school}).fetchall()
        return [tuple(map(in_cell, row)) for row in rows]


Check = Callable[[File, Tab], None]


def in_cell(value: Any) -> Any:
    """A value of the file as a cell has it; codes in words."""
    if isinstance(value, Decimal):
        return round(float(value), 6)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return WORDS.get(value, value) if isinstance(value, str) else value


def compare(published: Path, school: int, folder: Path) -> None:
    """Export the workbooks of a school and assert that each cell of each sheet is what the file says."""
    written = list(export(published, list(CHECKS), [school], Options(folder, language="en")))
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        for book in written:
            assert isinstance(book, Written), book
            tabs = read_book(book.path)
            file = File(con, school)
            # Without a log of talks there is no sheet of them.
            absent = set() if file.rows(queries.TALKS) else {TALKS}
            assert set(tabs) == set(CHECKS[book.name]) - absent
            for name in tabs:
                for check in CHECKS[book.name][name]:
                    check(file, tabs[name])
    assert [book.name for book in written if isinstance(book, Written)] == list(CHECKS)


def rows_of(query: str, *, beside: tuple[str, ...] = (), rising: str = "", within: str = "") -> Check:
    """The sheet has the rows of this query, in any order; what all of them have in common may stand in its
    head instead. `beside`: headings of columns that are not compared here; `rising`: a column in which no
    number is less than the one above, `within` the rows that have the same in that column."""

    def check(file: File, tab: Tab) -> None:
        places = [place for place, labels in enumerate(tab.labels) if labels[0] not in beside]
        actual = Counter(tuple(row[place] for place in places) for row in tab.rows)
        expected = file.rows(query)
        same = [place for place, values in enumerate(zip(*expected, strict=True)) if len(set(values)) == 1]
        missing = len(expected[0]) - len(places) if expected else 0
        assert any(
            actual == Counter(_without(row, left_out) for row in expected)
            for left_out in combinations(same, missing)
            if all(_said(expected[0][place]) in "\n".join(tab.head) for place in left_out)
        )
        if tuple(rising.split(" / ")) in tab.labels:
            values = tab.column(*rising.split(" / "))
            groups = tab.column(within) if (within,) in tab.labels else [""] * len(values)
            for group in set(groups):
                of_group = [
                    value
                    for value, group_of_value in zip(values, groups, strict=True)
                    if group_of_value == group
                ]
                assert of_group == sorted(of_group)

    return check


def _said(value: Any) -> str:
    """A value as the head of a sheet says it; 0 is one."""
    return "—" if value is None else str(value)


def _without(row: Row, places: Collection[int]) -> Row:
    return tuple(value for place, value in enumerate(row) if place not in places)


def matrix_of(query: str, heading: str, *keys: str) -> Check:
    """Below a heading the sheet has the cells of this query: what is in the columns `keys`, the label of the
    cell's own column, and its value; all else is empty or 0."""

    def check(file: File, tab: Tab) -> None:
        cells = tab.under(heading, *((key,) for key in keys))
        assert Counter(cell for cell in cells if cell[-1]) == Counter(
            (*row[:-2], str(row[-2]), row[-1]) for row in file.rows(query) if row[-1]
        )

    return check


CHECKS: Mapping[str, Mapping[str, tuple[Check, ...]]] = {
    "attendance": {
        "Overview": (rows_of(queries.ATTENDANCE),),
        "Weeks": (
            rows_of(queries.WEEKS, beside=("Attendance rate",), rising="Week"),
            matrix_of(queries.RATES_BY_WEEK, "Attendance rate", "Week"),
        ),
        "Tiers": (
            matrix_of(queries.TIERS, "Students", "Cohort"),
            matrix_of(queries.TIER_SHARES, "Share", "Cohort"),
        ),
        "Classes": (matrix_of(queries.CLASS_WEEKS, queries.BY_WEEK, "Cohort", "Admin class"),),
        "Course classes": (
            matrix_of(queries.COURSE_CLASS_WEEKS, queries.BY_WEEK, "Course", "Class", "Teachers"),
        ),
        "Low attendance": (
            rows_of(queries.LOW_ATTENDANCE, rising="Attendance rate / Semester", within="Admin class"),
        ),
        "Heat map": (
            matrix_of(queries.HEAT_MAP.format(rate="attendance_rate"), "Attendance rate", "Lesson", "Name"),
            matrix_of(queries.HEAT_MAP.format(rate="lateness_rate"), "Lateness rate", "Lesson", "Name"),
        ),
        "Rolls not taken": (rows_of(queries.UNRECORDED),),
    },
    "grades": {
        "Overview": (rows_of(queries.GRADES),),
        "Bands": (
            matrix_of(queries.BANDS.format(value="grades"), "Grades", "Band"),
            matrix_of(queries.BANDS.format(value="percent"), queries.OF_SCORED, "Band"),
        ),
        "Distribution": (
            rows_of(queries.DISTRIBUTION, beside=(queries.OF_SCORED,)),
            matrix_of(queries.GROUP_BANDS, queries.OF_SCORED, "Group type", "Group"),
        ),
        "Classes": (rows_of(queries.CLASSES),),
        "Students": (rows_of(queries.STUDENTS),),
        "Items": (rows_of(queries.ITEMS),),
        "Missing scores": (rows_of(queries.COMPLETENESS),),
    },
    "early_warning": {
        "Overview": (rows_of(queries.LEVELS),),
        "Students": (rows_of(queries.WARNINGS),),
        "Values": (rows_of(queries.VALUES),),
        "Classes": (rows_of(queries.LEVELS_OF_CLASSES),),
        "Rules": (rows_of(queries.RULES),),
        "Came true": (rows_of(queries.CAME_TRUE),),
        TALKS: (rows_of(queries.TALKS),),
        "Attendance and grades": (
            rows_of(queries.TIERS_AND_GRADES, beside=(queries.OF_TIER,)),
            matrix_of(queries.BANDS_OF_TIERS, queries.OF_TIER, "Tier"),
        ),
    },
}
