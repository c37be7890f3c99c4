"""Counts what a snapshot changes. Its rows have no key, so whole rows are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from warehouse.identifiers import quoted
from warehouse.lake.sql import view
from warehouse.lake.tables import ROW_NUMBER, Table
from warehouse.load.merge import RowCounts
from warehouse.load.slice_reading import SliceReading

PLACE = quoted(ROW_NUMBER.name)


def compare(
    con: duckdb.DuckDBPyConnection, table: Table, previous: Sequence[str], reading: SliceReading
) -> RowCounts:
    """Count the rows that are `unchanged`, at another place (`changed`), `new` and `vanished`.

    `previous`: the paths of the slice's files. A column that only they have counts: its values vanish."""
    retired = [pa.field(column.name, column.type) for column in table.retired]
    schema = pa.schema([*table.row_schema, *retired])
    for name, files in (("previous", previous), ("reading", [str(reading.staged.path)])):
        view(con, f"{name}_rows", files, schema)
        digest = _digest(column for column in schema.names if column != ROW_NUMBER.name)
        con.execute(f"CREATE TEMP TABLE {name} AS SELECT {digest} AS row, {PLACE} AS place FROM {name}_rows")
    [(before, now)] = con.execute(
        "SELECT (SELECT count(*) FROM previous), (SELECT count(*) FROM reading)"
    ).fetchall()
    common, unchanged = _common(con, "row"), _common(con, "row, place")
    return RowCounts(
        new=now - common,
        changed=common - unchanged,
        unchanged=unchanged,
        vanished=before - common,
        were_alive=before,
        are_alive=now,
    )


def _digest(columns: Iterable[str]) -> str:
    """SQL for a 128-bit hash of a row, since whole rows do not fit the memory. Each value is preceded by its
    length, so that different rows are never the same text."""
    texts = (f"CAST({quoted(column)} AS VARCHAR)" for column in columns)
    measured = (f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts)
    return f"md5_number(concat({', '.join(measured)}))"


def _common(con: duckdb.DuckDBPyConnection, columns: str) -> int:
    """How many rows both sides have, as SQL's INTERSECT ALL counts."""
    [(rows,)] = con.execute(f"""
        SELECT coalesce(sum(least(before, read)), 0)::BIGINT
        FROM (
            SELECT count(*) FILTER (old) AS before, count(*) FILTER (NOT old) AS read
            FROM (SELECT true AS old, {columns} FROM previous UNION ALL SELECT false, {columns} FROM reading)
            GROUP BY {columns}
        )
    """).fetchall()
    return int(rows)
