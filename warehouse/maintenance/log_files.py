"""Logs that an earlier version filed otherwise: a file a slice, and labels of slices as `101|20`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, held_schema, until_committed
from warehouse.lake.log_tables import (
    DIFFERENCES,
    LOAD_LOG,
    MONTH,
    QUARANTINE,
    RECONCILIATION,
    STANDINGS,
    Log,
)
from warehouse.load.log_writer import standings_by_log
from warehouse.maintenance.relabel import relabel


def refile(lake: Lake) -> None:
    """File the logs of an earlier version as this one does, and keep the standings that follow from them.

    Before `ensure`. Idempotent, and cheap where nothing is due: the load log comes last and is looked at
    first."""
    if not lake.holds(LOAD_LOG) or _is_filed(lake, LOAD_LOG):
        return
    relabel(lake)
    for log in (QUARANTINE, DIFFERENCES, RECONCILIATION):
        if lake.holds(log):
            until_committed(partial(_refile, lake, log))
    lake.create(STANDINGS)
    until_committed(partial(_settle, lake))
    until_committed(partial(_refile, lake, LOAD_LOG))


def _is_filed(lake: Lake, log: Log) -> bool:
    return tuple(lake.open(log).metadata().partition_columns) == log.slice_columns


def _settle(lake: Lake) -> None:
    rows = pa.Table.from_pylist(standings_by_log(lake), schema=STANDINGS.lake_schema)
    write_deltalake(lake.open(STANDINGS), rows, mode="overwrite")


def _refile(lake: Lake, log: Log) -> None:
    """Put all rows where they belong, in one commit."""
    if _is_filed(lake, log):
        return
    opened = lake.open(log)
    known = [name for name in log.row_schema.names if name in held_schema(opened).names]
    rows = lake.scan(log, opened, known)
    for field in log.lake_schema:
        if field.name == MONTH:
            rows = rows.append_column(field, pc.strftime(rows["finished_at"], "%Y-%m"))
        elif field.name not in known:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    write_deltalake(
        opened,
        rows.select(log.lake_schema.names).cast(log.lake_schema),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=list(log.slice_columns),
    )
