"""From a reading to the lake: committed, written down, and told as an outcome."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from campus.registry import ResourceSpec
from campus.sources.gathered import Account
from loading.forgotten import without_forgotten
from loading.runtime import Cause, Runtime
from warehouse.lake.tables import Slice, Table
from warehouse.load.change_log import record_changes
from warehouse.load.commit import Guard, Outcome, SliceError, commit
from warehouse.load.load_log import record_failure, record_load
from warehouse.load.merge import IN_READING
from warehouse.load.slice_reading import BadRow, Drift, SliceReading
from warehouse.load.stage import StageWriter

# What can go wrong between a reading and its commit; it concerns one slice, and the others go on.
STORAGE_ERRORS = (duckdb.Error, DeltaError, pa.ArrowException, OSError)


@dataclass(frozen=True)
class Loaded:
    """The outcome of one slice in this run. `status`: ok, warning, failed, or skipped where this run's cause
    had committed the slice before. `seconds`: from the first question to the commit. `refused`: it failed, as
    the platform does not let these credentials read it, or does not have it. `alive`: rows of a slice of
    which nothing has changed, by the platform's count."""

    spec: ResourceSpec
    slice: Slice
    status: str
    message: str = ""
    outcome: Outcome | None = None
    traffic: Mapping[str, int] | None = None
    seconds: float = 0.0
    refused: bool = False
    alive: int | None = None


@dataclass
class Planned:
    """What planning a school's datasets or reports came to: the outcome of their metadata, and the keys of
    the partitions. `notes` are for the operator to read, `problems` to mend."""

    loaded: list[Loaded] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def commit_slice(
    runtime: Runtime,
    cause: Cause,
    spec: ResourceSpec,
    table: Table,
    slice: Slice,
    reading: SliceReading,
    guard: Guard,
    began: float,
) -> Loaded:
    """Commit what was read of a slice; a failure is an outcome. began: as the account has it."""
    try:
        reading = without_forgotten(runtime.lake, table, slice, reading)
        outcome = commit(runtime.lake, table, slice, reading, guard, runtime.scratch)
    except (SliceError, *STORAGE_ERRORS) as error:
        return fail_slice(runtime, cause, spec, table, slice, str(error), reading.traffic)
    seconds = time.monotonic() - began
    return Loaded(spec, slice, outcome.status, outcome.message, outcome, reading.traffic, seconds)


def confirm_slice(
    runtime: Runtime,
    cause: Cause,
    spec: ResourceSpec,
    table: Table,
    slice: Slice,
    account: Account,
    total: int | None,
) -> Loaded:
    """Write down that nothing of a slice has changed: what came, if anything, is held as it was sent. total:
    how many rows the platform says it has; None: it was not asked."""
    if table.tracks_changes:
        # The sync that committed the rows may have ended before it logged what it changed.
        record_changes(runtime.lake, table, slice, runtime.scratch)
    traffic = traffic_of(account)
    record_load(
        runtime.lake,
        table,
        slice,
        {
            "sync_id": cause.sync_id,
            "run_id": cause.run_id,
            "started_at": cause.started_at,
            "status": "ok",
            "message": "",
            "complete": True,
            "whole": False,
            "server_total": total,
            "received": account.received,
            "loaded": account.received,
            **dict.fromkeys(("quarantined", "duplicates", *IN_READING, "vanished", "carried"), 0),
            "unchanged": account.received,
            **traffic,
        },
    )
    seconds = time.monotonic() - account.began
    return Loaded(spec, slice, "ok", "nothing changed", traffic=traffic, seconds=seconds, alive=total)


def empty_slice(
    runtime: Runtime,
    cause: Cause,
    spec: ResourceSpec,
    table: Table,
    slice: Slice,
    guard: Guard,
    *,
    retires: bool = False,
) -> Loaded:
    """Commit that nothing is left of a slice, as far as the guard allows. `retires`: as in `SliceReading`."""
    account = Account()
    with StageWriter(table, runtime.scratch, synced_at=cause.started_at) as spool:
        reading = replace(reading_of(cause, slice, spool, account), retires=retires)
        return commit_slice(runtime, cause, spec, table, slice, reading, guard, account.began)


def guard_of(runtime: Runtime, spec: ResourceSpec) -> Guard:
    """The guard of a resource's slices. A school has few semesters and everything hangs on them: none of them
    is a mere handful. What a report has is as it is today, and what of it is read is the operator's own
    word."""
    if spec.sliced_by == "report":
        return replace(runtime.guard, allowed=True)
    return replace(runtime.guard, handful=0) if spec.lists_semesters else runtime.guard


def fail_slice(
    runtime: Runtime,
    cause: Cause,
    spec: ResourceSpec,
    table: Table,
    slice: Slice,
    message: str,
    traffic: Mapping[str, int] | None = None,
) -> Loaded:
    """Write down that a slice could not be loaded; its rows stay."""
    record_failure(
        runtime.lake,
        table,
        slice,
        message=message,
        sync_id=cause.sync_id,
        run_id=cause.run_id,
        started_at=cause.started_at,
    )
    return Loaded(spec, slice, "failed", message, None, traffic)


def traffic_of(account: Account) -> dict[str, int]:
    """The requests that a reading took, as the load log counts them."""
    tally = account.tally
    return {
        "requests": tally.requests,
        "pages": tally.pages,
        "retries": tally.retries,
        "bytes": tally.bytes,
    }


def reading_of(cause: Cause, slice: Slice, spool: StageWriter, account: Account) -> SliceReading:
    """What was read of a slice, as far as its account tells; `replace` adds what else is known of it."""
    return SliceReading(
        staged=spool.finish(),
        compares=cause.full,
        received=account.received,
        complete=account.complete,
        sync_id=cause.sync_id,
        run_id=cause.run_id,
        started_at=cause.started_at,
        quarantined=tuple(BadRow(bad.key, bad.reason, bad.raw, str(slice)) for bad in account.bad),
        server_total=account.server_total,
        drift=tuple(
            Drift(drift.kind, drift.field, drift.sample or None, rows)
            for drift, rows in account.drift.items()
        ),
        traffic=traffic_of(account),
    )


def in_words(failed: Sequence[Loaded]) -> str:
    """What failed, a line for each reason."""
    slices_by_reason: dict[str, list[str]] = {}
    for one in failed:
        slices_by_reason.setdefault(one.message, []).append(f"{one.spec.name} {one.slice}")
    return "\n".join(f"{', '.join(slices)}: {reason}" for reason, slices in slices_by_reason.items())
