"""Maintains the lake: compacts the logs' small files, and deletes files that are no longer needed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import obstore

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import LOGS, MAINTENANCE_RUNS, STANDINGS, Log
from warehouse.lake.tables import Slice, Stored, Table
from warehouse.load.history.change_log import record_all_changes
from warehouse.load.logs.dataset_plans import DATASET_PLANS
from warehouse.load.logs.week_evidence import WEEK_SIGHTINGS
from warehouse.maintenance.old_loads import forget_loads

#: How long a replaced file stays: a build, or a change log that is due, may still read it.
RETENTION = timedelta(days=7)
#: The warehouse's own tables in the lake.
STORED_LOGS: tuple[Log, ...] = (*LOGS, STANDINGS, DATASET_PLANS, WEEK_SIGHTINGS, MAINTENANCE_RUNS)


@dataclass(frozen=True)
class Removed:
    """What a maintenance deleted."""

    files: int
    #: The size of the files.
    bytes: int
    #: Rows of the load log.
    loads: int


def maintain(
    lake: Lake,
    tables: Iterable[Table],
    scratch: Path,
    retention: timedelta = RETENTION,
    *,
    keep_loads: timedelta | None = None,
) -> Removed:
    """Compact the logs and delete files that no version of the last `retention` needs.

    Also deletes rows of the load log older than `keep_loads` (None: keeps all), and unfinished files older
    than `retention` in `scratch` and in the lake, which crashes left. May run beside syncs; `retention` must
    be longer than any build or sync takes. Returns what it deleted.
    """
    tables = tuple(tables)
    for table in tables:
        if table.tracks_changes:
            # Changes that a crash left unlogged are read from old files, so they are logged first.
            record_all_changes(lake, table, _slices(lake, table), scratch)
    loads = 0 if keep_loads is None else forget_loads(lake, tables, keep_loads)
    logs = [log for log in STORED_LOGS if lake.holds(log)]
    for log in logs:
        until_committed(partial(_compact, lake, log))
    everything: tuple[Stored, ...] = (*tables, *logs)
    sizes = [size for stored in everything for size in _vacuumed(lake, stored, retention)]
    for left in [*_half_written(lake, everything), *(scratch.iterdir() if scratch.exists() else ())]:
        if time.time() - left.stat().st_mtime > retention.total_seconds():
            sizes += [path.stat().st_size for path in (left, *left.rglob("*")) if path.is_file()]
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return Removed(len(sizes), sum(sizes), loads)


def _vacuumed(lake: Lake, stored: Stored, retention: timedelta) -> list[int]:
    """Delete the files of a table that no version of the last `retention` needs; returns their sizes."""
    listing = chain.from_iterable(obstore.list(lake.objects, prefix=f"{stored.folder}/"))
    sizes = {entry["path"].removeprefix(f"{stored.folder}/"): entry["size"] for entry in listing}
    deleted = lake.open(stored).vacuum(
        retention_hours=int(retention / timedelta(hours=1)),
        dry_run=False,
        enforce_retention_duration=False,
        full=True,
    )
    return [sizes.get(path, 0) for path in deleted]


def _half_written(lake: Lake, tables: Iterable[Stored]) -> Iterator[Path]:
    """Unfinished files on a disk. delta-rs writes them under names such as part-1.parquet#1, which its vacuum
    does not list. An object store has none."""
    for table in () if lake.is_remote else tables:
        for ending in ("parquet", "json"):
            yield from Path(lake.uri(table)).rglob(f"*.{ending}#[0-9]*")


def _compact(lake: Lake, log: Stored) -> dict[str, Any]:
    return lake.open(log).optimize.compact()


def _slices(lake: Lake, table: Table) -> list[Slice]:
    partitions = lake.open(table).partitions()
    return [
        Slice.of(**{name: int(partition[name]) for name in table.slice_columns}) for partition in partitions
    ]
