"""Commits a slice to the lake, logs the load and returns its outcome; the rows that stay though the reading
lacks them; words about what failed."""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from campus.account import Account, Tally
from campus.http.errors import PlatformUnavailable
from campus.plan.modes import MODES, parents_of
from campus.registry import RESOURCES, ResourceSpec
from loading.slices.stage import SliceContext, forgotten_ids, open_stage, without_forgotten
from loading.tables import TABLES, values
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.commit import Guard, Outcome, SliceError, balance, commit
from warehouse.load.history.change_log import record_changes
from warehouse.load.logs.load_log import cause_columns, record_failure, record_load, traffic
from warehouse.load.merge import RowCounts
from warehouse.load.slice_reading import RetainedRows, SliceReading

# The errors between reading a slice and its commit. Each concerns one slice, and the other slices go on.
STORAGE_ERRORS = (duckdb.Error, DeltaError, pa.ArrowException, OSError)
# Each request for a person's transcripts names a row of this resource.
PEOPLE = RESOURCES["v1_users"]
# A message that lists more ids than this is read by nobody.
IDS_SHOWN = 20
# Replaces the id in a reason that many ids share.
ID = "{id}"
IN_PATH, NUMBER = re.compile("/(?P<id>[^/ :]+)"), re.compile(r"(?P<id>\d+)")


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
    #: The keys of its partitions, where the slice does not tell them.
    partitions: tuple[str, ...] = ()
    #: Metadata in Dagster beside its counts.
    metadata: Mapping[str, str | int] = field(default_factory=dict)


def commit_slice(context: SliceContext, reading: SliceReading, guard: Guard | None = None) -> Loaded:
    """Commit the rows that were read of a slice. A failure is an outcome, and is not raised.

    Args:
        guard: None: that of the slice."""
    lake, table, slice = context.runtime.lake, context.table, context.slice
    tally, began = reading.account.tally, reading.account.began
    try:
        reading = without_forgotten(lake, table, slice, reading)
        outcome = commit(lake, table, slice, reading, guard or guard_of(context), context.runtime.scratch)
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


def empty_slice(context: SliceContext, *, is_sure: bool = False, retires: bool = True) -> Loaded:
    """Empty a slice that is gone from the platform, if its guard allows it.

    Args:
        is_sure: Ignore the guard.
        retires: The slice is gone from the platform, and nothing was requested."""
    guard = guard_of(context)
    with open_stage(context) as stage:
        reading = replace(stage.reading(Account()), retires=retires)
        return commit_slice(context, reading, replace(guard, allowed=guard.allowed or is_sure))


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


def retained_rows(context: SliceContext, failed: Collection[int | str]) -> tuple[RetainedRows, ...]:
    """The rows that stay: of the forgotten, and of a class, item or type that could not be read.

    Args:
        failed: The classes, items or types."""
    spec, stay = context.spec, _of_forgotten(context)
    if not failed or spec.unit_column is None:
        return stay
    ids = unit_values(context.runtime.lake, spec, context.slice, tuple(failed))
    if MODES[spec.mode].rows_may_respell:
        ids = _spellings(context, spec.unit_column, ids)
    return (*stay, RetainedRows(spec.unit_column, ids))


def unit_values(
    lake: Lake, spec: ResourceSpec, slice: Slice, ids: tuple[int | str, ...]
) -> tuple[int | str, ...]:
    """The values of a resource's `unit_column` in the rows that belong to these classes or items."""
    if spec.unit_via is None:
        return ids
    return tuple(row_id for row_id, unit in units_by_row(lake, spec, slice).items() if unit in ids)


def units_by_row(lake: Lake, spec: ResourceSpec, slice: Slice) -> dict[int, int]:
    """The class of each row that a resource's `unit_column` names, where that is not the class itself."""
    via = RESOURCES[spec.unit_via or ""]
    column = via.unit_column or ""
    rows = lake.read(TABLES[via.name], slice, ["id", column], alive=False)
    return dict(zip(values(rows, "id"), values(rows, column), strict=True))


def _of_forgotten(context: SliceContext) -> tuple[RetainedRows, ...]:
    """The rows of the forgotten where each request names a person, as long as the person is there."""
    spec, lake, school_id = context.spec, context.runtime.lake, context.slice.school_id
    substitutes = forgotten_ids(lake, school_id)
    if not (substitutes and MODES[spec.mode].names_parents and spec.unit_column):
        return ()
    if parents_of(spec) != PEOPLE:
        return ()
    alive = lake.read(TABLES[PEOPLE.name], Slice.of(_school_id=school_id), ["id"])
    stay = substitutes.intersection(values(alive, "id"))
    return (RetainedRows(spec.unit_column, tuple(stay), failed=False),) if stay else ()


def _spellings(context: SliceContext, column: str, failed: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The types of stored terms that the failed types may stand for: a platform may send `graduates_in` for
    `system.graduates_in`, or words of its own."""
    requested = context.runtime.term_types
    failed_bare = {_bare(str(kind)) for kind in failed}
    read_bare = {_bare(kind) for kind in requested if kind not in failed}
    rows = context.runtime.lake.read(TABLES[context.spec.name], context.slice, [column], alive=False)
    unrequested = [kind for kind in {*values(rows, column)} if kind is not None and kind not in requested]
    return (
        *failed,
        *(kind for kind in unrequested if _bare(kind) in failed_bare or _bare(kind) not in read_bare),
    )


def _bare(kind: str) -> str:
    """A term's type without its prefix."""
    return kind.rpartition(".")[2]


def in_words(failed: Sequence[Loaded]) -> str:
    """The failed slices, a line for each reason."""
    slices_by_reason: dict[str, list[str]] = {}
    for loaded in failed:
        slices_by_reason.setdefault(loaded.message, []).append(f"{loaded.spec.name} {loaded.slice}")
    return "\n".join(f"{', '.join(slices)}: {reason}" for reason, slices in slices_by_reason.items())


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


#: Takes a slice as soon as it is committed.
Report = Callable[[Loaded], None]


@dataclass
class RunResults:
    """The loaded slices of a run, and the reasons why other slices could not be loaded."""

    loaded: list[Loaded] = field(default_factory=list)
    #: Messages about what failed beside slices.
    problems: list[str] = field(default_factory=list)
    #: Messages for the operator to read.
    notes: list[str] = field(default_factory=list)
    #: Why schools, or all schools, were read no further.
    halts: list[PlatformUnavailable] = field(default_factory=list)

    def is_halted(self, school_id: int) -> bool:
        """Whether a school is read no further."""
        return any(halt.concerns(school_id) for halt in self.halts)
