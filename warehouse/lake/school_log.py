"""What the warehouse notes of one school, such as its plans: rows of a log, read and replaced together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from warehouse.lake.delta import scan
from warehouse.lake.log_tables import Log
from warehouse.lake.tables import SCHOOL_ID


def rows_of_school(log: Log, opened: DeltaTable, school_id: int | None = None) -> list[dict[str, Any]]:
    """The rows of one school, or of all."""
    found: list[dict[str, Any]] = scan(log, opened, log.lake_schema.names, _mine(school_id)).to_pylist()
    return found


def replace_school(log: Log, opened: DeltaTable, school_id: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make `rows` all that the log has of a school.

    Raises CommitFailedError where somebody else replaced them since the log was opened."""
    named = [{**row, SCHOOL_ID.name: school_id} for row in rows]
    data = pa.Table.from_pylist(named, schema=log.lake_schema)
    write_deltalake(opened, data, mode="overwrite", predicate=_mine(school_id))


def _mine(school_id: int | None) -> str:
    return "" if school_id is None else f"{SCHOOL_ID.name} = {school_id}"
