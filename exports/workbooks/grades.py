"""The workbook of grades."""

from __future__ import annotations

import duckdb

from exports.figures import grade_figures
from exports.library.definitions import definitions_of
from exports.library.sheet_library import make_workbook
from exports.spreadsheet.sheets import Language, Workbook


def grades(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of grades of a school."""
    figures, definitions = grade_figures(con, school_id), definitions_of(con, school_id, "grades")
    return (make_workbook(con, "grades", school_id, language, figures, definitions),)
