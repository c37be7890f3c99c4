"""Commits a slice: merges the staged rows, checks the result, commits once and logs the load."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from warehouse.lake.delta import Lake, until_committed
from warehouse.lake.logs.tables import RETIRED
from warehouse.lake.sql import pooled
from warehouse.lake.table_state import TableState
from warehouse.lake.tables import Column, Slice, Table
from warehouse.load.delta_commit import adopt
from warehouse.load.history import change_log, past_rows
from warehouse.load.history.earlier_rows import PREVIOUS_BASE
from warehouse.load.logs import load_log
from warehouse.load.logs.writer import known_states
from warehouse.load.merge import IN_READING, MODIFYING, RowCounts, count_all, merge
from warehouse.load.slice_reading import Measure, SliceReading
from warehouse.load.slice_state import state
from warehouse.load.snapshot import compare

#: The measure of every slice whose rows the platform counts.
ALIVE_ROWS = "rows alive by the platform's own count"
UNPROVEN = "the list kept changing or cannot be proven whole"


@dataclass(frozen=True)
class Guard:
    """Decides when a slice is not committed, or counts as failed."""

    #: A commit that loses more than this share of the live rows, and more than a handful of them, is refused.
    share: float = 0.20
    handful: int = 5
    #: Lets every commit pass.
    allowed: bool = False
    #: Tells people how to allow a commit that was refused.
    override: str = "allow it once"
    #: A slice with a greater share of its rows in quarantine counts as failed. Its other rows load.
    quarantine_share: float = 0.01
    #: Rows that belong to another slice by now. Their loss is expected.
    leaving: int = 0


class SliceError(Exception):
    """A slice was not committed. The lake holds its last version."""


class VanishedTooMany(SliceError):
    """The commit would lose more rows than the guard allows."""


class Unproven(SliceError):
    """A snapshot may lack rows. A part of a snapshot cannot be committed."""


class Unbalanced(SliceError):
    """The rows received and the rows accounted for differ: a defect of the reader."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a slice."""

    table: str
    slice: Slice
    #: As in the load log.
    status: str
    message: str
    counts: RowCounts
    received: int
    quarantined: int
    #: How many commits the slice has had.
    version: int
    #: See `slice_state.state`.
    state: str | None


@dataclass(frozen=True)
class _Committed:
    counts: RowCounts
    version: int
    state: str | None
    #: The reading brought what the last one brought.
    is_repeated: bool = False
    #: None: nothing was written.
    replacement: change_log.Replacement | None = None


def commit(
    lake: Lake,
    table: Table,
    slice: Slice,
    reading: SliceReading,
    guard: Guard,
    scratch: Path,
) -> Outcome:
    """Replace a slice in one commit. Writes no data where no row has changed.

    Then writes the change log, the findings and, last, the slice's row of the load log. The caller logs
    failures with `load_log.record_failure`.

    Args:
        scratch: Folder for temporary files.

    Raises:
        SliceError: Nothing was committed.
        DeltaError: The lake refused the commit.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        workspace = Path(folder)
        last_state = known_states(lake, slice.school_id).get((table.name, str(slice)))
        committed = until_committed(
            partial(_commit_rows, lake, table, slice, reading, guard, workspace, last_state)
        )
        if table.tracks_changes and not committed.is_repeated:
            change_log.record_changes(lake, table, slice, workspace, committed.replacement)
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
        received=reading.account.received,
        quarantined=len(reading.account.bad),
        version=committed.version,
        state=committed.state,
    )
    load_log.record_load(lake, table, slice, _entry(reading, outcome))
    return outcome


def _commit_rows(
    lake: Lake,
    table: Table,
    slice: Slice,
    reading: SliceReading,
    guard: Guard,
    workspace: Path,
    last_state: str | None,
) -> _Committed:
    """Merge with the slice as it is now. Commit unless no row has changed."""
    table_state = lake.table_state(table)
    names, version = _files_and_version(table_state, slice)
    new_state = state(table, slice, names, reading)
    if new_state is not None and new_state == last_state:
        return _Committed(count_all(reading, "unchanged"), version, new_state, is_repeated=True)
    if table.tracks_changes and not change_log.is_logged(lake, table, slice, version):
        table_state = change_log.record_changes(lake, table, slice, workspace)
        names, version = _files_and_version(table_state, slice)
    place = f"school {slice.school_id}, {table.name}, slice {slice}"
    if table.is_snapshot and not reading.account.complete:
        raise Unproven("; ".join([*reading.failures, f"{UNPROVEN}: nothing was committed, sync again"]))
    previous = lake.readable(table, names)
    table = dataclasses.replace(table, retired=_retired(table, table_state))
    file = reading.staged.path
    if not previous and reading.staged.ascends:
        counts = count_all(reading, "new")
    elif table.is_snapshot:
        with pooled(workspace) as con:
            counts = compare(con, table, previous, reading)
    else:
        file = workspace / "merged.parquet"
        with pooled(workspace) as con:
            counts = merge(con, table, previous, reading, file)
    counts = dataclasses.replace(counts, duplicates=counts.duplicates + reading.account.repeats)
    _check_balance(reading, counts, place)
    if not counts.modified:
        counts = _with_earlier_attempt(lake, table, slice, reading, counts, table_state)
        return _Committed(counts, version, None if counts.duplicates else state(table, slice, names, reading))
    _check_vanished(counts, guard, place)
    transactions = {
        slice.counter: version + 1,
        change_log.base_of(slice): table_state.version,
        _cause_of(slice): _number(reading.cause.sync_id),
    }
    metadata = {
        "slice": str(slice),
        "slice_version": version + 1,
        PREVIOUS_BASE: table_state.transactions.get(change_log.base_of(slice)),
        "sync_id": reading.cause.sync_id,
        "run_id": reading.cause.run_id,
        "started_at": str(reading.cause.started_at),
        "balance": balance(counts, reading.account.received, len(reading.account.bad)),
    }
    if table.keeps_past and counts.modified > counts.new:
        past_rows.keep(lake, table, slice, previous, file, reading.cause.started_at, workspace)
    name = adopt(lake, table, slice, table_state, file, transactions, metadata)
    # A later commit of the slice has other files, and therefore another state.
    new_state = None if counts.duplicates else state(table, slice, [name], reading)
    replacement = change_log.Replacement(version + 1, names, [name])
    return _Committed(counts, version + 1, new_state, replacement=replacement)


def _files_and_version(table_state: TableState, slice: Slice) -> tuple[list[str], int]:
    return table_state.files(slice), table_state.transactions.get(slice.counter) or 0


def _retired(table: Table, table_state: TableState) -> tuple[Column, ...]:
    """The columns of the lake that the sync does not read. Another sync may have added them since."""
    names = set(table.lake_schema.names)
    return tuple(
        Column(field.name, field.type, "") for field in table_state.schema if field.name not in names
    )


def _cause_of(slice: Slice) -> str:
    """Name of the transaction that identifies the sync of the slice's last commit, by a number."""
    return f"{slice.counter}@cause"


def _number(sync_id: str) -> int:
    return int.from_bytes(hashlib.sha256(sync_id.encode()).digest()[:7])


def _with_earlier_attempt(
    lake: Lake, table: Table, slice: Slice, reading: SliceReading, counts: RowCounts, table_state: TableState
) -> RowCounts:
    """Counts that include what an earlier attempt of this sync committed and did not log."""
    if table_state.transactions.get(_cause_of(slice)) != _number(reading.cause.sync_id):
        return counts
    opened = lake.open(table)
    since = opened.version() - (table_state.transactions.get(change_log.base_of(slice)) or 0)
    for entry in opened.history(since):
        if entry.get("slice") == str(slice) and entry.get("sync_id") == reading.cause.sync_id:
            modified = {change: entry["balance"][change] for change in MODIFYING}
            modified_and_read = sum(rows for change, rows in modified.items() if change in IN_READING)
            return dataclasses.replace(counts, **modified, unchanged=counts.loaded - modified_and_read)
    return counts


def balance(counts: RowCounts, received: int, quarantined: int = 0) -> dict[str, int]:
    """The row counts of a load, by column of the load log."""
    return {
        "received": received,
        "loaded": counts.loaded,
        "quarantined": quarantined,
        "duplicates": counts.duplicates,
    } | {
        **{change: getattr(counts, change) for change in (*IN_READING, "vanished", "carried")},
        "unchanged": counts.unchanged + counts.filled,
    }


def _check_balance(reading: SliceReading, counts: RowCounts, place: str) -> None:
    accounted = counts.loaded + len(reading.account.bad) + counts.duplicates
    if reading.account.received != accounted:
        raise Unbalanced(
            f"{place}: {reading.account.received} rows received, but {counts.loaded} loaded + "
            f"{len(reading.account.bad)} quarantined + {counts.duplicates} duplicates = {accounted}. Nothing "
            f"was committed. This is a defect of the reader: please report it with the run's log."
        )


def _check_vanished(counts: RowCounts, guard: Guard, place: str) -> None:
    gone = counts.vanished + counts.deleted - guard.leaving
    staying = counts.were_alive - guard.leaving
    if gone <= guard.handful or gone <= guard.share * staying or guard.allowed:
        return
    raise VanishedTooMany(
        f"{place}: {gone} of {staying} rows would be gone ({counts.vanished} no longer sent, "
        f"{counts.deleted} shown as deleted), more than the {guard.share:.0%} that pass unasked. Nothing was "
        f"committed. If they are really gone, {guard.override} and sync the slice again."
    )


def _own_count(reading: SliceReading, counts: RowCounts) -> tuple[Measure, ...]:
    """Compare the live rows with the platform's count.

    The total of a list includes deleted rows and rows in quarantine, and duplicates or not. So the difference
    between that total and the rows received, beyond the duplicates, is the error of the live rows."""
    alive = counts.are_alive
    if reading.alive_total is not None:
        return (Measure(ALIVE_ROWS, reading.alive_total, alive),)
    if reading.account.server_total is not None:
        excess = reading.account.received - reading.account.server_total
        uncounted = min(max(excess, 0), counts.duplicates)
        return (Measure(ALIVE_ROWS, alive - excess + uncounted, alive),)
    return ()


def _verdict(table: Table, reading: SliceReading, counts: RowCounts, guard: Guard) -> tuple[str, str]:
    """Status and message of a committed slice."""
    account = reading.account
    quarantined = len(account.bad)
    failures, warnings = list(reading.failures), list[str]()
    if quarantined:
        note = f"{quarantined} of {account.received} rows are in quality.quarantine (campus quarantine list)"
        too_many = quarantined > guard.quarantine_share * account.received
        (failures if too_many else warnings).append(note)
    if not table.is_snapshot and any(bad.key is None for bad in account.bad):
        warnings.append("a quarantined row has no readable key, so no missing row was taken for deleted")
    if not account.complete:
        failures.append(f"{UNPROVEN}: nothing was taken for deleted, sync again")
    warnings += [
        f"{difference.field}: {rows} of {account.received} rows have a value that the column "
        f"cannot hold; it is null there, and _extra has it as sent"
        for difference, rows in account.drift.items()
        if difference.kind == load_log.UNREADABLE and rows > guard.quarantine_share * account.received
    ]
    if account.has_unclear_repeats:
        warnings.append(
            "more rows came than the platform counts, and some are identical: which of them it sent again is "
            "not known, so all are stored. Sync again with --full"
        )
    if counts.carried and not reading.incremental:
        warnings.append(f"{counts.carried} rows stay as they were")
    warnings += [
        f"{measure.name}: the platform says {measure.expected}, read {measure.actual}"
        for measure in reading.measures
        if measure.expected != measure.actual
    ]
    fine = RETIRED if reading.retires else "ok"
    status = "failed" if failures else "warning" if warnings else fine
    return status, "; ".join([*failures, *warnings, *reading.notes])


def _entry(reading: SliceReading, outcome: Outcome) -> dict[str, Any]:
    return {
        **load_log.cause_columns(reading.cause),
        "status": outcome.status,
        "message": outcome.message,
        # A reading of some rows can be complete and prove nothing of the rest of the slice.
        "complete": reading.account.complete and (reading.requested is None or reading.requested.suffices),
        "whole": reading.whole,
        "followed": reading.follows,
        "server_total": reading.account.server_total,
        "slice_version": outcome.version,
        "state": outcome.state,
        "platform_day": reading.platform_day,
        **load_log.traffic(reading.account.tally),
        **balance(outcome.counts, outcome.received, outcome.quarantined),
    }
