"""Writes the logs in batches, in one commit per log.

A commit per slice made logs of thousands of files, and each checkpoint names them all. The load log is
appended to, month by month. In the other logs the rows of a school are one file, which is replaced. Findings
are written first, then the load log, then the standings. Only the standings say that a slice is loaded: after
a crash in between, the slice is read again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.batch import Finding, LogBatch, Row
from warehouse.lake.logs.tables import (
    DIFFERENCES,
    LOAD_LOG,
    MONTH,
    QUARANTINE,
    RECONCILIATION,
    RETIRED,
    STANDINGS,
    Log,
)
from warehouse.lake.tables import school_condition, school_filter
from warehouse.load.merge import MODIFYING

#: A batch is written at this number of rows, or with the first row after this number of seconds.
ROWS, SECONDS = 1000, 10.0
#: The same for a batch whose slices have no changed row: reading them again costs little. A night without
#: changes makes a commit or two per log.
QUIET_SECONDS = 120.0
#: The load log is compacted at this number of files beyond one per month.
LOOSE_FILES = 40
#: Replaced files of the logs stay longer than anybody reads one version.
RETENTION_HOURS = 24

FINDINGS = (QUARANTINE, DIFFERENCES, RECONCILIATION)
#: Statuses of a load that has committed its rows.
_COMMITTED = ("ok", "warning", RETIRED)


@contextmanager
def batched(lake: Lake) -> Iterator[None]:
    """Batch the rows that are recorded within the block. They are written at the end of the outermost block
    at the latest, also after an error. Raises deltalake's errors."""
    if lake.batch is not None:
        yield
        return
    lake.batch = LogBatch()
    try:
        yield
    finally:
        try:
            write(lake)
        finally:
            lake.batch = None


def write(lake: Lake) -> None:
    """Write the waiting rows, for other processes to read."""
    if lake.batch is not None:
        with lake.batch.lock:
            _write(lake, lake.batch)


def record(lake: Lake, *, findings: Iterable[Finding] = (), loads: Iterable[Row] = ()) -> None:
    """Write rows: with the batch, else at once. Rows that cannot be written stay in the batch."""
    batch = lake.batch or LogBatch()
    loads = [{**row, MONTH: f"{row['finished_at']:%Y-%m}"} for row in loads]
    with batch.lock:
        batch.findings += findings
        batch.loads += loads
        batch.unsettled += loads
        if lake.batch is None or _is_due(batch):
            _write(lake, batch)


def waiting(lake: Lake, log: Log) -> list[Finding]:
    """The unwritten findings of a log."""
    if lake.batch is None:
        return []
    with lake.batch.lock:
        return [finding for finding in lake.batch.findings if finding.log == log]


def findings(lake: Lake, log: Log, schools: Collection[int], resources: Collection[str]) -> list[Row]:
    """The rows of a log for some resources of some schools, waiting rows included."""
    mine = school_filter(schools) & pc.field("resource").isin(pa.array(sorted(resources), pa.string()))
    stored = lake.scan(log, lake.open(log), log.lake_schema.names, mine)
    unwritten = [
        finding
        for finding in waiting(lake, log)
        if finding.school_id in schools and finding.resource in resources
    ]
    rows: list[Row] = _applied(log, stored, unwritten).to_pylist()
    return rows


def standing_rows(lake: Lake, schools: Collection[int] | None = None) -> list[Row]:
    """The standings of some schools, or of all, waiting loads included."""
    stored = _stored(lake, lake.open(STANDINGS), schools) if lake.holds(STANDINGS) else []
    if lake.batch is None:
        return stored
    with lake.batch.lock:
        loads = [row for row in lake.batch.unsettled if schools is None or row["_school_id"] in schools]
    return settled(stored, loads)


def forget_failures(lake: Lake, schools: Collection[int]) -> None:
    """Delete schools that were never loaded from standings and findings. The load log keeps the attempts."""
    for log in (STANDINGS, *FINDINGS):
        if lake.holds(log):
            until_committed(partial(_delete, lake, log, schools))


def known_states(lake: Lake, school_id: int) -> dict[tuple[str, str], str]:
    """The states of a school's slices, by table and slice (as text). A batch reads them once: an outdated
    state has other files of the slice."""
    states = {} if lake.batch is None else lake.batch.states
    if school_id not in states:
        rows = standing_rows(lake, [school_id])
        states[school_id] = {
            (row["resource"], row["slice"]): row["state"] for row in rows if row.get("state")
        }
    return states[school_id]


def settled(standings: Iterable[Row], loads: Iterable[Row]) -> list[Row]:
    """The standings after some loads: rows of the load log, in the order of their end.

    A load that ended before the standing and was written later is ignored: the slice is read again."""
    stand = {(row["resource"], row["slice"]): row for row in standings}
    for load in loads:
        key = load["resource"], load["slice"]
        before = stand.get(key)
        if before is None or before["finished_at"] <= load["finished_at"]:
            stand[key] = _standing(before, load)
    return list(stand.values())


def _standing(before: Row | None, load: Row) -> Row:
    names = ("resource", "_school_id", "slice", "sync_id", "status", "finished_at")
    after = {name: load[name] for name in names}
    after["requests"] = load.get("requests")
    earlier = before or {
        "complete_at": None,
        "whole_at": None,
        "retired": False,
        "state": None,
        "followed_at": None,
    }
    if not load.get("complete") or load["status"] not in _COMMITTED:
        return {**earlier, **after}
    retired = load["status"] == RETIRED
    return {
        **after,
        "complete_at": None if retired else load["started_at"],
        "whole_at": load["started_at"] if load.get("whole") else earlier["whole_at"],
        "state": load.get("state") if load.get("whole") else earlier["state"],
        "retired": retired,
        "followed_at": load["started_at"] if load.get("followed") else earlier.get("followed_at"),
    }


def _is_due(batch: LogBatch) -> bool:
    if batch.rows >= ROWS:
        return True
    waited = time.monotonic() - batch.written_at
    return waited >= SECONDS and (waited >= QUIET_SECONDS or not all(map(_is_quiet, batch.unsettled)))


def _is_quiet(load: Row) -> bool:
    """Whether a load changed no row of its slice."""
    return load["status"] == "ok" and not any(load.get(change) for change in MODIFYING)


def _write(lake: Lake, batch: LogBatch) -> None:
    for log in FINDINGS:
        findings = [finding for finding in batch.findings if finding.log == log]
        if findings:
            until_committed(partial(_replace, lake, log, findings))
            batch.findings = [finding for finding in batch.findings if finding.log != log]
    if batch.loads:
        loose = until_committed(partial(_append, lake, batch.loads))
        batch.loads = []
        if loose >= LOOSE_FILES:
            _tidy(lake)
    if batch.unsettled:
        until_committed(partial(_settle, lake, batch.unsettled))
        batch.unsettled = []
    batch.written_at = time.monotonic()


def _replace(lake: Lake, log: Log, findings: Sequence[Finding]) -> None:
    opened = lake.open(log)
    schools = {finding.school_id for finding in findings}
    stored = lake.scan(log, opened, log.lake_schema.names, school_filter(schools))
    stored_slices = set(zip(stored["resource"].to_pylist(), stored["slice"].to_pylist(), strict=True))
    changed_schools = {
        finding.school_id
        for finding in findings
        if finding.rows or (finding.whole and (finding.resource, finding.slice) in stored_slices)
    }
    if changed_schools:
        mine = pc.is_in(stored["_school_id"], value_set=pa.array(sorted(changed_schools), pa.int64()))
        applied = [finding for finding in findings if finding.school_id in changed_schools]
        _overwrite(opened, _applied(log, stored.filter(mine), applied), changed_schools)


def _applied(log: Log, stored: pa.Table, findings: Sequence[Finding]) -> pa.Table:
    """The rows of a log after some findings. Only rows of their slices become Python objects."""
    touched = {(finding.resource, finding.slice) for finding in findings}
    if not touched:
        return stored
    row_slices = zip(stored["resource"].to_pylist(), stored["slice"].to_pylist(), strict=True)
    mine = pa.array([row_slice in touched for row_slice in row_slices], pa.bool_())
    slices: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in stored.filter(mine).to_pylist():
        slices[row["resource"], row["slice"]].append(row)
    for finding in findings:
        key = finding.resource, finding.slice
        slices[key] = finding.applied(slices[key])
    rows = [row for rows in slices.values() for row in rows]
    return pa.concat_tables(
        [stored.filter(pc.invert(mine)), pa.Table.from_pylist(rows, schema=log.lake_schema)]
    )


def _append(lake: Lake, loads: Sequence[Row]) -> int:
    """Append to the load log. Returns how many of its files could be compacted."""
    opened = lake.open(LOAD_LOG)
    write_deltalake(opened, pa.Table.from_pylist(list(loads), schema=LOAD_LOG.lake_schema), mode="append")
    return len(opened.file_uris()) - len(opened.partitions())


def _settle(lake: Lake, loads: Sequence[Row]) -> None:
    opened, schools = lake.open(STANDINGS), {row["_school_id"] for row in loads}
    rows = settled(_stored(lake, opened, schools), loads)
    _overwrite(opened, pa.Table.from_pylist(rows, schema=STANDINGS.lake_schema), schools)


def _stored(lake: Lake, opened: DeltaTable, schools: Collection[int] | None) -> list[Row]:
    mine = None if schools is None else school_filter(schools)
    rows: list[Row] = lake.scan(STANDINGS, opened, STANDINGS.lake_schema.names, mine).to_pylist()
    return rows


def _overwrite(opened: DeltaTable, rows: pa.Table, schools: Iterable[int]) -> None:
    write_deltalake(opened, rows, mode="overwrite", predicate=school_condition(schools))


def _delete(lake: Lake, log: Log, schools: Collection[int]) -> None:
    lake.open(log).delete(school_condition(schools))


def _tidy(lake: Lake) -> None:
    """Compact the load log, month by month, and delete replaced files of the logs."""
    until_committed(lambda: _compacted(lake))
    for log in (LOAD_LOG, STANDINGS, *FINDINGS):
        opened = lake.open(log)
        opened.vacuum(RETENTION_HOURS, dry_run=False, enforce_retention_duration=False)


def _compacted(lake: Lake) -> dict[str, Any]:
    return lake.open(LOAD_LOG).optimize.compact()
