"""What was written to the platform, in the lake: appended month by month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from warehouse.identifiers import literal
from warehouse.lake.delta import Lake, scan, until_committed
from warehouse.lake.log_tables import MONTH, WRITES


def append_writes(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows of WRITES, without those that are there by their `write_id`. Raises deltalake's errors."""
    lake.create(WRITES)
    filed = [{**row, MONTH: f"{row['asked_at']:%Y-%m}"} for row in rows]
    until_committed(partial(_append, lake, filed))


def _append(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> None:
    opened = lake.open(WRITES)
    months = ", ".join(sorted({literal(row[MONTH]) for row in rows}))
    held = scan(WRITES, opened, ["write_id"], f"{MONTH} IN ({months})")
    known = set(held["write_id"].to_pylist())
    new = [row for row in rows if row["write_id"] not in known]
    if new:
        write_deltalake(opened, pa.Table.from_pylist(new, schema=WRITES.lake_schema), mode="append")
