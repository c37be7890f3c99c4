"""Commits a slice to the lake, logs the load and returns its outcome; words about what failed."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from campus.account import Account, Tally
from campus.http.errors import PlatformUnavailable
from campus.registry import ResourceSpec
from loading.forgotten import without_forgotten
from loading.slices.stage import SliceContext, open_stage
from warehouse.lake.tables import Slice
from warehouse.load.commit import Guard, Outcome, SliceError, balance, commit
from warehouse.load.history.change_log import record_changes
from warehouse.load.logs.load_log import cause_columns, record_failure, record_load, traffic
from warehouse.load.merge import RowCounts
from warehouse.load.slice_reading import SliceReading
from warehouse.load.stage import StageWriter

# The errors between reading a slice and its commit. Each concerns one slice, and the other slices go on.
STORAGE_ERRORS = (duckdb.Error, DeltaError, pa.ArrowException, OSError)


@dataclass(frozen=True)
class Loaded:
    """The outcome of one slice in this run."""

    spec: ResourceSpec
    slice: Slice
    #: ok, warning, failed, or skipped where this run's cause had committed the slice before.
    status: str
    message: str = ""
    #: None: nothing was committed.
    outcome: Outcome | None = None
    tally: Tally | None = None
    #: From the first request to the commit.
    seconds: float = 0.0
    #: Whether the load failed because the credentials may not read the slice, or the platform does not have
    #: it.
    refused: bool = False
    #: The platform's count of the rows of a slice that is unchanged.
    alive: int | None = None
    #: The ids of the rows that came, where they were requested by their last update.
    row_ids: frozenset[int] = frozenset()


@dataclass
class Planned:
    """The plan of a school's datasets or reports."""

    #: The outcomes of their metadata.
    loaded: list[Loaded] = field(default_factory=list)
    #: The keys of the partitions.
    partitions: list[str] = field(default_factory=list)
    #: Messages for the operator to read.
    notes: list[str] = field(default_factory=list)
    #: Messages about problems that the operator must correct.
    problems: list[str] = field(default_factory=list)


def commit_slice(context: SliceContext, reading: SliceReading, guard: Guard) -> Loaded:
    """Commit the rows that were read of a slice. A failure is an outcome, and is not raised."""
    lake, table, slice = context.runtime.lake, context.table, context.slice
    tally, began = reading.account.tally, reading.account.began
    try:
        reading = without_forgotten(lake, table, slice, reading)
        outcome = commit(lake, table, slice, reading, guard, context.runtime.scratch)
    except (SliceError, *STORAGE_ERRORS) as error:
        return fail_slice(context, str(error), tally)
    seconds = time.monotonic() - began
    return Loaded(context.spec, slice, outcome.status, outcome.message, outcome, tally, seconds)


def confirm_slice(context: SliceContext, account: Account, total: int | None) -> Loaded:
    """Log a load of an unchanged slice: the lake already had all rows that the platform sent.

    Args:
        total: Rows by the platform's count. None: the platform was not asked."""
    runtime, cause, table, slice = context.runtime, context.cause, context.table, context.slice
    if table.tracks_changes:
        # The sync that committed the rows may have ended before it logged what it changed.
        record_changes(runtime.lake, table, slice, runtime.scratch)
    record_load(
        runtime.lake,
        table,
        slice,
        {
            **cause_columns(cause),
            "status": "ok",
            "message": "",
            "complete": True,
            "whole": False,
            "server_total": total,
            **balance(
                RowCounts(unchanged=account.different_rows, duplicates=account.repeats), account.received
            ),
            **traffic(account.tally),
        },
    )
    seconds = time.monotonic() - account.began
    return Loaded(
        context.spec, slice, "ok", "nothing changed", tally=account.tally, seconds=seconds, alive=total
    )


def empty_slice(context: SliceContext, guard: Guard, *, retires: bool = False) -> Loaded:
    """Commit that a slice has no rows left, as far as the guard allows. `retires`: as in `SliceReading`."""
    account = Account()
    with open_stage(context) as stage:
        reading = replace(reading_of(context, stage.writer, account), retires=retires)
        return commit_slice(context, reading, guard)


def retire_slice(context: SliceContext, *, is_sure: bool = False) -> Loaded:
    """Empty a slice that is gone from the platform, if its guard allows it. `is_sure`: ignore the guard."""
    guard = guard_of(context)
    return empty_slice(context, replace(guard, allowed=True) if is_sure else guard, retires=True)


def guard_of(context: SliceContext) -> Guard:
    """The guard of a slice. A school has few semesters, and all its data depends on them, so even one
    semester is guarded. Reports are not guarded: their rows change with the report and with the operator's
    choice."""
    spec, guard = context.spec, context.runtime.guard
    if spec.sliced_by == "report":
        return replace(guard, allowed=True)
    return replace(guard, handful=0) if spec.lists_semesters else guard


def fail_slice(context: SliceContext, message: str, tally: Tally | None = None) -> Loaded:
    """Log that a slice could not be loaded; its rows stay."""
    record_failure(context.runtime.lake, context.table, context.slice, context.cause, message)
    return Loaded(context.spec, context.slice, "failed", message, None, tally)


def reading_of(context: SliceContext, writer: StageWriter, account: Account) -> SliceReading:
    """The staged rows of a slice with its account; callers add the rest by `replace`."""
    return SliceReading(staged=writer.finish(), account=account, cause=context.cause)


def in_words(failed: Sequence[Loaded]) -> str:
    """The failed slices, a line for each reason."""
    slices_by_reason: dict[str, list[str]] = {}
    for loaded in failed:
        slices_by_reason.setdefault(loaded.message, []).append(f"{loaded.spec.name} {loaded.slice}")
    return "\n".join(f"{', '.join(slices)}: {reason}" for reason, slices in slices_by_reason.items())


# A message that lists more ids than this is read by nobody.
IDS_SHOWN = 20
# Replaces the id in a reason that many ids share.
ID = "{id}"
IN_PATH, NUMBER = re.compile("/(?P<id>[^/ :]+)"), re.compile(r"(?P<id>\d+)")


def failures(unit: str, failed: Mapping[int | str, str]) -> tuple[str, ...]:
    """One sentence for each reason, with the ids that failed for this reason.

    Args:
        unit: What the ids are of, such as "class".
        failed: The reason of each id. Reasons that differ only by the id count as one reason."""
    groups: dict[str, dict[str, str]] = {}
    ids = {str(id) for id in failed}
    for id, reason in failed.items():
        groups.setdefault(_without_ids(reason, ids), {})[str(id)] = reason
    return tuple(
        f"{unit} {_listed([*group])}: {reason if len(group) > 1 else next(iter(group.values()))}"
        for reason, group in groups.items()
    )


def _without_ids(reason: str, ids: Set[str]) -> str:
    """A reason with {id} for these ids, in the path of the request and in the platform's own words."""

    def put(match: re.Match[str]) -> str:
        return match[0].replace(match["id"], ID) if match["id"] in ids else match[0]

    request, says, words = reason.partition("says: ")
    return IN_PATH.sub(put, request) + says + NUMBER.sub(put, words)


def _listed(ids: list[str]) -> str:
    rest = len(ids) - IDS_SHOWN
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {rest} more ({len(ids)} in all)" if rest > 0 else "")


#: Takes a slice as soon as it is committed, with its partitions, and metadata beside its counts.
Report = Callable[[Loaded, Iterable[str], Mapping[str, str | int]], None]


@dataclass
class RunResults:
    """The loaded slices of a run, and the reasons why other slices could not be loaded."""

    loaded: list[Loaded] = field(default_factory=list)
    #: Messages about what failed beside slices.
    problems: list[str] = field(default_factory=list)
    #: Why schools, or all schools, were read no further.
    halts: list[PlatformUnavailable] = field(default_factory=list)

    def is_halted(self, school_id: int) -> bool:
        """Whether a school is read no further."""
        return any(halt.concerns(school_id) for halt in self.halts)
