"""Keeps each row as it was before a change. Past and present rows together show what was known on a day.

Past rows are appended before the data commit that replaces them, so that a crash loses none. Where that
commit fails, the next attempt appends them again, and readers take each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.identifiers import listed, quoted
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import PAST_ROWS
from warehouse.lake.sql import BATCH_ROWS, key_ranges, pooled, show_files, view
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID, SYNCED_AT, TIMESTAMP, Slice, Table, file_schema
from warehouse.load.delta_commit import append, note


def keep(
    lake: Lake,
    table: Table,
    slice: Slice,
    previous: Sequence[str],
    merged: Path,
    started_at: datetime,
    scratch: Path,
) -> None:
    """Keep the rows of a slice that a commit is about to replace.

    `previous`: the slice's files; `merged`: the file to come, whose changed rows are stamped `started_at`."""
    with pooled(scratch) as con:
        files = {"previous": previous, "merged": [str(merged)]}
        view(con, "previous", previous, file_schema(table))
        show_files(con, "merged", files["merged"])
        rows = _replaced(con, table, files, {"slice": str(slice), "started_at": started_at})
        append(lake, PAST_ROWS, _part(table, slice.school_id), lake.table_state(PAST_ROWS), rows, {}, {})


def begin(lake: Lake, tables: Iterable[Table], scratch: Path) -> None:
    """Record since when the past of each table is complete. Once for each table, before its first commit.

    A table may hold rows from before past rows were kept. Every change stamps its row, so the past of a
    school is complete since the latest stamp of its rows."""
    lake.create(PAST_ROWS)
    table_state = lake.table_state(PAST_ROWS)
    for table in tables:
        if table.keeps_past and table_state.transactions.get(_begun(table)) is None:
            for school_id, latest in _latest_stamps(lake, table, scratch) if lake.holds(table) else ():
                row = {"slice": None, "row": None, "known_from": latest, "known_to": None}
                mark = pa.RecordBatch.from_pylist([row], schema=file_schema(PAST_ROWS))
                append(lake, PAST_ROWS, _part(table, school_id), lake.table_state(PAST_ROWS), [mark], {}, {})
            # Last, so that a crash can double a mark but never lose one.
            until_committed(partial(_mark, lake, table))


def _mark(lake: Lake, table: Table) -> None:
    note(lake, PAST_ROWS, lake.table_state(PAST_ROWS), {_begun(table): 1})


def _begun(table: Table) -> str:
    """Name of the transaction that marks a table whose past rows are kept."""
    return f"begun/{table.name}"


def _latest_stamps(lake: Lake, table: Table, scratch: Path) -> list[tuple[int, datetime]]:
    """The latest stamp of each school's rows."""
    schema = pa.schema([(SCHOOL_ID.name, pa.int64()), (SYNCED_AT, TIMESTAMP)])
    with pooled(scratch) as con:
        view(con, "stored", lake.files(table), schema, hive=True)
        return con.execute(
            f"SELECT {SCHOOL_ID.name}, max({SYNCED_AT}) FROM stored GROUP BY ALL ORDER BY 1"
        ).fetchall()


def _part(table: Table, school_id: int) -> Slice:
    return Slice.of(resource=table.name, _school_id=school_id)


def _replaced(
    con: duckdb.DuckDBPyConnection, table: Table, files: Mapping[str, Sequence[str]], values: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    names = [*table.row_schema.names, *(column.name for column in BOOKKEEPING if column.name != "_extra")]
    texts = ", ".join(f"{quoted(name)} := CAST(previous.{quoted(name)} AS VARCHAR)" for name in names)
    keys = listed(table.primary_key)
    matched = " AND ".join(f"now.{quoted(key)} = previous.{quoted(key)}" for key in table.primary_key)
    for within, bounds in key_ranges(con, files, table.primary_key[0]):
        yield from con.sql(
            f"""
            SELECT
                $slice AS slice,
                CAST(to_json(struct_pack({texts})) AS VARCHAR) AS row,
                previous.{SYNCED_AT} AS known_from,
                $started_at AS known_to
            FROM (FROM previous WHERE {within} AND {SYNCED_AT} < $started_at) AS previous
            INNER JOIN (
                SELECT {keys} FROM merged WHERE {within} AND {SYNCED_AT} = $started_at
            ) AS now ON {matched}
            """,
            params=values | bounds,
        ).to_arrow_reader(BATCH_ROWS)
