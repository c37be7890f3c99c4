"""Loads a slice as its job says: skipped, confirmed, read in full, or its changes alone.

Changes are rows that the platform filters by their last update. The filter is not trusted. The changes must
include all rows that the lake knows to be as recent, and the slice with the changes must have as many rows as
the platform counts. Otherwise the slice is read in full."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import pyarrow as pa

from campus.account import Account, Tally
from campus.contracts.fields import column_names
from campus.decoding.definition import UPDATED_AT
from campus.fetch.reader import Reader, drive_readings
from campus.http.client import Client
from campus.http.errors import CampusError, Refused, Unauthorized
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.slice import NamedRows, count, read_slice, slice_source
from campus.sources.units import read_units
from loading.slices.commit import Loaded, commit_slice, confirm_slice, fail_slice
from loading.slices.loader import ALREADY_LOADED, Loader, Requested, failures_as_outcomes, in_thread, staged
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import slice_of
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import SliceStatus
from warehouse.load.watermark import MergePreview, live_rows, preview_merge, watermark


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

    async def load(self, loader: Loader) -> list[Loaded]:
        """Load the slices. A failure is an outcome, so that other slices go on.

        Raises PlatformUnavailable: the platform cannot be asked further."""
        if self.action != "read":
            return [self._without_reading(context) for context in self.contexts]
        tally, loaded = Tally(), list[Loaded]()
        with failures_as_outcomes(self.contexts, loaded):
            if self.changes_first:
                loaded += await self._load_changes(loader, tally)
            # Where the platform refuses to name rows, the list of all rows has them, too.
            attempts = [self.named, None] if self.or_all else [self.named]
            while attempts and not loaded:
                named = attempts.pop(0)
                with staged(self.contexts, tally) as slices:
                    collectors = [staged_slice.collector for staged_slice in slices]
                    source = slice_source(loader.client, self.query, collectors, named)
                    try:
                        units = await drive_readings(source.reader, source.units)
                        await read_units(source.reader, units, source.rows_of, source.sink)
                    except Refused:
                        if not attempts:
                            raise
                        continue
                    outcomes = await loader.commit(slices, self.requested, follows=self.follows)
                    row_ids = frozenset(source.sink.row_ids)
                    loaded += [replace(result, row_ids=row_ids) for result in outcomes]
        return loaded

    async def _load_changes(self, loader: Loader, tally: Tally) -> list[Loaded]:
        """Load the changes of a slice. Empty: all rows have to be read."""
        [context] = self.contexts
        status = loader.slice_status(context.table.name, context.slice)
        since = since_of(context, loader.client, self.query, status)
        if since is None:
            return []
        with open_stage(staging_context(context)) as stage:
            query = replace(self.query, since=since)
            changes = await read_changes(context, loader.client, query, stage, tally)
            if changes is None:
                return []
            if not changes.has_changes:
                return [confirm_slice(context, changes.account, changes.total)]
            reading = replace(
                stage.reading(changes.account), incremental=changes.incremental, alive_total=changes.total
            )
            return [await loader.in_turn(commit_slice, context, reading)]

    def _without_reading(self, context: SliceContext) -> Loaded:
        match self.action:
            case "skip":
                return Loaded(context.spec, context.slice, "skipped", ALREADY_LOADED)
            case "confirm":
                return confirm_slice(context, Account(), None)
            case _:
                return fail_slice(context, self.message)


def store_rows(context: SliceContext, rows: pa.Table) -> Loaded:
    """Replace all rows of a slice by `rows`, shaped as by `campus.decoding.page.to_batch`."""
    with open_stage(context) as stage:
        for batch in rows.to_batches():
            stage.write(batch)
        return commit_slice(context, stage.reading(Account(received=rows.num_rows, server_total=None)))


def slice_of_query(spec: ResourceSpec, query: SliceQuery) -> Slice:
    """The slice of a resource that a query is about."""
    assert query.school_id is not None
    return slice_of(spec, query.school_id, query.semester_id)


@dataclass(frozen=True)
class ReadChanges:
    """Changes of a slice that are proven to be complete."""

    account: Account
    #: Rows by the platform's count.
    total: int
    #: Some of the changes are new to the lake.
    has_changes: bool
    #: The platform sent the changes only, and not all rows.
    incremental: bool


def since_of(
    context: SliceContext, client: Client, query: SliceQuery, status: SliceStatus
) -> datetime | None:
    """The time since which the changes of a slice suffice. None: the slice is read in full."""
    runtime, cause, spec, slice = context.runtime, context.cause, context.spec, context.slice
    if cause.full or spec.updated_since is None or status.complete_at is None:
        return None
    if client.capabilities.rejects(spec.path, spec.updated_since) or UPDATED_AT not in column_names(
        spec.contract
    ):
        return None
    # A class that is gone took its rows with it. The count cannot show that if as many rows were added.
    if not query.ids_with_rows.issubset(query.parents):
        return None
    [rows] = live_rows(runtime.lake, context.table, [slice], UPDATED_AT, {str(slice): status}).values()
    return watermark(status, rows, runtime.incremental, cause.started_at, client.clock_skew)


async def read_changes(
    context: SliceContext, client: Client, query: SliceQuery, stage: Stage, tally: Tally
) -> ReadChanges | None:
    """Read the changes of a slice since `query.since` into its stage. None: the slice has to be read in full.

    A filter that the platform rejects is not sent again by this client.

    Raises:
        Unauthorized: As reading in full would.
    """
    spec, slice = context.spec, context.slice
    assert query.since is not None and spec.updated_since is not None
    collector = Collector(_without_unsent_key(spec), str(slice), stage.write, context.runtime.listener)
    account = collector.account
    account.tally = tally
    try:
        total = await count(Reader(client, query.school_id, spec.scopes, tally), spec, query)
        if total is None:
            return None
        await read_slice(client, query, [collector])
    except Unauthorized:
        raise
    except CampusError:
        client.capabilities.reject(spec.path, spec.updated_since)
        return None
    if account.failed or account.bad or not account.complete:
        return None
    preview = await in_thread(
        preview_merge,
        context.runtime.lake,
        context.table,
        slice,
        stage.writer.finish().path,
        query.since,
        UPDATED_AT,
    )
    account.server_total = total
    return check_changes(account, preview, total, numbered=spec.numbered is not None)


def check_changes(
    account: Account, preview: MergePreview, total: int, *, numbered: bool
) -> ReadChanges | None:
    """Check changes that were read without a failure. None: they prove nothing.

    Args:
        total: Live rows by the platform's count.
        numbered: The number of a row depends on rows that were not requested."""
    if account.older:
        # The platform ignores the filter. It sent all rows if the count agrees.
        whole = not numbered and preview.sent_alive == total
        return ReadChanges(account, total, has_changes=True, incremental=False) if whole else None
    if preview.missing or preview.alive != total or (numbered and preview.changed):
        return None
    return ReadChanges(account, total, has_changes=preview.changed > 0, incremental=True)


def _without_unsent_key(spec: ResourceSpec) -> ResourceSpec:
    """A numbered resource without the part of its key that rows may lack."""
    if spec.numbered is None:
        return spec
    key = tuple(name for name in spec.primary_key if name != spec.unit_column)
    return replace(spec, primary_key=key)


def staging_context(context: SliceContext) -> SliceContext:
    """The context to stage changes in. The rows of a numbered resource lack a part of their key."""
    if context.spec.numbered is None:
        return context
    return replace(context, table=replace(context.table, nullable_key=context.table.primary_key))
