"""Any table of the published file as a workbook of one sheet."""

from __future__ import annotations

import duckdb

from exports.columns import NAMED_BY_PLATFORM, english, platform_label
from exports.sheets import Sheet, Words, Workbook
from exports.suppression import shown
from warehouse.identifiers import PARAMS, ROW_NUMBER, listed, quoted

#: Schemas whose tables can be exported.
SCHEMAS = ("marts", "core", "datasets", "reports")
#: What says the school of a row: the first of them that a table has, since a dataset may have the other, too.
SCHOOL_COLUMNS = ("_school_id", "school_id")
DELETED = Words("Rows that the platform has deleted", "平台已删除的记录")


def table_names(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables that can be exported, as schema.table: those whose rows say their school."""
    rows = con.execute(
        "SELECT DISTINCT list_position($schemas, schema_name) AS place, schema_name, table_name "
        "FROM duckdb_columns() WHERE schema_name IN $schemas AND column_name IN $school_columns ORDER BY ALL",
        {"schemas": list(SCHEMAS), "school_columns": list(SCHOOL_COLUMNS)},
    )
    return [f"{schema}.{table}" for _, schema, table in rows.fetchall()]


def table_workbook(con: duckdb.DuckDBPyConnection, name: str) -> Workbook:
    """A table (schema.table) as a workbook. Of datasets and reports without the rows that are deleted."""
    schema, table = name.split(".", 1)
    described = con.execute(f"FROM {_quoted(name)} LIMIT 0").description or ()
    columns = {column: str(type) for column, type, *_ in described}
    school = next(column for column in SCHOOL_COLUMNS if column in columns)
    has_deleted = "_deleted_at" in columns
    condition = f"{school} = $school_id" + (" AND _deleted_at IS NULL" if has_deleted else "")
    # A report's rows stand in the order of the report; others are sorted, by their columns from the left.
    order = listed([name for name in (PARAMS, ROW_NUMBER) if name in columns]) or "ALL"
    kept = {column: type for column, type in columns.items() if column not in ("_deleted_at", ROW_NUMBER)}
    query = f"SELECT {', '.join(shown(kept))} FROM {_quoted(name)} WHERE {condition} ORDER BY {order}"
    title, about = _said(con, schema, table)
    sheet = Sheet(name=title, about=about, query=query, sources=(name,))
    return Workbook(name, title, about, (sheet,), filters=DELETED if has_deleted else None)


def _said(con: duckdb.DuckDBPyConnection, schema: str, table: str) -> tuple[Words, Words]:
    """What the dictionary calls a table, and says of it."""
    found = con.execute(
        "SELECT description, label_zh FROM quality.dictionary "
        "WHERE schema_name = ? AND table_name = ? AND column_name IS NULL",
        [schema, table],
    ).fetchone()
    description, label_zh = found or (None, None)
    about = Words(description or table, description or table)
    if schema in NAMED_BY_PLATFORM:
        own = platform_label(description or table)
        return Words(own, own), about
    return Words(english(table), label_zh or table), about


def _quoted(name: str) -> str:
    schema, table = name.split(".", 1)
    return f"{quoted(schema)}.{quoted(table)}"
