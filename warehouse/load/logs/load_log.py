"""Records and reads the logs of loads: load log, quarantine, differences and reconciliation.

Loads append to the load log. Its row is the last act of a load, so a row with status ok means that the slice
is complete. The other logs, and the standings that follow from the load log, have the present state of each
slice. Rows may wait to be written (`writer`). Reads in the same process include the waiting rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from campus.account import BadRow, Drift, Tally
from warehouse.age import FAILED
from warehouse.lake.delta import Lake
from warehouse.lake.logs.batch import Finding
from warehouse.lake.logs.tables import (
    DIFFERENCES,
    LOAD_LOG,
    MONTH,
    QUARANTINE,
    RECONCILIATION,
    TRAFFIC,
    Log,
)
from warehouse.lake.tables import PLATFORM_ZONE, Slice, Table, school_filter
from warehouse.load.logs.writer import (
    findings,
    record,
    standing_rows,
    waiting,
)
from warehouse.load.slice_reading import Cause, SliceReading

#: The kind of drift for values that no column can hold.
UNREADABLE = "unreadable_value"
#: The identity of a difference from the contract.
DIFFERENCE = ("kind", "field", "value")
#: The identity of a row in quarantine.
BAD_ROW = ("key", "reason", "raw")


@dataclass(frozen=True)
class SliceStatus:
    """The status of a slice: its last load, and its last complete load."""

    #: Start of the last load that proved to miss no row.
    complete_at: datetime | None = None
    #: Whether rows of the slice are in quarantine.
    quarantined: bool = False
    #: Start of the last such load that read all rows of the slice, and not only its changes.
    whole_at: datetime | None = None
    #: Start of the last load that read all rows again that changes of other tables may have affected.
    followed_at: datetime | None = None
    #: Whether the last attempt to load the slice failed.
    failed: bool = False

    @property
    def agrees_as_of(self) -> datetime:
        """Changes of other tables after this time may affect rows of the slice."""
        return max(filter(None, (self.whole_at, self.followed_at)), default=datetime.min)


#: The statuses of a school's slices, by table and slice (as text).
SliceStatuses = Mapping[str, Mapping[str, SliceStatus]]


def now() -> datetime:
    """The platform's wall clock, without a zone."""
    return datetime.now(PLATFORM_ZONE).replace(tzinfo=None)


def record_load(lake: Lake, table: Table, slice: Slice, entry: Mapping[str, Any]) -> None:
    """Append a row to the load log. Columns that `entry` lacks are null."""
    record(lake, loads=[{**_place(table, slice), "finished_at": now(), **entry}])


def record_failure(lake: Lake, table: Table, slice: Slice, cause: Cause, message: str) -> None:
    """Record that a slice was not loaded. Its rows stay."""
    failure = {"status": "failed", "message": message, "complete": False}
    record_load(lake, table, slice, {**cause_columns(cause), **failure})


def cause_columns(cause: Cause) -> dict[str, Any]:
    """The columns of the load log that tell for what a slice was read."""
    return {"sync_id": cause.sync_id, "run_id": cause.run_id, "started_at": cause.started_at}


def traffic(tally: Tally) -> dict[str, int]:
    """The columns of the load log that count what a reading took."""
    return {name: getattr(tally, name) for name in TRAFFIC}


def record_findings(lake: Lake, table: Table, slice: Slice, reading: SliceReading) -> None:
    """Replace the quarantine, differences and reconciliation of a slice by those of this reading.

    Only a whole reading removes findings that it did not see again.
    """
    cause = reading.cause
    bad = [{**_bad(row), "unit": str(slice), "sync_id": cause.sync_id} for row in reading.account.bad]
    measures = [
        {
            "measure": measure.name,
            "expected": measure.expected,
            "actual": measure.actual,
            "agrees": measure.expected == measure.actual,
            "seen_at": cause.started_at,
        }
        for measure in reading.measures
    ]
    seen = {"first_seen": cause.started_at, "last_seen": cause.started_at}
    drift = _drift(reading.account.drift, cause.started_at)
    rows_by_log: Sequence[tuple[Log, list[dict[str, Any]], tuple[str, ...]]] = (
        (QUARANTINE, [{**row, **seen} for row in bad], BAD_ROW),
        (DIFFERENCES, drift, DIFFERENCE),
        (RECONCILIATION, measures, ("measure",)),
    )
    record(
        lake,
        findings=[
            _finding(log, table, slice, rows, identity, whole=reading.whole)
            for log, rows, identity in rows_by_log
        ],
    )


def record_differences(
    lake: Lake, table: Table, school_id: int, drift: Iterable[Drift], seen_at: datetime
) -> None:
    """Replace the differences of a school's metadata. No load of a slice removes them."""
    school, rows = Slice.of(_school_id=school_id), _drift(dict.fromkeys(drift, 0), seen_at)
    record(lake, findings=[_finding(DIFFERENCES, table, school, rows, DIFFERENCE, whole=True)])


def quarantined(lake: Lake, table: Table, school_id: int) -> list[str]:
    """The JSON of a school's rows of a table in quarantine."""
    if not lake.holds(QUARANTINE):
        return []
    return [row["raw"] for row in findings(lake, QUARANTINE, [school_id], [table.name])]


def quarantine_rows(
    lake: Lake, schools: Collection[int] | None = None, resources: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """The rows in quarantine, of some schools and tables or of all."""
    if not lake.holds(QUARANTINE):
        return []
    stored = lake.read(QUARANTINE, columns=["_school_id", "resource"]).to_pylist()
    schools = schools or {row["_school_id"] for row in stored}
    resources = resources or {row["resource"] for row in stored}
    if not schools or not resources:
        return []
    rows = findings(lake, QUARANTINE, schools, resources)
    return sorted(rows, key=lambda row: (row["_school_id"], row["resource"], row["slice"], row["first_seen"]))


def stay_in_quarantine(lake: Lake, table: Table, slice: Slice, rows: Sequence[Mapping[str, Any]]) -> None:
    """Leave only these rows of a slice in quarantine. The others are loaded."""
    record(lake, findings=[_finding(QUARANTINE, table, slice, rows, BAD_ROW, whole=True)])


def unreadable_fields(lake: Lake, table: Table, school_id: int) -> set[str]:
    """The fields of a school's table with values that their columns cannot hold."""
    if not lake.holds(DIFFERENCES):
        return set()
    differences = findings(lake, DIFFERENCES, [school_id], [table.name])
    return {row["field"] for row in differences if row["kind"] == UNREADABLE}


def slice_statuses(lake: Lake, school_id: int) -> SliceStatuses:
    """The statuses of all slices of a school that were ever tried."""
    bad = _in_quarantine(lake, [school_id])
    statuses: dict[str, dict[str, SliceStatus]] = defaultdict(dict)
    for table, slice in bad:
        statuses[table][slice] = SliceStatus(quarantined=True)
    for row in standing_rows(lake, [school_id]):
        table, slice = row["resource"], row["slice"]
        status = SliceStatus(quarantined=(table, slice) in bad, failed=row["status"] == FAILED)
        if row["complete_at"] is not None:
            status = replace(
                status,
                complete_at=row["complete_at"],
                whole_at=row["whole_at"],
                followed_at=row.get("followed_at"),
            )
        statuses[table][slice] = status
    return statuses


def slice_status(statuses: SliceStatuses, table_name: str, slice: Slice) -> SliceStatus:
    """The status of one slice among those of its school."""
    return statuses.get(table_name, {}).get(str(slice), SliceStatus())


def held_back(lake: Lake, tables: Collection[str]) -> set[str]:
    """The slices (as text) with rows of these tables in quarantine."""
    return {slice for table, slice in _in_quarantine(lake) if table in tables}


def committed(
    lake: Lake, sync_id: str, schools: Collection[int] | None = None
) -> dict[tuple[str, str], datetime]:
    """When this cause loaded a slice, by resource and slice (as text), where its last attempt is ok.

    A slice that another cause has tried to load since does not count."""
    return {
        (row["resource"], row["slice"]): row["finished_at"]
        for row in standing_rows(lake, schools)
        if row["sync_id"] == sync_id and row["status"] == "ok"
    }


def last_load(lake: Lake) -> tuple[datetime, str] | None:
    """The end of the last load of all, and its cause. None: nothing was loaded."""
    return max(((row["finished_at"], row["sync_id"]) for row in standing_rows(lake)), default=None)


def last_loads(lake: Lake) -> dict[str, datetime]:
    """By cause, the end of its last load of a slice that no other cause has loaded since."""
    last: dict[str, datetime] = {}
    for row in standing_rows(lake):
        cause, ended = row["sync_id"], row["finished_at"]
        last[cause] = max(ended, last.get(cause, ended))
    return last


def holds_a_load(lake: Lake) -> bool:
    """Whether any slice was ever read and committed, or confirmed as unchanged."""
    if any(row["complete_at"] is not None for row in standing_rows(lake)):
        return True
    # Only the load log has slices that were never read in full. It is long in an old home.
    was_read = ~pc.field("received").is_null()
    return lake.holds(LOAD_LOG) and bool(
        lake.scan(LOAD_LOG, lake.open(LOAD_LOG), ["finished_at"], was_read).num_rows
    )


def schools_loaded(lake: Lake) -> set[int]:
    """The schools with a slice that was ever loaded completely."""
    return {row["_school_id"] for row in standing_rows(lake) if row["complete_at"] or row["retired"]}


def resources_loaded(lake: Lake) -> set[str]:
    """The tables with a slice that was ever tried."""
    return {row["resource"] for row in standing_rows(lake)}


def loads_of(lake: Lake, sync_id: str, since: datetime) -> list[dict[str, Any]]:
    """The rows of the load log of a cause. `since`: no row is older."""
    mine = (pc.field("sync_id") == sync_id) & (pc.field(MONTH) >= f"{since:%Y-%m}")
    rows = lake.scan(LOAD_LOG, lake.open(LOAD_LOG), LOAD_LOG.lake_schema.names, mine)
    return list(rows.to_pylist())


def loaded_before(lake: Lake, sync_id: str, tables: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Of some tables, each of a school, those that another cause has read, too."""
    if not (tables and lake.holds(LOAD_LOG)):
        return set()
    resources = pa.array(sorted({resource for resource, _ in tables}), pa.string())
    by_another = (
        school_filter({school_id for _, school_id in tables})
        & pc.field("resource").isin(resources)
        & (pc.field("sync_id") != sync_id)
        & ~pc.field("received").is_null()
    )
    rows = lake.scan(LOAD_LOG, lake.open(LOAD_LOG), ["resource", "_school_id"], by_another)
    loaded = {(row["resource"], row["_school_id"]) for row in rows.to_pylist()}
    return loaded.intersection(tables)


def last_of_each(loads: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last of several loads of each slice: a sync tries a slice again that failed in the discovery, or
    that was read without rows."""
    in_order = sorted(loads, key=lambda row: row["finished_at"])
    return list({(row["resource"], row["slice"]): row for row in in_order}.values())


def last_in_vain(lake: Lake, school_id: int) -> set[tuple[str, str]]:
    """The tables and slices (as text) of a school whose last attempt failed."""
    rows = standing_rows(lake, [school_id])
    return {(row["resource"], row["slice"]) for row in rows if row["status"] == FAILED}


def last_failures(lake: Lake, standings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the load log for the last failures of slices. `standings`: the failed rows of
    `writer.standing_rows`."""
    if not standings:
        return []
    since = min(row["finished_at"] for row in standings)
    columns = ["resource", "_school_id", "slice", "message", "finished_at"]
    failed = (pc.field("status") == FAILED) & (pc.field(MONTH) >= f"{since:%Y-%m}")
    wanted = {(row["resource"], row["slice"], row["finished_at"]) for row in standings}
    rows = lake.scan(LOAD_LOG, lake.open(LOAD_LOG), columns, failed).sort_by("finished_at").to_pylist()
    return [row for row in rows if (row["resource"], row["slice"], row["finished_at"]) in wanted]


def _in_quarantine(lake: Lake, schools: Collection[int] | None = None) -> set[tuple[str, str]]:
    """The tables and slices (as text) with rows in quarantine, of some schools or of all."""
    mine = school_filter(schools) if schools is not None else None
    rows = lake.scan(QUARANTINE, lake.open(QUARANTINE), ["resource", "slice"], mine).to_pylist()
    bad = {(row["resource"], row["slice"]) for row in rows}
    for finding in waiting(lake, QUARANTINE):
        if finding.rows and (schools is None or finding.school_id in schools):
            bad.add((finding.resource, finding.slice))
        elif finding.whole:
            bad.discard((finding.resource, finding.slice))
    return bad


def _finding(
    log: Log,
    table: Table,
    slice: Slice,
    rows: Iterable[Mapping[str, Any]],
    identity: tuple[str, ...],
    *,
    whole: bool,
) -> Finding:
    place = _place(table, slice)
    named = tuple({**place, **row} for row in rows)
    return Finding(log, table.name, slice.school_id, str(slice), named, identity, whole)


def _bad(row: BadRow) -> dict[str, Any]:
    key = None if row.key is None else json.dumps(row.key, ensure_ascii=False, default=str)
    return {"key": key, "reason": row.reason, "raw": row.raw}


def _drift(drift: Mapping[Drift, int], seen_at: datetime) -> list[dict[str, Any]]:
    seen = {"first_seen": seen_at, "last_seen": seen_at}
    return [
        {"kind": difference.kind, "field": difference.field, "value": difference.sample or None, "rows": rows}
        | seen
        for difference, rows in drift.items()
    ]


def _place(table: Table, slice: Slice) -> dict[str, Any]:
    return {"resource": table.name, "_school_id": slice.school_id, "slice": str(slice)}
