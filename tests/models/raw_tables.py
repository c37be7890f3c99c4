"""The file as the models find it, made from plain rows: a dict a row, columns left out are null."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from assets.tables import TABLES
from warehouse.logs import LOGS
from warehouse.publish import CHECK_RESULTS, PUBLICATION
from warehouse.sql import create_table
from warehouse.tables import BOOKKEEPING, SCHOOL_ID, comments

Rows = Sequence[Mapping[str, Any]]


def create_raw(path: Path, rows: Mapping[str, Rows]) -> None:
    """Makes a DuckDB file with all tables of `raw` and `quality`, empty but for `rows` (table -> rows).

    Text is cast to the column's type, so that lists, structs and exact decimals are written the way DuckDB
    prints them. `_school_id` is 1 and `_synced_at` one fixed time where a row does not say otherwise."""
    with duckdb.connect(str(path)) as connection:
        # One commit: a commit an inserted row takes longer than the row.
        connection.begin()
        connection.execute("create schema raw")
        for table in TABLES.values():
            columns = (*table.columns, SCHOOL_ID, *BOOKKEEPING)
            no_rows = pa.schema([(column.name, column.type) for column in columns]).empty_table()
            connection.register("no_rows", no_rows)
            query = "select * replace (_extra::json as _extra) from no_rows"
            create_table(connection, f"raw.{table.name}", query, table.comment, comments(columns))
            for row in rows.get(table.name, ()):
                synced = {"_school_id": 1, "_synced_at": "2026-03-01 02:00:00"}
                _insert(connection, f"raw.{table.name}", {**synced, **row})
        connection.execute("create schema quality")
        for log in (*LOGS, CHECK_RESULTS, PUBLICATION):
            connection.register("no_rows", log.lake_schema.empty_table())
            name, notes = f"quality.{log.name}", comments(log.columns)
            create_table(connection, name, "from no_rows", log.comment, notes)
        for row in rows.get("changes", ()):
            _insert(connection, "quality.changes", {"_school_id": 1, "slice": "1|20", **row})
        connection.commit()


def _insert(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    connection.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
