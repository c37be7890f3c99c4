"""Loads slices, from the platform to the lake: read, stage, merge, commit, log."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import pyarrow as pa

from campus.account import Account, Tally
from campus.fetch.reader import drive_readings
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, NotFound, PlatformUnavailable, Refused
from campus.plan.modes import unit_in_words
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import BATCH_ROWS, Collector
from campus.sources.slice import NamedRows, slice_source
from campus.sources.units import read_units
from loading.connection.runtime import Runtime
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    commit_slice,
    confirm_slice,
    fail_slice,
    failures,
    guard_of,
    reading_of,
)
from loading.slices.read_changes import read_changes, since_of, staging_context
from loading.slices.retained_rows import retained_rows
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import slice_of
from loading.threads import in_thread
from warehouse.lake.parquet import GROUP_BYTES
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import SliceStatus, SliceStatuses, slice_status, slice_statuses
from warehouse.load.slice_reading import Cause, RequestedRows

#: The rows that are requested of each slice. A resource without an entry: all rows of its slice.
Requested = Mapping[ResourceSpec, RequestedRows]
ALREADY_LOADED = "already loaded by this sync"


@dataclass(frozen=True, eq=False)
class SliceJob:
    """A slice to load, or several slices that come in the same responses, and how they are read."""

    contexts: tuple[SliceContext, ...]
    query: SliceQuery
    #: skip: this run's cause has committed them. confirm: they are known to be unchanged. fail: the rows that
    #: their requests name could not be loaded.
    action: Literal["read", "skip", "confirm", "fail"] = "read"
    #: Why it fails.
    message: str = ""
    #: Only these rows are requested; None: those that the query names.
    named: NamedRows | None = None
    #: All rows are requested where the platform refuses to name them.
    or_all: bool = False
    requested: Requested = field(default_factory=dict)
    #: As in `SliceReading`.
    follows: bool = False
    #: The changes are read first, and the whole slice only if they are not proven complete.
    changes_first: bool = False


@dataclass(frozen=True)
class StagedSlice:
    """A slice that is being read: its stage, and what collects its rows."""

    stage: Stage
    collector: Collector


@contextmanager
def staged(
    contexts: Sequence[SliceContext], tally: Tally | None = None, *, shares: int = 1
) -> Iterator[list[StagedSlice]]:
    """Open the stages of slices that are read together, until the block ends.

    Args:
        tally: Of earlier requests for them.
        shares: So many such blocks share the memory of one."""
    with ExitStack() as stack:
        slices = []
        for context in contexts:
            stage = stack.enter_context(open_stage(context, group_bytes=GROUP_BYTES // shares))
            spec, label, listener = stage.context.spec, str(stage.context.slice), context.runtime.listener
            collector = Collector(spec, label, stage.write, listener, BATCH_ROWS // shares)
            slices.append(StagedSlice(stage, collector))
        if tally is not None:
            slices[0].collector.account.tally = tally
        yield slices


@contextmanager
def failures_as_outcomes(contexts: Sequence[SliceContext], loaded: list[Loaded]) -> Iterator[None]:
    """Log an error of the block as the failure of its slices, and add their outcomes to `loaded`.

    Raises PlatformUnavailable: the platform cannot be asked further."""
    try:
        yield
    except PlatformUnavailable as halt:
        for context in contexts:
            fail_slice(context, str(halt))
        raise
    except (CampusError, *STORAGE_ERRORS) as error:
        is_refused = isinstance(error, (Forbidden, NotFound))
        loaded += [replace(fail_slice(context, str(error)), refused=is_refused) for context in contexts]


class Loader:
    """Loads slices in one run, and holds what they share: the lock of commits, and the state of the slices
    when the run first looked at their school.

    Args:
        committed: When the run's cause has committed slices before, by table and slice."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        committed: Mapping[tuple[str, str], datetime],
    ) -> None:
        self.runtime, self.client, self.cause = runtime, client, cause
        self._committed = committed
        # One commit at a time bounds the memory; the other slices go on reading meanwhile.
        self._commits = asyncio.Lock()
        self._statuses: dict[int, SliceStatuses] = {}

    async def load_slice(self, job: SliceJob) -> list[Loaded]:
        """Load the slices of a job. A failure is an outcome, so that other slices go on.

        Raises PlatformUnavailable: the platform cannot be asked further."""
        if job.action != "read":
            return [_without_reading(context, job) for context in job.contexts]
        tally, loaded = Tally(), list[Loaded]()
        with failures_as_outcomes(job.contexts, loaded):
            if job.changes_first:
                loaded += await self._load_changes(job, tally)
            # Where the platform refuses to name rows, the list of all rows has them, too.
            attempts = [job.named, None] if job.or_all else [job.named]
            while attempts and not loaded:
                named = attempts.pop(0)
                with staged(job.contexts, tally) as slices:
                    collectors = [staged_slice.collector for staged_slice in slices]
                    source = slice_source(self.client, job.query, collectors, named)
                    try:
                        units = await drive_readings(source.reader, source.units)
                        await read_units(source.reader, units, source.rows_of, source.sink)
                    except Refused:
                        if not attempts:
                            raise
                        continue
                    outcomes = await self.commit(slices, job.requested, follows=job.follows)
                    row_ids = frozenset(source.sink.row_ids)
                    loaded += [replace(result, row_ids=row_ids) for result in outcomes]
        return loaded

    async def commit(
        self, slices: Sequence[StagedSlice], requested: Requested | None = None, *, follows: bool = False
    ) -> list[Loaded]:
        """Commit slices that were read together, one after the other.

        Args:
            requested: As in `SliceJob`.
            follows: As in `SliceReading`."""
        async with self._commits:
            return [
                await in_thread(
                    _commit_rows,
                    staged_slice.stage,
                    staged_slice.collector.account,
                    (requested or {}).get(staged_slice.collector.spec),
                    follows=follows,
                )
                for staged_slice in slices
            ]

    def context(self, spec: ResourceSpec, slice: Slice) -> SliceContext:
        """A slice in this run."""
        return SliceContext.of(self.runtime, self.cause, spec, slice)

    def is_committed(self, context: SliceContext) -> bool:
        """Whether the run's cause has committed the slice, after the rows that its requests name."""
        own = self.committed_at(context)
        parent = self._committed.get((context.spec.child_of or "", str(context.slice)))
        return own is not None and (parent is None or parent <= own)

    def committed_at(self, context: SliceContext) -> datetime | None:
        """When the run's cause has committed the slice before. None: it has not."""
        return self._committed.get((context.spec.name, str(context.slice)))

    def slice_status(self, table_name: str, slice: Slice) -> SliceStatus:
        """The status of a slice when this run first read the slices of its school."""
        school_id = slice.school_id
        if school_id not in self._statuses:
            self._statuses[school_id] = slice_statuses(self.runtime.lake, school_id)
        return slice_status(self._statuses[school_id], table_name, slice)

    async def _load_changes(self, job: SliceJob, tally: Tally) -> list[Loaded]:
        """Load the changes of a slice. Empty: all rows have to be read."""
        [context] = job.contexts
        status = self.slice_status(context.table.name, context.slice)
        since = since_of(context, self.client, job.query, status)
        if since is None:
            return []
        with open_stage(staging_context(context)) as stage:
            changes = await read_changes(context, self.client, replace(job.query, since=since), stage, tally)
            if changes is None:
                return []
            if not changes.has_changes:
                return [confirm_slice(context, changes.account, changes.total)]
            reading = replace(
                reading_of(context, stage.writer, changes.account),
                incremental=changes.incremental,
                alive_total=changes.total,
            )
            async with self._commits:
                return [await in_thread(commit_slice, context, reading, guard_of(context))]


def _without_reading(context: SliceContext, job: SliceJob) -> Loaded:
    match job.action:
        case "skip":
            return Loaded(context.spec, context.slice, "skipped", ALREADY_LOADED)
        case "confirm":
            return confirm_slice(context, Account(), None)
        case _:
            return fail_slice(context, job.message)


def store_rows(context: SliceContext, rows: pa.Table) -> Loaded:
    """Replace all rows of a slice by `rows`, shaped as by `campus.decoding.page.to_batch`."""
    with open_stage(context) as stage:
        for batch in rows.to_batches():
            stage.write(batch)
        return _commit_rows(stage, Account(received=rows.num_rows, server_total=None))


def slice_of_query(spec: ResourceSpec, query: SliceQuery) -> Slice:
    """The slice of a resource that a query is about."""
    assert query.school_id is not None
    return slice_of(spec, query.school_id, query.semester_id)


def _commit_rows(
    stage: Stage, account: Account, requested: RequestedRows | None = None, *, follows: bool = False
) -> Loaded:
    context = stage.context
    reading = replace(
        reading_of(context, stage.writer, account),
        retained=retained_rows(context, account.failed),
        requested=requested,
        follows=follows,
        failures=failures(unit_in_words(context.spec), account.failed),
    )
    return commit_slice(context, reading, guard_of(context))
