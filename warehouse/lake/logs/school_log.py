"""Read and replace a school's rows of a log, such as its plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import Log
from warehouse.lake.tables import SCHOOL_ID, school_condition, school_filter


def rows_of_school(lake: Lake, log: Log, opened: DeltaTable, school_id: int) -> list[dict[str, Any]]:
    """The log's rows of a school."""
    return list(lake.scan(log, opened, log.lake_schema.names, school_filter([school_id])).to_pylist())


def replace_school(log: Log, opened: DeltaTable, school_id: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace the log's rows of a school by `rows`.

    Raises CommitFailedError if another process replaced them since the log was opened."""
    named = [{**row, SCHOOL_ID.name: school_id} for row in rows]
    data = pa.Table.from_pylist(named, schema=log.lake_schema)
    write_deltalake(opened, data, mode="overwrite", predicate=school_condition([school_id]))
