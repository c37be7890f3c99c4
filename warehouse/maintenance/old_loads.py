"""Deletes old rows of the load log whose loads changed nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.identifiers import literal
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.batch import Row
from warehouse.lake.logs.tables import LOAD_LOG, MONTH
from warehouse.lake.tables import Table
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import standing_rows

#: A load changed rows if any of these columns is above zero.
CHANGES = ("new", "changed", "vanished", "returned")


def forget_loads(lake: Lake, tables: Iterable[Table], keep: timedelta) -> int:
    """Delete the rows of the load log from months that ended longer ago than `keep`; returns their number.

    Rows stay for a slice's last attempt and last complete load, and for loads in the change log, which is
    kept for ever. Cheap if nothing is due."""
    if not lake.holds(LOAD_LOG):
        return 0
    logged = {table.name for table in tables if table.tracks_changes}
    first = f"{now() - keep:%Y-%m}"
    months = [partition[MONTH] for partition in lake.open(LOAD_LOG).partitions()]
    old = sorted(month for month in months if month < first)
    last = {(row["resource"], row["slice"]): row for row in standing_rows(lake)} if old else {}
    return sum(until_committed(partial(_forget, lake, logged, last, month)) for month in old)


def _forget(lake: Lake, logged: Collection[str], last: Mapping[tuple[str, str], Row], month: str) -> int:
    """Delete the rows of a month that are no longer needed; returns their number."""
    opened = lake.open(LOAD_LOG)
    columns = LOAD_LOG.lake_schema.names
    rows: list[Row] = lake.scan(LOAD_LOG, opened, columns, pc.field(MONTH) == month).to_pylist()
    needed = [
        row
        for row in rows
        if _stands(row, last.get((row["resource"], row["slice"])))
        or (row["resource"] in logged and any(row[name] for name in CHANGES))
    ]
    if len(needed) < len(rows):
        write_deltalake(
            opened,
            pa.Table.from_pylist(needed, schema=LOAD_LOG.lake_schema),
            mode="overwrite",
            predicate=f"{MONTH} = {literal(month)}",
        )
    return len(rows) - len(needed)


def _stands(row: Row, standing: Row | None) -> bool:
    return standing is not None and (
        row["finished_at"] == standing["finished_at"] or row["started_at"] == standing["complete_at"]
    )
