"""The workbook of attendance."""

from __future__ import annotations

import duckdb

from exports.figures import figures
from exports.library.sheet_library import make_workbook
from exports.spreadsheet.sheets import Language, Workbook
from exports.workbooks.definitions import attendance_definitions


def attendance(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of attendance of a school."""
    heads, definitions = figures(con, school_id), attendance_definitions(con, school_id)
    return (make_workbook(con, "attendance", school_id, language, heads, definitions),)
