"""How a slice gets into the lake: compared with what is held, guarded, committed once, written down."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.log_tables import RETIRED, TRAFFIC
from warehouse.lake.sql import BATCH_ROWS, pooled
from warehouse.lake.tables import Column, Slice, Table, file_schema
from warehouse.lake.tip import Tip
from warehouse.load import change_log, load_log, past_rows
from warehouse.load.delta_commit import adopt, replace
from warehouse.load.earlier_rows import PREVIOUS_BASE
from warehouse.load.merge import MOVING, READ, RowCounts, count_all, merge
from warehouse.load.reading import Measure, Reading
from warehouse.load.snapshot import compare
from warehouse.load.unchanged import is_unchanged, state

#: The measure that every slice has of which the platform says how many rows there are.
ALIVE_ROWS = "rows alive by the platform's own count"
UNPROVEN = "the list kept changing or cannot be proven whole"


@dataclass(frozen=True)
class Guard:
    """When a slice stops or counts as failed.

    More than `share` of the rows alive before, and more than `handful` of them, gone: nothing is committed,
    unless `allowed`; `override` tells people how to allow it. More than `quarantine_share` of the received
    rows in quarantine: the slice counts as failed, though its other rows load; so many with a value that a
    column cannot hold are worth a warning. `leaving`: so many of the rows belong to another slice by now, and
    may go.
    """

    share: float = 0.20
    handful: int = 5
    allowed: bool = False
    override: str = "allow it once"
    quarantine_share: float = 0.01
    leaving: int = 0


class SliceError(Exception):
    """A slice that was not committed; the lake still holds its last version."""


class VanishedTooMany(SliceError):
    """The reading would drop more of the slice than the guard lets pass."""


class Unproven(SliceError):
    """A snapshot of which the reading may lack something: there is no way to take over a part of it."""


class Unbalanced(SliceError):
    """Received rows and rows accounted for differ: a defect of the reading side."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a slice; `status` and `message` as in the load log, `version` counts its commits.
    `state`: as `unchanged.state` has it, of the slice and what was read of it."""

    table: str
    slice: Slice
    status: str
    message: str
    counts: RowCounts
    received: int
    quarantined: int
    version: int
    state: str | None


@dataclass(frozen=True)
class _Committed:
    """What `_commit_rows` came to. `repeated`: the reading brought what the one before it did. `made`: its
    commit, where it took one."""

    counts: RowCounts
    version: int
    state: str | None
    repeated: bool = False
    made: change_log.Replacement | None = None


def commit(
    lake: Lake,
    table: Table,
    slice: Slice,
    reading: Reading,
    guard: Guard,
    scratch: Path,
) -> Outcome:
    """Replace one slice by what a reading makes of it, in one commit; nothing changed, nothing written.

    Then writes the change log, the findings and, last, the slice's row of the load log. `scratch` takes
    temporary files. Raises SliceError (nothing was committed) and deltalake's errors; neither is logged here:
    see `load_log.record_failure`.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        workspace = Path(folder)
        known = load_log.state_of(lake, table, slice)
        committed = until_committed(
            partial(_commit_rows, lake, table, slice, reading, guard, workspace, known)
        )
        if table.tracks_changes and not committed.repeated:
            change_log.record_changes(lake, table, slice, workspace, committed.made)
    counts = committed.counts
    reading = dataclasses.replace(reading, measures=(*_own_count(reading, counts), *reading.measures))
    load_log.record_findings(lake, table, slice, reading)
    status, message = _verdict(table, reading, counts, guard)
    outcome = Outcome(
        table=table.name,
        slice=slice,
        status=status,
        message=message,
        counts=counts,
        received=reading.received,
        quarantined=len(reading.quarantined),
        version=committed.version,
        state=committed.state,
    )
    load_log.record_load(lake, table, slice, _entry(reading, outcome))
    return outcome


def _commit_rows(
    lake: Lake,
    table: Table,
    slice: Slice,
    reading: Reading,
    guard: Guard,
    workspace: Path,
    known: str | None,
) -> _Committed:
    """Compare with the slice as it is now and commit unless it stays the same. `known`: its state by the
    standings."""
    tip = lake.tip(table)
    files, version = _found(tip, slice)
    now = state(table, slice, files, reading)
    if now is not None and now == known:
        return _Committed(count_all(reading, "unchanged"), version, now, repeated=True)
    if table.tracks_changes and not change_log.is_logged(lake, table, slice, version):
        tip = change_log.record_changes(lake, table, slice, workspace)
        files, version = _found(tip, slice)
    where = f"school {slice.school_id}, {table.name}, slice {slice}"
    if table.is_snapshot and not reading.complete:
        raise Unproven("; ".join([*reading.failures, f"{UNPROVEN}: nothing was committed, sync again"]))
    held = lake.readable(table, files)
    table = dataclasses.replace(table, retired=_retired(table, tip))
    as_it_is = reading.distinct and not held
    merged: list[Path] = []
    if as_it_is:
        counts = count_all(reading, "new")
    elif reading.distinct and not table.is_snapshot and is_unchanged(table, held, reading):
        counts = count_all(reading, "unchanged")
    elif table.is_snapshot:
        with pooled(workspace) as con:
            counts = compare(con, table, held, reading)
        table, merged = dataclasses.replace(table, retired=()), [reading.spool]
    else:
        with pooled(workspace) as con:
            counts, merged = merge(con, table, held, reading, workspace)
    _check_balance(reading, counts, where)
    if not counts.moved:
        found = _with_own_earlier(lake, table, slice, reading, counts, tip)
        return _Committed(found, version, None if counts.duplicates else state(table, slice, files, reading))
    _check_vanished(counts, guard, where)
    transactions = {
        slice.counter: version + 1,
        change_log.base_of(slice): tip.version,
        _cause_of(slice): _number(reading.sync_id),
    }
    metadata = {
        "slice": str(slice),
        "slice_version": version + 1,
        PREVIOUS_BASE: tip.transactions.get(change_log.base_of(slice)),
        "sync_id": reading.sync_id,
        "run_id": reading.run_id,
        "started_at": str(reading.started_at),
        "balance": _balance(reading, counts),
    }
    if as_it_is:
        file = adopt(lake, table, slice, tip, reading.spool, counts.new, transactions, metadata)
    else:
        if table.keeps_past and counts.moved > counts.new:
            past_rows.keep(lake, table, slice, held, merged, workspace)
        file = replace(lake, table, slice, tip, _rows(merged, table), transactions, metadata)
    # Where another commit of the slice has come since, its files are others than the state names.
    after = None if counts.duplicates else state(table, slice, [file], reading)
    made = change_log.Replacement(version + 1, files, [file])
    return _Committed(counts, version + 1, after, made=made)


def _found(tip: Tip, slice: Slice) -> tuple[list[str], int]:
    """A slice's files, and how many commits there were of it."""
    return tip.files(slice), tip.transactions.get(slice.counter) or 0


def _retired(table: Table, tip: Tip) -> tuple[Column, ...]:
    """What the lake holds beyond the columns that this sync knows; other syncs may have added some since."""
    known = set(table.lake_schema.names)
    return tuple(Column(field.name, field.type, "") for field in tip.schema if field.name not in known)


def _cause_of(slice: Slice) -> str:
    """Name of the transaction that says which sync made the slice's last commit, as a number."""
    return f"{slice.counter}@cause"


def _number(sync_id: str) -> int:
    return int.from_bytes(hashlib.sha256(sync_id.encode()).digest()[:7])


def _with_own_earlier(
    lake: Lake, table: Table, slice: Slice, reading: Reading, counts: RowCounts, tip: Tip
) -> RowCounts:
    """What this very sync changed in an attempt that ended before it was logged, told as its own."""
    if tip.transactions.get(_cause_of(slice)) != _number(reading.sync_id):
        return counts
    opened = lake.open(table)
    since = opened.version() - (tip.transactions.get(change_log.base_of(slice)) or 0)
    for entry in opened.history(since):
        if entry.get("slice") == str(slice) and entry.get("sync_id") == reading.sync_id:
            moved = {fate: entry["balance"][fate] for fate in MOVING}
            known = sum(rows for fate, rows in moved.items() if fate in READ)
            return dataclasses.replace(counts, **moved, unchanged=counts.loaded - known)
    return counts


def _rows(merged: Sequence[Path], table: Table) -> Iterator[pa.RecordBatch]:
    schema = file_schema(table)
    for path in merged:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=schema.names):
                yield batch.select(schema.names).cast(schema)


def _balance(reading: Reading, counts: RowCounts) -> dict[str, int]:
    return {
        "received": reading.received,
        "loaded": counts.loaded,
        "quarantined": len(reading.quarantined),
        "duplicates": counts.duplicates,
    } | {fate: getattr(counts, fate) for fate in (*READ, "vanished", "carried")}


def _check_balance(reading: Reading, counts: RowCounts, where: str) -> None:
    accounted = counts.loaded + len(reading.quarantined) + counts.duplicates
    if reading.received != accounted:
        raise Unbalanced(
            f"{where}: {reading.received} rows received, but {counts.loaded} loaded + "
            f"{len(reading.quarantined)} quarantined + {counts.duplicates} duplicates = {accounted}. Nothing "
            f"was committed. This is a defect of the reader: please report it with the run's log."
        )


def _check_vanished(counts: RowCounts, guard: Guard, where: str) -> None:
    gone = counts.vanished + counts.deleted - guard.leaving
    staying = counts.were_alive - guard.leaving
    if gone <= guard.handful or gone <= guard.share * staying or guard.allowed:
        return
    raise VanishedTooMany(
        f"{where}: {gone} of {staying} rows would be gone ({counts.vanished} no longer sent, "
        f"{counts.deleted} shown as deleted), more than the {guard.share:.0%} that pass unasked. Nothing was "
        f"committed. If the platform really dropped them, {guard.override} and sync the slice again."
    )


def _own_count(reading: Reading, counts: RowCounts) -> tuple[Measure, ...]:
    """The platform's count of the slice beside the rows that are alive in it now.

    The total of a list counts rows that are deleted, sent twice or in quarantine too: by as much as it is
    more or less than what came, the rows alive are wrong."""
    alive = counts.are_alive
    if reading.alive_total is not None:
        return (Measure(ALIVE_ROWS, reading.alive_total, alive),)
    if reading.server_total is not None:
        return (Measure(ALIVE_ROWS, alive + reading.server_total - reading.received, alive),)
    return ()


def _verdict(table: Table, reading: Reading, counts: RowCounts, guard: Guard) -> tuple[str, str]:
    """Status and message of a committed slice."""
    quarantined = len(reading.quarantined)
    failures, warnings = list(reading.failures), list[str]()
    if quarantined:
        note = f"{quarantined} of {reading.received} rows are in quality.quarantine"
        too_many = quarantined > guard.quarantine_share * reading.received
        (failures if too_many else warnings).append(note)
    if not table.is_snapshot and any(bad.key is None for bad in reading.quarantined):
        warnings.append("a quarantined row has no readable key, so no missing row was taken for deleted")
    if not reading.complete:
        failures.append(f"{UNPROVEN}: nothing was taken for deleted, sync again")
    warnings += [
        f"{each.field}: {each.rows} of {reading.received} rows have a value that the column cannot hold; it "
        f"is null there, and _extra has it as sent"
        for each in reading.drift
        if each.kind == load_log.UNREADABLE and each.rows > guard.quarantine_share * reading.received
    ]
    if counts.carried and not reading.incremental:
        warnings.append(f"{counts.carried} rows stay as they were")
    warnings += [
        f"{each.name}: the platform says {each.expected}, read {each.actual}"
        for each in reading.measures
        if each.expected != each.actual
    ]
    fine = RETIRED if reading.retires else "ok"
    status = "failed" if failures else "warning" if warnings else fine
    return status, "; ".join([*failures, *warnings, *reading.notes])


def _entry(reading: Reading, outcome: Outcome) -> dict[str, Any]:
    return {
        "sync_id": reading.sync_id,
        "run_id": reading.run_id,
        "started_at": reading.started_at,
        "status": outcome.status,
        "message": outcome.message,
        # What was asked for may be proven; of the slice it is a part.
        "complete": reading.complete and (reading.asked is None or reading.asked.suffices),
        "whole": reading.whole,
        "followed": reading.follows,
        "server_total": reading.server_total,
        "slice_version": outcome.version,
        "state": outcome.state,
        "platform_day": reading.platform_day,
        **{name: reading.traffic.get(name) for name in TRAFFIC},
        **_balance(reading, outcome.counts),
    }
