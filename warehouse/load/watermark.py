"""What a reading must know of the rows that are held, before it asks only for what changed since."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from warehouse.identifiers import listed, quoted
from warehouse.lake.delta import Lake, scan
from warehouse.lake.sql import connect, view
from warehouse.lake.tables import DELETED_AT, EXTRA, SCHOOL_ID, TIMESTAMP, Slice, Table

#: No column has this name, so it is read as null.
NO_COLUMN = "no column"


@dataclass(frozen=True)
class Held:
    """The rows of a slice that are alive: how many, the latest update of any, and how many have no update."""

    alive: int = 0
    latest: datetime | None = None
    undated: int = 0


def held(
    lake: Lake, table: Table, slices: Sequence[Slice], updated_at: str | None, scratch: Path
) -> dict[Slice, Held]:
    """What `table` holds of each of `slices`, in one scan of their files and two of their columns.

    `updated_at` names the column of the lake that a row's last update is in; without it all are undated.
    """
    opened = lake.open(table)
    files = [file for slice in slices for file in lake.files_of(table, opened, slice)]
    parts = [pa.field(name, pa.int64()) for name in table.slice_columns]
    schema = pa.schema(
        [*parts, pa.field(DELETED_AT, TIMESTAMP), pa.field(updated_at or NO_COLUMN, TIMESTAMP)]
    )
    mark = quoted(schema.names[-1])
    with closing(connect(scratch=scratch)) as con:
        view(con, "rows", files, schema, hive=True)
        found = con.execute(f"""
            SELECT {listed(table.slice_columns)}, count(*), max({mark}), count(*) - count({mark})
            FROM rows
            WHERE {DELETED_AT} IS NULL
            GROUP BY ALL
        """).fetchall()
    width = len(table.slice_columns)
    counted = {
        Slice.of(**dict(zip(table.slice_columns, row[:width], strict=True))): Held(*row[width:])
        for row in found
    }
    return {slice: counted.get(slice, Held()) for slice in slices}


def kept_beside(lake: Lake, table: Table, school_id: int) -> list[str]:
    """What the platform sent and no column of the table holds, of one school: a JSON object a row."""
    mine = f"{SCHOOL_ID.name} = {school_id} AND {EXTRA} IS NOT NULL"
    rows = scan(table, lake.open(table), [EXTRA], mine).to_pylist() if lake.holds(table) else []
    return [row[EXTRA] for row in rows]


def count_new(lake: Lake, table: Table, slice: Slice, spool: Path, scratch: Path) -> int:
    """How many of the keys in a finished spool no row of the slice has that is alive."""
    keys = listed(table.primary_key)
    key = [table.row_schema.field(name) for name in table.primary_key]
    schema = pa.schema([*key, pa.field(DELETED_AT, TIMESTAMP)])
    with closing(connect(scratch=scratch)) as con:
        view(con, "rows", lake.files(table, slice), schema)
        con.read_parquet(str(spool)).create_view("read")
        [(new,)] = con.execute(f"""
            SELECT count(*)
            FROM (SELECT DISTINCT {keys} FROM read) AS received
            ANTI JOIN (SELECT {keys} FROM rows WHERE {DELETED_AT} IS NULL) AS alive USING ({keys})
        """).fetchall()
    return int(new)
