"""From a reading to the lake: committed, written down, and told as an outcome."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from assets.runtime import Cause, Runtime
from campus.collect import Account
from campus.resources import ResourceSpec
from warehouse.quality import record_failure
from warehouse.reading import BadRow, Drift, Measure, Reading
from warehouse.slices import Guard, Outcome, SliceError, commit
from warehouse.spool import Spool
from warehouse.tables import Slice, Table

# What can go wrong between a reading and its commit; it concerns one slice, and the others go on.
STORAGE_ERRORS = (duckdb.Error, DeltaError, pa.ArrowException, OSError)


@dataclass(frozen=True)
class Loaded:
    """What became of one slice in this run. `status`: ok, warning, failed, or skipped where this run's cause
    had committed the slice before. `seconds`: from the first question to the commit."""

    spec: ResourceSpec
    slice: Slice
    status: str
    message: str = ""
    outcome: Outcome | None = None
    traffic: Mapping[str, int] | None = None
    seconds: float = 0.0


@dataclass
class Planned:
    """What planning a school's datasets or reports came to: what became of their metadata, and the keys of
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
    spool: Spool,
    account: Account,
    guard: Guard,
    **more: Any,
) -> Loaded:
    """Commit what was read of a slice; a failure is an outcome. `more`: fields of Reading that the account
    does not tell."""
    reading = _reading(cause, slice, spool, account, more)
    try:
        outcome = commit(runtime.lake, table, slice, reading, guard, runtime.scratch)
    except (SliceError, *STORAGE_ERRORS) as error:
        return fail_slice(runtime, cause, spec, table, slice, str(error), reading.traffic)
    seconds = time.monotonic() - account.began
    return Loaded(spec, slice, outcome.status, outcome.message, outcome, reading.traffic, seconds)


def empty_slice(
    runtime: Runtime,
    cause: Cause,
    spec: ResourceSpec,
    table: Table,
    slice: Slice,
    guard: Guard,
    **more: Any,
) -> Loaded:
    """Commit that nothing is left of a slice, as far as the guard lets it. `more`: as for `commit_slice`."""
    with Spool(table, runtime.scratch, synced_at=cause.started_at) as spool:
        return commit_slice(runtime, cause, spec, table, slice, spool, Account(), guard, **more)


def guard_of(runtime: Runtime, spec: ResourceSpec) -> Guard:
    """The guard of a resource's slices. A school has few semesters and everything hangs on them: none of them
    is a mere handful. What a report has is as it is today, and what of it is read is the operator's own
    word."""
    if spec.sliced_by == "report":
        return replace(runtime.guard, allowed=True)
    return replace(runtime.guard, handful=0) if spec.name == "semesters" else runtime.guard


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


def _reading(cause: Cause, slice: Slice, spool: Spool, account: Account, more: Mapping[str, Any]) -> Reading:
    measures: tuple[Measure, ...] = ()
    if account.server_total is not None:
        measures = (Measure("rows by the platform's own count", account.server_total, account.received),)
    return Reading(
        **{
            "spool": spool.finish(),
            "received": account.received,
            "complete": account.complete,
            "sync_id": cause.sync_id,
            "run_id": cause.run_id,
            "started_at": cause.started_at,
            "quarantined": tuple(BadRow(bad.key, bad.reason, bad.raw, str(slice)) for bad in account.bad),
            "server_total": account.server_total,
            "drift": tuple(
                Drift(drift.kind, drift.field, drift.sample or None, rows)
                for drift, rows in account.drift.items()
            ),
            "measures": measures,
            "traffic": traffic_of(account),
            **more,
        }
    )


def in_words(failed: Sequence[Loaded]) -> str:
    """What failed, a line for each reason."""
    slices_by_reason: dict[str, list[str]] = {}
    for one in failed:
        slices_by_reason.setdefault(one.message, []).append(f"{one.spec.name} {one.slice}")
    return "\n".join(f"{', '.join(slices)}: {reason}" for reason, slices in slices_by_reason.items())
