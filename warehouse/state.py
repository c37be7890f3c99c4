"""What a reading must know of the rows that are held, before it asks only for what changed since."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from warehouse.lake import Lake
from warehouse.sql import connect, listed, quoted, view
from warehouse.tables import DELETED_AT, TIMESTAMP, Slice, Table

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
