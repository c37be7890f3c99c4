"""Schemas of open tables: DuckDB's types as types of Delta, with meanings, units and keys of the columns."""

from __future__ import annotations

import json
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from warehouse.identifiers import quoted
from warehouse.published.catalog import PARTITIONS

#: By DuckDB's type, the type of Delta.
TYPES = {
    "bigint": "long",
    "integer": "integer",
    "smallint": "short",
    "tinyint": "byte",
    "double": "double",
    "float": "float",
    "boolean": "boolean",
    "varchar": "string",
    "blob": "binary",
    "date": "date",
    # The wall clock of the platform, without a zone.
    "timestamp": "timestamp_ntz",
}
#: By DuckDB's type, the type that holds its values and that Delta has too. Parquet has a type for JSON, which
#: polars reads as bytes.
CASTS = {
    "JSON": "VARCHAR",
    "JSON[]": "VARCHAR[]",
    "hugeint": "DECIMAL(38, 0)",
    "ubigint": "DECIMAL(20, 0)",
    "uinteger": "BIGINT",
    "usmallint": "INTEGER",
    "utinyint": "SMALLINT",
    "enum": "VARCHAR",
    "time": "VARCHAR",
}
COLUMNS = """
    SELECT column_name, description, unit, is_key, refers_to FROM quality.dictionary
    WHERE schema_name = $schema AND table_name = $table
"""


def select_and_schema(con: duckdb.DuckDBPyConnection, schema: str, table: str) -> tuple[str, str]:
    """The select list of a table with casts to types of Delta, and its schema as in a Delta log, with the
    descriptions of the file's dictionary.

    Raises NotImplementedError for a type that open tables lack, or a missing column."""
    texts = {row[0]: row[1:] for row in con.execute(COLUMNS, {"schema": schema, "table": table}).fetchall()}
    selected, fields = [], []
    rows = con.sql(f"FROM {quoted(schema)}.{quoted(table)} LIMIT 0")
    # A file belongs to a school, and has the columns that its path lacks.
    if "school_id" not in rows.columns or set(rows.columns) <= set(PARTITIONS):
        raise NotImplementedError(
            f"{schema}.{table}: open tables need a column school_id, and a column beside "
            f"{' and '.join(PARTITIONS)}"
        )
    for column, type_ in zip(rows.columns, rows.types, strict=True):
        metadata = _metadata(*texts[column])
        name = stored = quoted(column)
        if cast := CASTS.get(str(type_)) or CASTS.get(type_.id):
            stored = f"{name}::{cast} AS {name}"
            metadata["duckdb_type"] = str(type_)
            type_ = duckdb.sqltype(cast)
        selected.append(stored)
        fields.append(
            {"name": column, "type": _delta_type(column, type_), "nullable": True, "metadata": metadata}
        )
    return ", ".join(selected), json.dumps({"type": "struct", "fields": fields}, ensure_ascii=False)


def _metadata(
    description: str | None, unit: str | None, is_key: bool | None, refers_to: str | None
) -> dict[str, Any]:
    """The metadata of a column; `comment` is the name that engines know."""
    texts = {"comment": description, "unit": unit, "refers_to": refers_to}
    return {key: text for key, text in texts.items() if text} | ({"is_key": True} if is_key else {})


def _delta_type(column: str, type_: DuckDBPyType) -> Any:
    if type_.id == "decimal":
        (_, precision), (_, scale) = type_.children
        return f"decimal({precision},{scale})"
    if type_.id == "list":
        [(_, element)] = type_.children
        assert isinstance(element, DuckDBPyType)
        return {"type": "array", "elementType": _delta_type(column, element), "containsNull": True}
    if type_.id not in TYPES:
        raise NotImplementedError(f"column {column}: open tables have no type for {type_}")
    return TYPES[type_.id]
