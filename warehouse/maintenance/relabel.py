"""Labels of slices that an earlier version wrote into the warehouse's own tables, as `101|20`."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc

from warehouse.identifiers import literal
from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.log_tables import LOAD_LOG, LOGS, Log
from warehouse.lake.tables import OLD_SEPARATOR, SEPARATOR

_OLD = f"slice LIKE '%{OLD_SEPARATOR}%'"


def relabel(lake: Lake) -> None:
    """Write labels of slices as `101:20` in all logs: what a load looks up by its slice, it then finds.

    Idempotent. Cheap where nothing is due: one column of the load log, whose labels come last, is read."""
    is_old = pc.match_substring(pc.field("slice"), OLD_SEPARATOR)
    if not lake.scan(LOAD_LOG, lake.open(LOAD_LOG), ["slice"], is_old).num_rows:
        return
    labelled = [log for log in LOGS if "slice" in log.lake_schema.names and lake.holds(log)]
    for log in sorted(labelled, key=lambda log: log is LOAD_LOG):
        until_committed(partial(_relabel, lake, log))


def _relabel(lake: Lake, log: Log) -> None:
    lake.open(log).update(
        updates={"slice": f"replace(slice, {literal(OLD_SEPARATOR)}, {literal(SEPARATOR)})"}, predicate=_OLD
    )
