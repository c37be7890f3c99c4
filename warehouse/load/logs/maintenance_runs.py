"""Records and reads the runs of the lake's maintenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import LOAD_LOG, MAINTENANCE_RUNS
from warehouse.lake.tables import PLATFORM_ZONE

#: The longest time without maintenance that is no problem: the nights run it.
OVERDUE = timedelta(days=7)


def record_maintenance(lake: Lake, run: Mapping[str, Any]) -> None:
    """Append a run. Columns that `run` lacks are null. Raises deltalake's errors."""
    lake.create(MAINTENANCE_RUNS)
    rows = pa.Table.from_pylist([dict(run)], schema=MAINTENANCE_RUNS.lake_schema)
    until_committed(lambda: write_deltalake(lake.open(MAINTENANCE_RUNS), rows, mode="append"))


def maintenance_runs(lake: Lake) -> list[dict[str, Any]]:
    """The runs, the oldest first; empty: the maintenance has never run."""
    if not lake.holds(MAINTENANCE_RUNS):
        return []
    runs: list[dict[str, Any]] = lake.read(MAINTENANCE_RUNS).sort_by("started_at").to_pylist()
    return runs


def unmaintained_since(lake: Lake, runs: Sequence[Mapping[str, Any]]) -> datetime | None:
    """When the last of all `runs` began, or the lake was made if there was none; None: there is no lake."""
    if runs:
        began: datetime = runs[-1]["started_at"]
        return began
    if not lake.holds(LOAD_LOG):
        return None
    made_at = lake.open(LOAD_LOG).metadata().created_time / 1000
    return datetime.fromtimestamp(made_at, PLATFORM_ZONE).replace(tzinfo=None)
