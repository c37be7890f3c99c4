"""Definitions of the ready-made workbooks, with the school's valid thresholds."""

from __future__ import annotations

import duckdb

from exports.library.definitions import all_definitions, definitions_of
from exports.measures import definition
from exports.spreadsheet.sheets import Definition

__all__ = ["PRESENT", "all_definitions", "warning_definitions"]

PRESENT = definition("attendance_rate")


def warning_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """The definitions of the workbook of early warning: levels and limits."""
    return definitions_of(con, school_id, "early_warning")
