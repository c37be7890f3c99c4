"""Workbooks of single tables of the published file."""

from __future__ import annotations

import duckdb

from exports.library.words import texts
from exports.names import SCHEMAS
from exports.spreadsheet.columns import table_label
from exports.spreadsheet.sheets import Sheet, Words, Workbook
from exports.suppression import shown
from warehouse.identifiers import PARAMS, ROW_NUMBER, listed, relation

#: The columns with the school of a row. The first counts, since a dataset may have both.
SCHOOL_COLUMNS = ("_school_id", "school_id")


def table_names(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables that can be exported, as schema.table: tables with a column of the school."""
    rows = con.execute(
        "SELECT DISTINCT list_position($schemas, schema_name) AS rank, schema_name, table_name "
        "FROM duckdb_columns() WHERE schema_name IN $schemas AND column_name IN $school_columns ORDER BY ALL",
        {"schemas": list(SCHEMAS), "school_columns": list(SCHOOL_COLUMNS)},
    )
    return [f"{schema}.{table}" for _, schema, table in rows.fetchall()]


def table_workbook(con: duckdb.DuckDBPyConnection, name: str) -> Workbook:
    """A table (schema.table) as a workbook. Datasets and reports come without deleted rows."""
    schema, table = name.split(".", 1)
    described = con.execute(f"FROM {relation(name)} LIMIT 0").description or ()
    columns = {column: str(type) for column, type, *_ in described}
    school = next(column for column in SCHOOL_COLUMNS if column in columns)
    has_deleted = "_deleted_at" in columns
    condition = f"{school} = $school_id" + (" AND _deleted_at IS NULL" if has_deleted else "")
    # Rows of a report keep its order. Other rows are sorted by their columns from the left.
    order = listed([name for name in (PARAMS, ROW_NUMBER) if name in columns]) or "ALL"
    exported = {column: type for column, type in columns.items() if column not in ("_deleted_at", ROW_NUMBER)}
    query = f"SELECT {', '.join(shown(exported))} FROM {relation(name)} WHERE {condition} ORDER BY {order}"
    title, about = _title_and_about(con, schema, table)
    sheet = Sheet(name=title, about=about, query=query, sources=(name,))
    return Workbook(
        name, title, about, (sheet,), filters=texts("spreadsheet")["deleted"] if has_deleted else None
    )


def _title_and_about(con: duckdb.DuckDBPyConnection, schema: str, table: str) -> tuple[Words, Words]:
    """The label and the description of a table in the dictionary."""
    entry = con.execute(
        "SELECT description, label_en, label_zh FROM quality.dictionary "
        "WHERE schema_name = ? AND table_name = ? AND column_name IS NULL",
        [schema, table],
    ).fetchone()
    description, label_en, label_zh = entry or (None, None, None)
    about = description or table
    return table_label(schema, table, description, label_en, label_zh), Words(about, about)
