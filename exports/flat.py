"""Writes one sheet as CSV, for spreadsheet programs, or as Parquet, for other programs; and the first rows
of sheets as Markdown, for logs.

CSV: UTF-8 with a byte order mark, for Excel. Quoted by RFC 4180: an empty text is "", a missing value is
nothing. The headers are labels. A spreadsheet program runs text that begins like a formula, even if it is
quoted: such text gets a ' before it (warehouse.csv_cells). Numbers are unchanged.

Parquet: the query's names, types and values, with the source in key-value metadata.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from exports.library.words import texts
from exports.markdown import table, text
from exports.source import Origin
from exports.spreadsheet.columns import SheetColumn, sheet_columns
from exports.spreadsheet.sheets import Language, Sheet, Workbook
from exports.spreadsheet.styles import shown_as
from warehouse.age import with_semesters
from warehouse.csv_cells import safe_cell, safe_text
from warehouse.identifiers import literal, quoted

BYTE_ORDER_MARK = "\ufeff"
PREVIEWED_ROWS, PREVIEWED_COLUMNS = 3, 8
TEXTS = texts("spreadsheet")


def write_csv(
    con: duckdb.DuckDBPyConnection, sheet: Sheet, origin: Origin, target: Path, language: Language
) -> int:
    """Write a sheet as CSV. Returns the number of rows. Without rows, the file has a line that says so."""
    parameters = origin.parameters(sheet.query)
    columns = sheet_columns(con, sheet, parameters, language)
    header = BYTE_ORDER_MARK + _line([_header(column) for column in columns])
    fields = ", ".join(_field(column) for column in columns)
    # Between PREFIX and SUFFIX lines are ended by CRLF as the standard has it; the last one by SUFFIX.
    options = f"FORMAT csv, HEADER false, NEW_LINE '\r\n', PREFIX {literal(header)}, SUFFIX '\r\n'"
    rows = _copy(con, f"SELECT {fields} FROM ({sheet.query})", parameters, target, options)
    if not rows:
        never = origin.not_loaded(sheet.sources)
        words = TEXTS["never_loaded"].format(never) if never else TEXTS["no_rows_at"].format(origin.day)
        message = words.in_language(language)
        target.write_text(header + _line([message]), encoding="utf-8", newline="")
    return rows


def write_parquet(con: duckdb.DuckDBPyConnection, sheet: Sheet, origin: Origin, target: Path) -> int:
    """Write a sheet as Parquet. Returns the number of rows."""
    facts = {
        "school_id": origin.school.id,
        "generation": origin.generation,
        "published_at": origin.published_at,
        "as_of": origin.age.as_of,
        "not_loaded_last": ", ".join(sorted(origin.age.failed)) or None,
        "never_loaded": ", ".join(with_semesters(origin.age.never)) or None,
    }
    metadata = ", ".join(
        f"{name}: {literal(str(value))}" for name, value in facts.items() if value is not None
    )
    options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{metadata}}}"
    return _copy(con, sheet.query, origin.parameters(sheet.query), target, options)


def preview_of(con: duckdb.DuckDBPyConnection, workbook: Workbook, origin: Origin, language: Language) -> str:
    """The first rows of the sheets with `summary`, as Markdown."""
    paragraphs = []
    for sheet in workbook.sheets:
        if sheet.summary:
            parameters = origin.parameters(sheet.query)
            columns = sheet_columns(con, sheet, parameters, language)[:PREVIEWED_COLUMNS]
            cells = ", ".join(column.cell for column in columns)
            first_rows = f"SELECT {cells} FROM ({sheet.query}) LIMIT {PREVIEWED_ROWS}"
            rows = con.execute(first_rows, parameters).fetchall()
            lines = ([_preview_cell(*pair) for pair in zip(columns, row, strict=True)] for row in rows)
            paragraphs.append(f"**{text(sheet.name.in_language(language))}**")
            paragraphs.append(table([column.label for column in columns], lines))
    return "\n\n".join(paragraphs)


def _preview_cell(column: SheetColumn, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return shown_as(column, value)
    return column.words.get(str(value), str(value))


def _copy(
    con: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, int], target: Path, options: str
) -> int:
    statement = f"COPY ({query}) TO {literal(str(target))} ({options})"
    [(rows,)] = con.execute(statement, parameters).fetchall()
    return int(rows)


def _header(column: SheetColumn) -> str:
    """The header of a column: its groups and its label. Cells of percentages have no sign."""
    label = column.label + (" (%)" if column.kind == "percent" else "")
    return str(safe_cell(" / ".join([*(group for group in column.groups if group), label])))


def _field(column: SheetColumn) -> str:
    """SQL for a column's fields. Text is made safe."""
    if column.kind in ("decimal", "percent") and column.places is None:
        digits = f"CAST({quoted(column.name)} AS VARCHAR)"
        return rf"regexp_replace({digits}, '\.0+$|(\.\d*[1-9])0+$', '\1')"
    if column.kind not in ("text", "link"):
        return quoted(column.name)
    value = column.cell
    if column.words:
        words = " ".join(f"WHEN {literal(code)} THEN {literal(word)}" for code, word in column.words.items())
        value = f"CASE {value} {words} ELSE {value} END"
    return safe_text(value)


def _line(fields: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(fields)
    return line.getvalue()
