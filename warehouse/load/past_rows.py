"""Rows as they were before a sync found them otherwise: with the present ones, what was known on a day.

They are appended before the data commit that replaces them, so that a crash loses none. Where that commit
then fails, what it would have replaced is told twice, and whoever reads takes it once. A row without a past,
and a night without changes, write nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.identifiers import listed, literal, quoted
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.log_tables import PAST_ROWS
from warehouse.lake.sql import BATCH_ROWS, key_ranges, pooled, show_files, view
from warehouse.lake.tables import BOOKKEEPING, SCHOOL_ID, SYNCED_AT, TIMESTAMP, Slice, Table, file_schema
from warehouse.load.delta_commit import append, note

#: Fates of rows that were held and are otherwise now.
REPLACED = ("changed", "returned", "deleted", "vanished")


def keep(
    lake: Lake, table: Table, slice: Slice, held: Sequence[str], merged: Sequence[Path], scratch: Path
) -> None:
    """Keep the rows of a slice that a commit is about to replace. `held`: the slice's files; `merged`: those
    that `merge.merge` wrote."""
    with pooled(scratch) as con:
        files = {"held": held, "merged": [str(path) for path in merged]}
        view(con, "held", held, file_schema(table))
        show_files(con, "merged", files["merged"])
        rows = _stamped(_replaced(con, table, files), str(slice))
        append(lake, PAST_ROWS, _part(table, slice.school_id), lake.tip(PAST_ROWS), rows, {}, {})


def begin(lake: Lake, tables: Iterable[Table], scratch: Path) -> None:
    """Write down since when the past is whole, of tables that held rows before it was kept. Once a table, and
    before any commit by a version that keeps it.

    Every change of a row stamps it, so the latest stamp of a school's rows is when they became as they
    are."""
    lake.create(PAST_ROWS)
    tip = lake.tip(PAST_ROWS)
    for table in tables:
        if table.keeps_past and tip.transactions.get(_begun(table)) is None:
            for school_id, latest in _latest_stamps(lake, table, scratch) if lake.holds(table) else ():
                row = {"slice": None, "row": None, "known_from": latest, "known_to": None}
                mark = pa.RecordBatch.from_pylist([row], schema=file_schema(PAST_ROWS))
                append(lake, PAST_ROWS, _part(table, school_id), lake.tip(PAST_ROWS), [mark], {}, {})
            # Last, so that a crash has a mark twice, and none is lacking.
            until_committed(partial(_mark, lake, table))


def _mark(lake: Lake, table: Table) -> None:
    note(lake, PAST_ROWS, lake.tip(PAST_ROWS), {_begun(table): 1})


def _begun(table: Table) -> str:
    """Name of the transaction that says that the past of a table is kept."""
    return f"begun/{table.name}"


def _latest_stamps(lake: Lake, table: Table, scratch: Path) -> list[tuple[int, datetime]]:
    """When a school's rows became as they are."""
    schema = pa.schema([(SCHOOL_ID.name, pa.int64()), (SYNCED_AT, TIMESTAMP)])
    with pooled(scratch) as con:
        view(con, "held", lake.files(table), schema, hive=True)
        return con.execute(
            f"SELECT {SCHOOL_ID.name}, max({SYNCED_AT}) FROM held GROUP BY ALL ORDER BY 1"
        ).fetchall()


def _part(table: Table, school_id: int) -> Slice:
    return Slice.of(resource=table.name, _school_id=school_id)


def _replaced(
    con: duckdb.DuckDBPyConnection, table: Table, files: Mapping[str, Sequence[str]]
) -> Iterator[pa.RecordBatch]:
    names = [*table.row_schema.names, *(column.name for column in BOOKKEEPING if column.name != "_extra")]
    texts = ", ".join(f"{quoted(name)} := CAST(held.{quoted(name)} AS VARCHAR)" for name in names)
    keys = listed(table.primary_key)
    matched = " AND ".join(f"found.{quoted(key)} = {_held(table, key)}" for key in table.primary_key)
    fates = ", ".join(map(literal, REPLACED))
    for within, bounds in key_ranges(con, files, table.primary_key[0]):
        yield from con.sql(
            f"""
            SELECT
                CAST(to_json(struct_pack({texts})) AS VARCHAR) AS row,
                held.{SYNCED_AT} AS known_from,
                found.{SYNCED_AT} AS known_to
            FROM (FROM held WHERE {within}) AS held
            INNER JOIN (
                SELECT {keys}, {SYNCED_AT} FROM merged WHERE {within} AND _fate IN ({fates})
            ) AS found ON {matched}
            WHERE found.{SYNCED_AT} > held.{SYNCED_AT}
            """,
            params=bounds,
        ).to_arrow_reader(BATCH_ROWS)


def _held(table: Table, key: str) -> str:
    """A part of the key of a row that is held, which may be from before rows were numbered."""
    return f"coalesce(held.{quoted(key)}, 1)" if key == table.numbered else f"held.{quoted(key)}"


def _stamped(batches: Iterable[pa.RecordBatch], slice: str) -> Iterator[pa.RecordBatch]:
    schema = file_schema(PAST_ROWS)
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["slice"] = pa.repeat(slice, batch.num_rows)
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
