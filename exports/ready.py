"""The ready-made workbooks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from exports.figures import figures, grade_figures
from exports.library.back_test import definitions_of_back_test
from exports.library.definitions import definitions_of
from exports.library.sheet_library import make_workbook
from exports.reports import reports
from exports.spreadsheet.sheets import Language, Workbook

#: Makes the workbooks of one school (its id) in a language, from the published file.
Maker = Callable[[duckdb.DuckDBPyConnection, int, Language], tuple[Workbook, ...]]


def attendance(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """Attendance by semester, week, class and student."""
    definitions = definitions_of(con, school_id, "attendance")
    return (make_workbook(con, "attendance", school_id, language, figures(con, school_id), definitions),)


def grades(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """Distribution of grades, comparison of classes, students, and assessment items."""
    definitions = definitions_of(con, school_id, "grades")
    return (make_workbook(con, "grades", school_id, language, grade_figures(con, school_id), definitions),)


def early_warning(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """Students who need attention, the reasons, and their classes."""
    definitions = (
        *definitions_of(con, school_id, "early_warning"),
        *definitions_of_back_test(con, school_id),
    )
    return (make_workbook(con, "early_warning", school_id, language, figures(con, school_id), definitions),)


READY: Mapping[str, Maker] = {
    "attendance": attendance,
    "grades": grades,
    "early_warning": early_warning,
    "reports": reports,
}

#: The name of the pages of `exports.board`, which are no workbooks.
BOARD = "board"
#: The name of the zip of `exports.oneroster`.
ONEROSTER = "oneroster"
