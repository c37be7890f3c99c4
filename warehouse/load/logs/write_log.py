"""The record of writes in the lake, appended month by month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import MONTH, WRITES

#: The operations that bind and unbind the rows of a resource, as the column `operation` names them.
BINDING_OPERATIONS = {"cards": ("bind_card", "unbind_card"), "devices": ("bind_device", "unbind_device")}


def append_writes(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows of WRITES, except those whose `write_id` is stored. Raises deltalake's errors."""
    lake.create(WRITES)
    filed = [{**row, MONTH: f"{row['asked_at']:%Y-%m}"} for row in rows]
    until_committed(partial(_append, lake, filed))


def _append(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> None:
    opened = lake.open(WRITES)
    months = sorted({row[MONTH] for row in rows})
    stored = lake.scan(WRITES, opened, ["write_id"], pc.field(MONTH).isin(pa.array(months, pa.string())))
    stored_ids = set(stored["write_id"].to_pylist())
    new = [row for row in rows if row["write_id"] not in stored_ids]
    if new:
        write_deltalake(opened, pa.Table.from_pylist(new, schema=WRITES.lake_schema), mode="append")


def bound_ids(lake: Lake, resource: str, school_id: int) -> list[str]:
    """The cards or devices of a school that were bound last, and not unbound since.

    The platform lists neither.

    Args:
        resource: cards or devices."""
    if not lake.holds(WRITES):
        return []
    bind, unbind = BINDING_OPERATIONS[resource]
    columns = ["_school_id", "operation", "target", "outcome", "asked_at"]
    rows = lake.read(WRITES, columns=columns).sort_by("asked_at").to_pylist()
    last = {
        row["target"]: row["operation"]
        for row in rows
        if row["_school_id"] == school_id
        and row["operation"] in (bind, unbind)
        and row["outcome"] in ("done", "found")
    }
    return [id for id, operation in last.items() if operation == bind]
