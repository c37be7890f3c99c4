"""Moves the stored rows of a dataset to a new key or new segments.

Needed when the key gets another type, or when ids are cut into other segments. All rows move in one commit,
so none is lost or reported as deleted, and all stay published meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from warehouse.identifiers import folded, listed, quoted
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.sql import BATCH_ROWS, pooled, view
from warehouse.lake.tables import DELETED_AT, EXTRA, ROW_KEY, SCHOOL_ID, SEGMENT, Slice, Table, file_schema
from warehouse.load.delta_commit import rearrange
from warehouse.load.schema_evolution import evolve, place, stored_columns


class RowNames(Protocol):
    """Gives rows without a key their `_row`, batch after batch."""

    def column(self, batch: pa.RecordBatch) -> Any:
        """The `_row` of each row. `batch`: the table's columns without `_row`, and `_extra`."""
        ...


def rekey(
    lake: Lake,
    wanted: Table,
    school_id: int,
    width: int | None,
    row_names: Callable[[], RowNames],
    scratch: Path,
) -> set[int]:
    """Give a school's rows of a dataset the key of `wanted`, and move them to segments of `width` ids (None:
    a single segment). Returns the segments that have rows then.

    A row whose key has no value of the new type stays as it is. If no row moves, nothing is written. Raises
    deltalake's and DuckDB's errors."""
    evolve(lake, wanted)
    scratch.mkdir(parents=True, exist_ok=True)
    return until_committed(partial(_rekey, lake, wanted, school_id, width, row_names, scratch))


def _rekey(
    lake: Lake,
    wanted: Table,
    school_id: int,
    width: int | None,
    row_names: Callable[[], RowNames],
    scratch: Path,
) -> set[int]:
    opened = lake.open(wanted)
    files = lake.files_of(wanted, opened, Slice.of(_school_id=school_id))
    if not files:
        return set()
    table = replace(wanted, columns=tuple(stored.column for stored in stored_columns(wanted, opened)))
    with tempfile.TemporaryDirectory(dir=scratch) as folder, pooled(Path(folder)) as con:
        view(con, "stored", files, table.lake_schema, hive=True)
        keyed = wanted.primary_key != (ROW_KEY.name,)
        if keyed:
            _show_keyed(con, wanted, opened, width)
        else:
            _show_named(con, wanted, opened, row_names(), Path(folder))
        [(moved,)] = con.execute("SELECT count(*) FROM placed WHERE _moves").fetchall()
        places = con.execute("SELECT DISTINCT _place FROM placed ORDER BY ALL").fetchall()
        segments = [int(segment) for (segment,) in places]
        if moved:
            slices = [Slice.of(_school_id=school_id, _segment=segment) for segment in segments]
            parts = ((slice, _rows(con, table, slice)) for slice in slices)
            rearrange(lake, table, lake.table_state_of(table, opened), _slices(opened, school_id), parts)
    return set(segments)


def _show_keyed(con: duckdb.DuckDBPyConnection, wanted: Table, opened: DeltaTable, width: int | None) -> None:
    """Make the view `placed`: rows with their key in the columns of `wanted`, the segment that they belong to
    (`_place`), and whether they change (`_moves`)."""
    placement = place(wanted, stored_columns(wanted, opened))
    types = {name: type for name, type, *_ in con.execute("DESCRIBE stored").fetchall()}
    replaced, unkeyed = [], []
    for key in wanted.primary_key:
        own = quoted(placement.names[key])
        older = [old.column.name for old in placement.superseded if folded(old.field) == folded(key)]
        casts = [_exactly(quoted(name), types[name], types[placement.names[key]]) for name in older]
        value = f"coalesce({', '.join([own, *casts])})"
        replaced.append(f"{value} AS {own}")
        # Values that move to the new column are removed from the old columns.
        replaced += [f"CASE WHEN {value} IS NULL THEN {quoted(name)} END AS {quoted(name)}" for name in older]
        unkeyed.append(f"({own} IS NULL AND {value} IS NOT NULL)")
    ordered = listed([placement.names[key] for key in wanted.primary_key])
    [first, *_] = [quoted(placement.names[key]) for key in wanted.primary_key]
    con.execute(f"""
        CREATE TEMP VIEW keyed AS
        SELECT * REPLACE ({", ".join(replaced)}), {" OR ".join(unkeyed)} AS _rekeyed FROM stored
    """)
    segment = f"({first} - (({first} % {width}) + {width}) % {width}) // {width}" if width else "0"
    con.execute(f"""
        CREATE TEMP VIEW placed AS
        SELECT
            * EXCLUDE (_rekeyed),
            CASE WHEN {first} IS NULL THEN {SEGMENT} ELSE {segment} END AS _place,
            _rekeyed OR _place <> {SEGMENT} AS _moves,
            row({ordered}) AS _order
        FROM keyed
    """)


def _exactly(value: str, type: str, newer: str) -> str:
    """SQL for a value cast to the newer type; null if the cast and back would change it."""
    cast = f"TRY_CAST({value} AS {newer})"
    return f"CASE WHEN TRY_CAST({cast} AS {type}) = {value} THEN {cast} END"


def _show_named(
    con: duckdb.DuckDBPyConnection, wanted: Table, opened: DeltaTable, row_names: RowNames, folder: Path
) -> None:
    """Make the view `placed` for rows without a key: `_row` is derived from their values in the new types."""
    placement = place(wanted, stored_columns(wanted, opened))
    types = {name: type for name, type, *_ in con.execute("DESCRIBE stored").fetchall()}
    columns = [column for column in wanted.columns if column.name != ROW_KEY.name]
    typed = []
    for column in columns:
        own = placement.names[column.name]
        older = [old.column for old in placement.superseded if folded(old.field) == folded(column.name)]
        casts = [f"TRY_CAST({quoted(old.name)} AS {types[own]})" for old in older]
        typed.append(f"coalesce({', '.join([quoted(own), *casts])}) AS {quoted(column.name)}")
    schema = pa.schema(
        [*(pa.field(column.name, column.type) for column in columns), pa.field(EXTRA, pa.string())]
    )
    row = quoted(ROW_KEY.name)
    alive = con.sql(f"SELECT {', '.join([*typed, EXTRA])}, {row} FROM stored WHERE {DELETED_AT} IS NULL")
    names = pa.schema([("old", pa.string()), ("new", pa.string())])
    path = folder / "names.parquet"
    with pq.ParquetWriter(path, names) as writer:
        for batch in alive.to_arrow_reader(BATCH_ROWS):
            new = row_names.column(batch.select(schema.names).cast(schema))
            writer.write_batch(pa.RecordBatch.from_arrays([batch.column(ROW_KEY.name), new], schema=names))
    con.register("named", con.read_parquet(str(path)))
    con.execute(f"""
        CREATE TEMP VIEW placed AS
        SELECT
            stored.* REPLACE (coalesce(named.new, stored.{row}) AS {row}),
            0::BIGINT AS _place,
            coalesce(named.new <> stored.{row}, false) OR stored.{SEGMENT} <> 0 AS _moves,
            row({row}) AS _order
        FROM stored LEFT JOIN named ON named.old = stored.{row} AND stored.{DELETED_AT} IS NULL
    """)


def _rows(con: duckdb.DuckDBPyConnection, table: Table, slice: Slice) -> Iterator[pa.RecordBatch]:
    """The rows that belong in a segment, sorted by their keys."""
    schema = file_schema(table)
    segment = dict(slice.values)[SEGMENT]
    rows = con.sql(f"SELECT {listed(schema.names)} FROM placed WHERE _place = {segment} ORDER BY _order")
    for batch in rows.to_arrow_reader(BATCH_ROWS):
        yield batch.cast(schema)


def _slices(opened: DeltaTable, school_id: int) -> list[Slice]:
    """The slices of a school that have files."""
    partitions = opened.partitions(file_pruning_predicate=f"{SCHOOL_ID.name} = {school_id}")
    return [Slice.of(_school_id=school_id, _segment=int(partition[SEGMENT])) for partition in partitions]
