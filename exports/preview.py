"""Previews for logs: the first rows of sheets that are about no single person."""

from __future__ import annotations

from typing import Any

import duckdb

from exports.markdown import table, text
from exports.source import Origin
from exports.spreadsheet.columns import SheetColumn, sheet_columns
from exports.spreadsheet.sheets import Language, Workbook
from exports.spreadsheet.styles import shown_as

#: Rows and columns that are shown of a sheet.
ROWS, COLUMNS = 3, 8


def preview_of(con: duckdb.DuckDBPyConnection, workbook: Workbook, origin: Origin, language: Language) -> str:
    """The first rows of the sheets with `summary`, as Markdown."""
    shown = []
    for sheet in workbook.sheets:
        if sheet.summary:
            parameters = origin.parameters(sheet.query)
            columns = sheet_columns(con, sheet, parameters, language)[:COLUMNS]
            cells = ", ".join(column.cell for column in columns)
            rows = con.execute(f"SELECT {cells} FROM ({sheet.query}) LIMIT {ROWS}", parameters).fetchall()
            shown.append(f"**{text(sheet.name.in_language(language))}**")
            shown_rows = ([_cell(*pair) for pair in zip(columns, row, strict=True)] for row in rows)
            shown.append(table([column.label for column in columns], shown_rows))
    return "\n\n".join(shown)


def _cell(column: SheetColumn, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return shown_as(column, value)
    return column.words.get(str(value), str(value))
