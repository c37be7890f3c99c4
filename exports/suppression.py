"""Suppresses numbers about few people: rows that a mart marks by `is_suppressed` are exported without
numbers.

Exports of tables blank the numbers (`shown`). Every export passes `refuse_exposed` first, which checks the
rows, so that no query can forget the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from exports.spreadsheet.cells import type_of
from exports.spreadsheet.sheets import Sheet
from warehouse.identifiers import quoted

FLAG = "is_suppressed"


class Exposed(Exception):
    """A query shows suppressed numbers, or does not show which rows are suppressed."""


def shown(columns: Mapping[str, str]) -> list[str]:
    """SQL for the columns of a table, by name and type. Numbers of marked rows are null."""
    hidden = set(_numbers(columns)) if FLAG in columns else set()
    return [
        f"CASE WHEN NOT {FLAG} THEN {quoted(name)} END AS {quoted(name)}" if name in hidden else quoted(name)
        for name in columns
    ]


def refuse_exposed(
    con: duckdb.DuckDBPyConnection, sheets: Sequence[Sheet], parameters: Mapping[str, Any]
) -> None:
    """Check sheets that read tables with marked rows. Raises Exposed where a sheet shows their numbers."""
    # A view of marked rows has the flag, too (tests/warehouse/models/views).
    marked = con.execute(
        "SELECT DISTINCT table_name FROM duckdb_columns() "
        "WHERE column_name = ? AND schema_name IN ('marts', 'views')",
        [FLAG],
    ).fetchall()
    for sheet in sheets:
        for (table,) in marked:
            if re.search(rf"\b{re.escape(table)}\b", sheet.query, re.IGNORECASE):
                used = {name: parameters[name] for name in parameters if f"${name}" in sheet.query}
                _refuse(con, sheet, table, used)


def _refuse(con: duckdb.DuckDBPyConnection, sheet: Sheet, table: str, parameters: Mapping[str, Any]) -> None:
    described = con.execute(f"SELECT * FROM ({sheet.query}) LIMIT 0", parameters).description or ()
    columns = {name: str(type) for name, type, *_ in described}
    if FLAG not in columns:
        raise Exposed(f"it reads {table} and does not show {FLAG}, which says whose numbers must not leave")
    numbers = [f"{quoted(name)} IS NOT NULL" for name in _numbers(columns)]
    condition = f"{FLAG} IS NOT FALSE AND ({' OR '.join(numbers) or 'false'})"
    [(rows,)] = con.execute(f"SELECT count(*) FROM ({sheet.query}) WHERE {condition}", parameters).fetchall()
    if rows:
        raise Exposed(f"{rows:,} rows of {table} tell about few people, and would show their numbers")


def _numbers(columns: Mapping[str, str]) -> list[str]:
    """The columns with numbers, except ids."""
    return [name for name, type in columns.items() if type_of(type).is_number and not name.endswith("_id")]
