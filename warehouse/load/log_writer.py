"""How the logs are written: together with what else a run has to say in them, in one commit a log.

A commit a slice made logs of thousands of files, and each checkpoint names them all. The load log is appended
to, month by month; of the others a school's rows are one file, which is replaced. The load log comes after
the findings and before the standings, and these alone say that a slice is in: after a death in between, what
was not written is read again.
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
from warehouse.lake.log_batch import Finding, LogBatch, Row
from warehouse.lake.log_tables import (
    DIFFERENCES,
    LOAD_LOG,
    MONTH,
    QUARANTINE,
    RECONCILIATION,
    RETIRED,
    STANDINGS,
    Log,
)
from warehouse.lake.tables import is_of, of_schools
from warehouse.load.merge import MODIFYING

#: What a batch holds at most, and for how many seconds, before the next row has it written.
ROWS, SECONDS = 1000, 10.0
#: And where no row of its slices has changed, which costs little to find out again: a night without changes
#: is a commit or two to each log.
QUIET_SECONDS = 120.0
#: Files of the load log beyond one a month that are joined.
LOOSE_FILES = 40
#: How long replaced files of the logs stay: longer than anybody reads one version of them.
RETENTION_HOURS = 24

FINDINGS = (QUARANTINE, DIFFERENCES, RECONCILIATION)
#: Statuses of a load whose rows are in.
_BELIEVED = ("ok", "warning", RETIRED)


@contextmanager
def batched(lake: Lake) -> Iterator[None]:
    """What is recorded in the logs within the block waits to be written together, at the block's end at the
    latest, however it ends; within another such block, at that one's end. Raises deltalake's errors."""
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
    """Write what waits, for all others to read."""
    if lake.batch is not None:
        with lake.batch.lock:
            _write(lake, lake.batch)


def record(lake: Lake, *, findings: Iterable[Finding] = (), loads: Iterable[Row] = ()) -> None:
    """Have these written: in a batch with others, else at once.

    What cannot be written stays in the batch, for the next attempt."""
    batch = lake.batch or LogBatch()
    loads = [{**row, MONTH: f"{row['finished_at']:%Y-%m}"} for row in loads]
    with batch.lock:
        batch.findings += findings
        batch.loads += loads
        batch.unsettled += loads
        if lake.batch is None or _is_due(batch):
            _write(lake, batch)


def waiting(lake: Lake, log: Log) -> list[Finding]:
    """The findings of a log that are not written yet."""
    if lake.batch is None:
        return []
    with lake.batch.lock:
        return [one for one in lake.batch.findings if one.log == log]


def findings(lake: Lake, log: Log, schools: Collection[int], resources: Collection[str]) -> list[Row]:
    """The rows that a log has of some resources of some schools, those that wait included."""
    mine = is_of(schools) & pc.field("resource").isin(pa.array(sorted(resources), pa.string()))
    held = lake.scan(log, lake.open(log), log.lake_schema.names, mine)
    found = [one for one in waiting(lake, log) if one.school_id in schools and one.resource in resources]
    rows: list[Row] = _applied(log, held, found).to_pylist()
    return rows


def standing_rows(lake: Lake, schools: Collection[int] | None = None) -> list[Row]:
    """The standings of some schools, or of all, with the loads that wait."""
    if lake.holds(STANDINGS):
        held = _held(lake, lake.open(STANDINGS), schools)
    else:
        held = [row for row in standings_by_log(lake) if schools is None or row["_school_id"] in schools]
    if lake.batch is None:
        return held
    with lake.batch.lock:
        loads = [row for row in lake.batch.unsettled if schools is None or row["_school_id"] in schools]
    return settled(held, loads)


def forget_failures(lake: Lake, schools: Collection[int]) -> None:
    """Take schools that were never loaded out of the standings and findings. The load log still says what was
    tried."""
    for log in (STANDINGS, *FINDINGS):
        if lake.holds(log):
            until_committed(partial(_delete, lake, log, schools))


def known_states(lake: Lake, school_id: int) -> dict[tuple[str, str], str]:
    """The states of a school's slices, by table and slice (as text). A batch reads them once: where they
    are outdated the slice's files have changed, which is seen."""
    known = {} if lake.batch is None else lake.batch.states
    if school_id not in known:
        rows = standing_rows(lake, [school_id])
        known[school_id] = {(row["resource"], row["slice"]): row["state"] for row in rows if row.get("state")}
    return known[school_id]


def standings_by_log(lake: Lake) -> list[Row]:
    """The standings of all slices by the whole load log, for a lake from before they were kept."""
    if not lake.holds(LOAD_LOG):
        return []
    told = ["resource", "_school_id", "slice", "sync_id", "status", "started_at", "finished_at", "complete"]
    told += ["whole", "requests"]
    return settled([], lake.read(LOAD_LOG, columns=told).sort_by("finished_at").to_pylist())


def settled(standings: Iterable[Row], loads: Iterable[Row]) -> list[Row]:
    """The standings after some loads, rows of the load log in the order in which they ended.

    One that ended before what stands, and was written later, says nothing more: the slice is read again."""
    stand = {(row["resource"], row["slice"]): row for row in standings}
    for load in loads:
        where = load["resource"], load["slice"]
        before = stand.get(where)
        if before is None or before["finished_at"] <= load["finished_at"]:
            stand[where] = _standing(before, load)
    return list(stand.values())


def _standing(before: Row | None, load: Row) -> Row:
    told = ("resource", "_school_id", "slice", "sync_id", "status", "finished_at")
    after = {name: load[name] for name in told}
    after["requests"] = load.get("requests")
    known = before or {
        "complete_at": None,
        "whole_at": None,
        "retired": False,
        "state": None,
        "followed_at": None,
    }
    if not load.get("complete") or load["status"] not in _BELIEVED:
        return {**known, **after}
    retired = load["status"] == RETIRED
    return {
        **after,
        "complete_at": None if retired else load["started_at"],
        "whole_at": load["started_at"] if load.get("whole") else known["whole_at"],
        "state": load.get("state") if load.get("whole") else known["state"],
        "retired": retired,
        "followed_at": load["started_at"] if load.get("followed") else known.get("followed_at"),
    }


def _is_due(batch: LogBatch) -> bool:
    if batch.rows >= ROWS:
        return True
    waited = time.monotonic() - batch.written_at
    return waited >= SECONDS and (waited >= QUIET_SECONDS or not all(map(_is_quiet, batch.unsettled)))


def _is_quiet(load: Row) -> bool:
    """Whether a load found its slice as it was held."""
    return load["status"] == "ok" and not any(load.get(change) for change in MODIFYING)


def _write(lake: Lake, batch: LogBatch) -> None:
    for log in FINDINGS:
        found = [one for one in batch.findings if one.log == log]
        if found:
            until_committed(partial(_replace, lake, log, found))
            batch.findings = [one for one in batch.findings if one.log != log]
    if batch.loads:
        loose = until_committed(partial(_append, lake, batch.loads))
        batch.loads = []
        if loose >= LOOSE_FILES:
            _tidy(lake)
    if batch.unsettled:
        until_committed(partial(_settle, lake, batch.unsettled))
        batch.unsettled = []
    batch.written_at = time.monotonic()


def _replace(lake: Lake, log: Log, found: Sequence[Finding]) -> None:
    opened = lake.open(log)
    held = lake.scan(log, opened, log.lake_schema.names, is_of({one.school_id for one in found}))
    known = set(zip(held["resource"].to_pylist(), held["slice"].to_pylist(), strict=True))
    news = {one.school_id for one in found if one.rows or (one.whole and (one.resource, one.slice) in known)}
    if news:
        mine = pc.is_in(held["_school_id"], value_set=pa.array(sorted(news), pa.int64()))
        mended = [one for one in found if one.school_id in news]
        _overwrite(opened, _applied(log, held.filter(mine), mended), news)


def _applied(log: Log, held: pa.Table, found: Sequence[Finding]) -> pa.Table:
    """A log's rows after some findings, whose slices' rows alone become Python's."""
    touched = {(one.resource, one.slice) for one in found}
    if not touched:
        return held
    where = zip(held["resource"].to_pylist(), held["slice"].to_pylist(), strict=True)
    mine = pa.array([each in touched for each in where], pa.bool_())
    slices: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in held.filter(mine).to_pylist():
        slices[row["resource"], row["slice"]].append(row)
    for one in found:
        slices[one.resource, one.slice] = one.applied(slices[one.resource, one.slice])
    rows = [row for rows in slices.values() for row in rows]
    return pa.concat_tables(
        [held.filter(pc.invert(mine)), pa.Table.from_pylist(rows, schema=log.lake_schema)]
    )


def _append(lake: Lake, loads: Sequence[Row]) -> int:
    """Append to the load log; how many of its files could be joined."""
    opened = lake.open(LOAD_LOG)
    write_deltalake(opened, pa.Table.from_pylist(list(loads), schema=LOAD_LOG.lake_schema), mode="append")
    return len(opened.file_uris()) - len(opened.partitions())


def _settle(lake: Lake, loads: Sequence[Row]) -> None:
    opened, schools = lake.open(STANDINGS), {row["_school_id"] for row in loads}
    rows = settled(_held(lake, opened, schools), loads)
    _overwrite(opened, pa.Table.from_pylist(rows, schema=STANDINGS.lake_schema), schools)


def _held(lake: Lake, opened: DeltaTable, schools: Collection[int] | None) -> list[Row]:
    mine = None if schools is None else is_of(schools)
    rows: list[Row] = lake.scan(STANDINGS, opened, STANDINGS.lake_schema.names, mine).to_pylist()
    return rows


def _overwrite(opened: DeltaTable, rows: pa.Table, schools: Iterable[int]) -> None:
    write_deltalake(opened, rows, mode="overwrite", predicate=of_schools(schools))


def _delete(lake: Lake, log: Log, schools: Collection[int]) -> None:
    lake.open(log).delete(of_schools(schools))


def _tidy(lake: Lake) -> None:
    """Join the load log's files, a month's at most, and delete what the logs have replaced."""
    until_committed(lambda: _compacted(lake))
    for log in (LOAD_LOG, STANDINGS, *FINDINGS):
        opened = lake.open(log)
        opened.vacuum(RETENTION_HOURS, dry_run=False, enforce_retention_duration=False)


def _compacted(lake: Lake) -> dict[str, Any]:
    return lake.open(LOAD_LOG).optimize.compact()
