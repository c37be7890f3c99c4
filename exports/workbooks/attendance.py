"""The workbook of attendance."""

from __future__ import annotations

import duckdb

from exports.figures import figures
from exports.library.definitions import definitions_of
from exports.library.sheet_library import make_workbook
from exports.spreadsheet.sheets import Language, Workbook


def attendance(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of attendance of a school."""
    heads, definitions = figures(con, school_id), definitions_of(con, school_id, "attendance")
    return (make_workbook(con, "attendance", school_id, language, heads, definitions),)
