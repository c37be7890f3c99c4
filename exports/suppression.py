"""What tells about few people stays in the house: rows that a mart marks by `is_suppressed` leave without
their numbers.

Exports of tables blank them (`shown`). All that is written passes `refuse_exposed` first, which looks at the
rows themselves, so that no query can forget it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import duckdb

from exports.cells import type_of
from exports.sheets import Sheet
from warehouse.identifiers import quoted

FLAG = "is_suppressed"


class Exposed(Exception):
    """A query shows numbers of rows that a file must not have, or hides which rows these are."""


def shown(columns: Mapping[str, str]) -> list[str]:
    """SQL for the columns of a table, by name and type: in a marked row a number is null."""
    if FLAG not in columns:
        return [quoted(name) for name in columns]
    hidden = set(_numbers(columns))
    return [
        f"CASE WHEN NOT {FLAG} THEN {quoted(name)} END AS {quoted(name)}" if name in hidden else quoted(name)
        for name in columns
    ]


def refuse_exposed(
    con: duckdb.DuckDBPyConnection, sheets: Sequence[Sheet], parameters: Mapping[str, int]
) -> None:
    """Raises Exposed where a sheet reads a table with marked rows and shows numbers of any of them."""
    marked = con.execute(
        "SELECT DISTINCT table_name FROM duckdb_columns() WHERE column_name = ? AND schema_name = 'marts'",
        [FLAG],
    ).fetchall()
    for sheet in sheets:
        for (table,) in marked:
            if re.search(rf"\b{re.escape(table)}\b", sheet.query, re.IGNORECASE):
                _refuse(
                    con,
                    sheet,
                    table,
                    {name: parameters[name] for name in parameters if f"${name}" in sheet.query},
                )


def _refuse(con: duckdb.DuckDBPyConnection, sheet: Sheet, table: str, parameters: Mapping[str, int]) -> None:
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
    """The columns with figures: all numbers but ids."""
    return [name for name, type in columns.items() if type_of(type).is_number and not name.endswith("_id")]
