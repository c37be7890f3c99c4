"""One sheet as CSV, for people with a spreadsheet program, or as Parquet, for programs.

CSV: UTF-8 with a byte order mark, by which Excel knows it; quoted by RFC 4180, where an empty text is "" and
nothing at all a missing value; labels as headers. Quotes do not keep a program from running what begins like
a formula. So text that begins with =, +, -, @ (in full width, too), a tab, a line break or ' gets a ' before
it, as OWASP advises: take away one ' at the beginning, and you have the value. Numbers are as they are.

Parquet: the query's own names, types and values, and where they come from as key-value metadata.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import duckdb

from exports.columns import Shown, shown_columns
from exports.sheets import Language, Sheet, Words
from exports.source import Origin
from warehouse.age import with_semesters
from warehouse.csv_cells import FORMULA_STARTS, safe_cell
from warehouse.identifiers import literal, quoted

BYTE_ORDER_MARK = "\ufeff"
NOT_LOADED = Words("Not known: never loaded whole: {}.", "未知：尚未完整加载：{}。")
NO_ROWS = Words("No rows: there is nothing to show as of {}.", "无数据：截至{}没有可显示的记录。")


def write_csv(
    con: duckdb.DuckDBPyConnection, sheet: Sheet, origin: Origin, target: Path, language: Language
) -> int:
    """Write a sheet as CSV. The rows; where there are none, the file has a line that says so."""
    parameters = origin.parameters(sheet.query)
    columns = shown_columns(con, sheet, parameters, language)
    header = BYTE_ORDER_MARK + _line([_header(column) for column in columns])
    fields = ", ".join(_field(column) for column in columns)
    # Between PREFIX and SUFFIX lines are ended by CRLF as the standard has it; the last one by SUFFIX.
    options = f"FORMAT csv, HEADER false, NEW_LINE '\r\n', PREFIX {literal(header)}, SUFFIX '\r\n'"
    rows = _copy(con, f"SELECT {fields} FROM ({sheet.query})", parameters, target, options)
    if not rows:
        never = origin.not_loaded(sheet.sources)
        words, of = (NOT_LOADED, never.in_language(language)) if never else (NO_ROWS, origin.day)
        said = words.in_language(language).format(of)
        target.write_text(header + _line([said]), encoding="utf-8", newline="")
    return rows


def write_parquet(con: duckdb.DuckDBPyConnection, sheet: Sheet, origin: Origin, target: Path) -> int:
    """Write a sheet as Parquet. The rows."""
    said = {
        "school_id": origin.school.id,
        "generation": origin.generation,
        "published_at": origin.published_at,
        "as_of": origin.age.as_of,
        "not_loaded_last": ", ".join(sorted(origin.age.failed)) or None,
        "never_loaded": ", ".join(with_semesters(origin.age.never)) or None,
    }
    metadata = ", ".join(
        f"{name}: {literal(str(value))}" for name, value in said.items() if value is not None
    )
    options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{metadata}}}"
    return _copy(con, sheet.query, origin.parameters(sheet.query), target, options)


def _copy(
    con: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, int], target: Path, options: str
) -> int:
    statement = f"COPY ({query}) TO {literal(str(target))} ({options})"
    [(rows,)] = con.execute(statement, parameters).fetchall()
    return int(rows)


def _header(column: Shown) -> str:
    """The groups and the label. A percentage has no sign in its cells."""
    label = column.label + (" (%)" if column.kind == "percent" else "")
    return str(safe_cell(" / ".join([*(group for group in column.groups if group), label])))


def _field(column: Shown) -> str:
    """SQL for a column's fields: text made safe, all else as it is."""
    if column.kind in ("decimal", "percent") and column.places is None:
        digits = f"CAST({quoted(column.name)} AS VARCHAR)"
        return rf"regexp_replace({digits}, '\.0+$|(\.\d*[1-9])0+$', '\1')"
    if column.kind not in ("text", "link"):
        return quoted(column.name)
    value = column.cell
    if column.words:
        words = " ".join(f"WHEN {literal(code)} THEN {literal(word)}" for code, word in column.words.items())
        value = f"CASE {value} {words} ELSE {value} END"
    # No IN: DuckDB makes a join of so long a list, and the rows lose their order.
    begins = f"contains({literal(''.join(FORMULA_STARTS))}, nullif(left({value}, 1), ''))"
    return f"CASE WHEN {begins} THEN '''' || {value} ELSE {value} END"


def _line(fields: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(fields)
    return line.getvalue()
