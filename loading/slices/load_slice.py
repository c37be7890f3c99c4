"""Loads slices, from the platform to the lake: read, stage, merge, commit, log."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from campus.account import Account, Tally
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, NotFound, PlatformUnavailable
from campus.plan.modes import unit_in_words
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from loading.connection.runtime import Runtime
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    commit_slice,
    confirm_slice,
    fail_slice,
    guard_of,
    reading_of,
)
from loading.slices.failure_messages import failures
from loading.slices.read_changes import read_changes, since_of, staging_context
from loading.slices.retained_rows import retained_rows
from loading.slices.slice_context import SliceContext
from loading.slices.stage import Stage, open_stage
from loading.slices.strategies import Strategy
from loading.tables import slice_of
from loading.threads import in_thread
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import SliceStatus, SliceStatuses, slice_status, slice_statuses
from warehouse.load.slice_reading import Cause, RequestedRows


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

    async def load(
        self, slices: Mapping[ResourceSpec, Slice], strategy: Strategy, *, again: bool = True
    ) -> list[Loaded]:
        """Load one slice, or several slices that come together (see campus.decoding.nested). A failure is an
        outcome, so that the other slices go on.

        Args:
            again: Also loads slices that the run's cause has committed.

        Raises:
            PlatformUnavailable: The platform cannot be asked further.
        """
        contexts = [self.context(spec, slice) for spec, slice in slices.items()]
        if not again and all(map(self.is_committed, contexts)):
            message = "already loaded by this sync"
            return [Loaded(context.spec, context.slice, "skipped", message) for context in contexts]
        tally = Tally()
        try:
            if strategy.changes_of is not None:
                [context] = contexts
                loaded = await self._load_changes(context, strategy.changes_of, tally)
                if loaded is not None:
                    return [loaded]
            return await self._load_rows(contexts, strategy, tally)
        except PlatformUnavailable as halt:
            for context in contexts:
                fail_slice(context, str(halt))
            raise
        except (CampusError, *STORAGE_ERRORS) as error:
            is_refused = isinstance(error, (Forbidden, NotFound))
            return [replace(fail_slice(context, str(error)), refused=is_refused) for context in contexts]

    def context(self, spec: ResourceSpec, slice: Slice) -> SliceContext:
        """A slice in this run."""
        return SliceContext.of(self.runtime, self.cause, spec, slice)

    def is_committed(self, context: SliceContext) -> bool:
        """Whether the run's cause has committed the slice, after the rows that its requests name."""
        spec, label = context.spec, str(context.slice)
        own = self._committed.get((spec.name, label))
        parent = self._committed.get((spec.child_of or "", label))
        return own is not None and (parent is None or parent <= own)

    def slice_status(self, table_name: str, slice: Slice) -> SliceStatus:
        """The status of a slice when this run first read the slices of its school."""
        school_id = slice.school_id
        if school_id not in self._statuses:
            self._statuses[school_id] = slice_statuses(self.runtime.lake, school_id)
        return slice_status(self._statuses[school_id], table_name, slice)

    async def _load_rows(
        self, contexts: Sequence[SliceContext], strategy: Strategy, tally: Tally
    ) -> list[Loaded]:
        """Load the rows that a strategy requests."""
        with ExitStack() as stack:
            stages = [stack.enter_context(open_stage(context)) for context in contexts]
            collectors = {
                stage.context.spec: Collector(
                    stage.context.spec, str(stage.context.slice), stage.write, self.runtime.listener
                )
                for stage in stages
            }
            next(iter(collectors.values())).account.tally = tally
            await strategy.fill(collectors)
            async with self._commits:
                return [
                    await in_thread(
                        _commit_rows,
                        stage,
                        collectors[stage.context.spec].account,
                        strategy.requested.get(stage.context.spec),
                        follows=strategy.follows,
                    )
                    for stage in stages
                ]

    async def _load_changes(self, context: SliceContext, query: SliceQuery, tally: Tally) -> Loaded | None:
        """Load the changes of a slice. None: all rows have to be read."""
        status = self.slice_status(context.table.name, context.slice)
        since = since_of(context, self.client, query, status)
        if since is None:
            return None
        with open_stage(staging_context(context)) as stage:
            changes = await read_changes(context, self.client, replace(query, since=since), stage, tally)
            if changes is None:
                return None
            if not changes.has_changes:
                return confirm_slice(context, changes.account, changes.total)
            reading = replace(
                reading_of(context, stage.writer, changes.account),
                incremental=changes.incremental,
                alive_total=changes.total,
            )
            async with self._commits:
                return await in_thread(commit_slice, context, reading, guard_of(context))


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
