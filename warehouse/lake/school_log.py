"""What the warehouse notes of one school, such as its plans: rows of a log, read and replaced together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import Log
from warehouse.lake.tables import SCHOOL_ID, is_of, of_schools


def rows_of_school(lake: Lake, log: Log, opened: DeltaTable, school_id: int) -> list[dict[str, Any]]:
    """The rows of one school."""
    return list(lake.scan(log, opened, log.lake_schema.names, is_of([school_id])).to_pylist())


def replace_school(log: Log, opened: DeltaTable, school_id: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make `rows` all that the log has of a school.

    Raises CommitFailedError where somebody else replaced them since the log was opened."""
    named = [{**row, SCHOOL_ID.name: school_id} for row in rows]
    data = pa.Table.from_pylist(named, schema=log.lake_schema)
    write_deltalake(opened, data, mode="overwrite", predicate=of_schools([school_id]))
