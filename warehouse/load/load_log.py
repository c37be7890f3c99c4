"""What the warehouse says of its own loads: the load log, quarantine, differences and reconciliation.

The load log is appended to; its row is a slice's last act, so a row with status ok means "all is in". The
others hold the present state of a slice and are replaced with it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from warehouse.identifiers import literal
from warehouse.lake.delta import Lake, scan, until_committed
from warehouse.lake.log_tables import DIFFERENCES, LOAD_LOG, QUARANTINE, RECONCILIATION, RETIRED, Log
from warehouse.lake.tables import PLATFORM_ZONE, Slice, Table
from warehouse.load.reading import BadRow, Drift, Reading

#: Drift that tells of values which no column holds.
UNREADABLE = "unreadable_value"
#: What makes two differences from the contract the same one.
DIFFERENCE = ("kind", "field", "value")


@dataclass(frozen=True)
class Standing:
    """How far a slice can be relied on. `complete_at`: start of the last load that provably missed nothing;
    `quarantined`: rows of it are in quarantine; `whole_at`: start of the last such load that read all of it,
    and not only what changed."""

    complete_at: datetime | None = None
    quarantined: bool = False
    whole_at: datetime | None = None


def now() -> datetime:
    """The platform's wall clock, without a zone."""
    return datetime.now(PLATFORM_ZONE).replace(tzinfo=None)


def record_load(lake: Lake, table: Table, slice: Slice, entry: Mapping[str, Any]) -> None:
    """Append a row to the load log; columns that `entry` leaves out are null."""
    row = {**_where(table, slice), "finished_at": now(), **entry}
    data = pa.Table.from_pylist([row], schema=LOAD_LOG.lake_schema)
    until_committed(lambda: write_deltalake(lake.open(LOAD_LOG), data, mode="append"))


def record_failure(
    lake: Lake, table: Table, slice: Slice, *, sync_id: str, run_id: str, started_at: datetime, message: str
) -> None:
    """Write down that a slice was not loaded; its rows stay as they were."""
    cause = {"sync_id": sync_id, "run_id": run_id, "started_at": started_at}
    record_load(lake, table, slice, {**cause, "status": "failed", "message": message, "complete": False})


def record_findings(lake: Lake, table: Table, slice: Slice, reading: Reading) -> None:
    """Replace the slice's quarantine, differences and reconciliation by what this reading found.

    What a reading in part did not meet again may still be there, so only a whole one clears it.
    """
    bad = [{**_bad(row), "sync_id": reading.sync_id} for row in reading.quarantined]
    measures = [
        {
            "measure": each.name,
            "expected": each.expected,
            "actual": each.actual,
            "agrees": each.expected == each.actual,
            "seen_at": reading.started_at,
        }
        for each in reading.measures
    ]
    seen = {"first_seen": reading.started_at, "last_seen": reading.started_at}
    found: Sequence[tuple[Log, list[dict[str, Any]], tuple[str, ...]]] = (
        (QUARANTINE, [{**row, **seen} for row in bad], ("key", "reason", "raw")),
        (DIFFERENCES, _drift(reading.drift, reading.started_at), DIFFERENCE),
        (RECONCILIATION, measures, ("measure",)),
    )
    for log, rows, identity in found:
        until_committed(partial(_replace, lake, log, table, slice, rows, identity, reading.whole))


def record_differences(
    lake: Lake, table: Table, school_id: int, drift: Sequence[Drift], seen_at: datetime
) -> None:
    """Replace the differences of a school's metadata, which stand beside its slices: no load clears them."""
    where, rows = Slice.of(_school_id=school_id), _drift(drift, seen_at)
    until_committed(partial(_replace, lake, DIFFERENCES, table, where, rows, DIFFERENCE, whole=True))


def quarantined(lake: Lake, table: Table, school_id: int) -> list[str]:
    """The rows of a table in quarantine, of one school, as JSON."""
    if not lake.holds(QUARANTINE):
        return []
    mine = f"resource = {literal(table.name)} AND _school_id = {school_id}"
    return [row["raw"] for row in scan(QUARANTINE, lake.open(QUARANTINE), ["raw"], mine).to_pylist()]


def unreadable_fields(lake: Lake, table: Table, school_id: int) -> set[str]:
    """The fields of a table with values, of one school, that their columns cannot hold."""
    if not lake.holds(DIFFERENCES):
        return set()
    mine = f"resource = {literal(table.name)} AND _school_id = {school_id} AND kind = {literal(UNREADABLE)}"
    return {row["field"] for row in scan(DIFFERENCES, lake.open(DIFFERENCES), ["field"], mine).to_pylist()}


def standings(lake: Lake, school_id: int) -> dict[str, dict[str, Standing]]:
    """How far each slice of a school that was ever loaded can be relied on, by table and slice (as text)."""
    mine = f"_school_id = {school_id}"
    loads = _complete_loads(lake, mine)
    complete_at = {
        (row["resource"], row["slice"]): row["started_at_last"]
        for row in _last(loads)
        if row["status_last"] != RETIRED
    }
    whole_at = {
        (row["resource"], row["slice"]): row["started_at_last"]
        for row in _last(loads.filter(pc.field("whole")))
    }
    held_back = scan(QUARANTINE, lake.open(QUARANTINE), ["resource", "slice"], mine)
    bad = {(row["resource"], row["slice"]) for row in held_back.to_pylist()}
    found: dict[str, dict[str, Standing]] = defaultdict(dict)
    for table, slice in complete_at.keys() | bad:
        known = complete_at.get((table, slice))
        last_whole = None if known is None else whole_at.get((table, slice))
        found[table][slice] = Standing(known, (table, slice) in bad, last_whole)
    return found


def held_back(lake: Lake, tables: Collection[str]) -> set[str]:
    """The slices (as text) of which one of these tables has rows in quarantine."""
    rows = scan(QUARANTINE, lake.open(QUARANTINE), ["resource", "slice"]).to_pylist()
    return {row["slice"] for row in rows if row["resource"] in tables}


def retired(lake: Lake, tables: Collection[str]) -> set[str]:
    """The slices (as text) of which one of these tables was emptied, as they were gone, and not loaded
    since."""
    return {
        row["slice"]
        for row in _last(_complete_loads(lake, "true"))
        if row["resource"] in tables and row["status_last"] == RETIRED
    }


def _complete_loads(lake: Lake, condition: str) -> pa.Table:
    """The loads that missed nothing, and retirements, in the order of their ends."""
    believed = f"{condition} AND complete AND status IN ('ok', 'warning', '{RETIRED}')"
    columns = ["resource", "slice", "started_at", "status", "whole", "finished_at"]
    return scan(LOAD_LOG, lake.open(LOAD_LOG), columns, believed).sort_by("finished_at")


def _last(loads: pa.Table) -> list[dict[str, Any]]:
    """The last load of each slice, or its retirement, which came later."""
    slices = loads.group_by(["resource", "slice"], use_threads=False)
    return list(slices.aggregate([(name, "last") for name in ("started_at", "status")]).to_pylist())


def committed(lake: Lake, sync_id: str) -> dict[tuple[str, str], datetime]:
    """When this cause loaded a resource's slice (as text), where its last attempt ended with status ok."""
    wanted = f"sync_id = {literal(sync_id)}"
    columns = ["resource", "slice", "status", "finished_at"]
    attempts = scan(LOAD_LOG, lake.open(LOAD_LOG), columns, wanted).sort_by("finished_at").to_pylist()
    last = {(each["resource"], each["slice"]): each for each in attempts}
    return {where: each["finished_at"] for where, each in last.items() if each["status"] == "ok"}


def _replace(
    lake: Lake,
    log: Log,
    table: Table,
    slice: Slice,
    rows: list[dict[str, Any]],
    identity: tuple[str, ...],
    whole: bool,
) -> None:
    opened = lake.open(log)
    mine = f"resource = {literal(table.name)} AND slice = {literal(str(slice))}"
    held_rows = scan(log, opened, log.lake_schema.names, mine).to_pylist()
    before = {_pick(row, identity): row for row in held_rows}
    if not rows and not (before and whole):
        return
    after = {} if whole else dict(before)
    for row in rows:
        held = before.get(_pick(row, identity), row)
        first = {"first_seen": held["first_seen"]} if "first_seen" in held else {}
        after[_pick(row, identity)] = {**_where(table, slice), **row, **first}
    write_deltalake(
        opened,
        pa.Table.from_pylist(list(after.values()), schema=log.lake_schema),
        mode="overwrite",
        predicate=mine,
    )


def _bad(row: BadRow) -> dict[str, Any]:
    key = None if row.key is None else json.dumps(row.key, ensure_ascii=False, default=str)
    return {"key": key, "reason": row.reason, "raw": row.raw, "unit": row.unit}


def _drift(drift: Iterable[Drift], seen_at: datetime) -> list[dict[str, Any]]:
    seen = {"first_seen": seen_at, "last_seen": seen_at}
    return [
        {"kind": each.kind, "field": each.field, "value": each.value, "rows": each.rows, **seen}
        for each in drift
    ]


def _where(table: Table, slice: Slice) -> dict[str, Any]:
    return {"resource": table.name, "_school_id": slice.school_id, "slice": str(slice)}


def _pick(row: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
