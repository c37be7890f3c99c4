"""Rows of a dataset put where they belong, after its key came to be of another type or its ids to be cut into
segments: the platform means what it meant, and only our reading of it is another one.

No row is lost, none is reported as deleted, and all of them stay published meanwhile: it is one commit.
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
    """Names rows that have no key, batch after batch."""

    def column(self, batch: pa.RecordBatch) -> Any:
        """`_row` of each row. The batch has the wanted columns but for that one, and `_extra`."""
        ...


def rekey(
    lake: Lake,
    wanted: Table,
    school_id: int,
    width: int | None,
    row_names: Callable[[], RowNames],
    scratch: Path,
) -> set[int]:
    """Give a school's rows of a dataset the key that `wanted` has, and move them to the segments of `width`
    ids (None: to the only one). The segments that hold rows by now.

    A row whose key is no value of the new type stays as it is. Where all is in its place, nothing is
    written. Raises deltalake's and DuckDB's errors."""
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
    held = stored_columns(wanted, opened)
    table = replace(wanted, columns=tuple(each.column for each in held))
    with tempfile.TemporaryDirectory(dir=scratch) as folder, pooled(Path(folder)) as con:
        view(con, "held", files, table.lake_schema, hive=True)
        keyed = wanted.primary_key != (ROW_KEY.name,)
        if keyed:
            _show_keyed(con, wanted, opened, width)
        else:
            _show_named(con, wanted, opened, row_names(), Path(folder))
        [(moved,)] = con.execute("SELECT count(*) FROM placed WHERE _moves").fetchall()
        found = con.execute("SELECT DISTINCT _place FROM placed ORDER BY ALL").fetchall()
        segments = [int(segment) for (segment,) in found]
        if moved:
            slices = [Slice.of(_school_id=school_id, _segment=segment) for segment in segments]
            parts = ((slice, _rows(con, table, slice)) for slice in slices)
            rearrange(lake, table, lake.table_state_of(table, opened), _slices(opened, school_id), parts)
    return set(segments)


def _show_keyed(con: duckdb.DuckDBPyConnection, wanted: Table, opened: DeltaTable, width: int | None) -> None:
    """The view `placed`: rows with their key in the columns that `wanted` has for it, `_place`, the segment
    that they belong to, and whether that is anything new."""
    placement = place(wanted, stored_columns(wanted, opened))
    types = {name: type for name, type, *_ in con.execute("DESCRIBE held").fetchall()}
    replaced, unkeyed = [], []
    for key in wanted.primary_key:
        own = quoted(placement.names[key])
        older = [each.column for each in placement.superseded if folded(each.field) == folded(key)]
        casts = [_exactly(quoted(each.name), types[each.name], types[placement.names[key]]) for each in older]
        value = f"coalesce({', '.join([own, *casts])})"
        replaced.append(f"{value} AS {own}")
        # Of what moves to the new column nothing stays in the old ones.
        replaced += [
            f"CASE WHEN {value} IS NULL THEN {quoted(e.name)} END AS {quoted(e.name)}" for e in older
        ]
        unkeyed.append(f"({own} IS NULL AND {value} IS NOT NULL)")
    ordered = listed([placement.names[key] for key in wanted.primary_key])
    [first, *_] = [quoted(placement.names[key]) for key in wanted.primary_key]
    con.execute(f"""
        CREATE TEMP VIEW keyed AS
        SELECT * REPLACE ({", ".join(replaced)}), {" OR ".join(unkeyed)} AS _rekeyed FROM held
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
    """A value in the newer type where it is the same there and back, else null."""
    cast = f"TRY_CAST({value} AS {newer})"
    return f"CASE WHEN TRY_CAST({cast} AS {type}) = {value} THEN {cast} END"


def _show_named(
    con: duckdb.DuckDBPyConnection, wanted: Table, opened: DeltaTable, row_names: RowNames, folder: Path
) -> None:
    """The view `placed` of rows without a key. They are known by what they hold, as it is typed now."""
    placement = place(wanted, stored_columns(wanted, opened))
    types = {name: type for name, type, *_ in con.execute("DESCRIBE held").fetchall()}
    columns = [column for column in wanted.columns if column.name != ROW_KEY.name]
    typed = []
    for column in columns:
        own = placement.names[column.name]
        older = [each.column for each in placement.superseded if folded(each.field) == folded(column.name)]
        casts = [f"TRY_CAST({quoted(each.name)} AS {types[own]})" for each in older]
        typed.append(f"coalesce({', '.join([quoted(own), *casts])}) AS {quoted(column.name)}")
    schema = pa.schema(
        [*(pa.field(column.name, column.type) for column in columns), pa.field(EXTRA, pa.string())]
    )
    row = quoted(ROW_KEY.name)
    alive = con.sql(f"SELECT {', '.join([*typed, EXTRA])}, {row} FROM held WHERE {DELETED_AT} IS NULL")
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
            held.* REPLACE (coalesce(named.new, held.{row}) AS {row}),
            0::BIGINT AS _place,
            coalesce(named.new <> held.{row}, false) OR held.{SEGMENT} <> 0 AS _moves,
            row({row}) AS _order
        FROM held LEFT JOIN named ON named.old = held.{row} AND held.{DELETED_AT} IS NULL
    """)


def _rows(con: duckdb.DuckDBPyConnection, table: Table, slice: Slice) -> Iterator[pa.RecordBatch]:
    """The rows of a segment as they belong there, in the order of their keys."""
    schema = file_schema(table)
    segment = dict(slice.values)[SEGMENT]
    rows = con.sql(f"SELECT {listed(schema.names)} FROM placed WHERE _place = {segment} ORDER BY _order")
    for batch in rows.to_arrow_reader(BATCH_ROWS):
        yield batch.cast(schema)


def _slices(opened: DeltaTable, school_id: int) -> list[Slice]:
    """The slices that a school has files of."""
    found = opened.partitions(file_pruning_predicate=f"{SCHOOL_ID.name} = {school_id}")
    return [Slice.of(_school_id=school_id, _segment=int(each[SEGMENT])) for each in found]
