"""Reads the changes of a slice, where the platform can filter rows by their last update.

The filter is not trusted. The changes must include all rows that the lake knows to be as recent, and the
slice with the changes must have as many rows as the platform counts. Otherwise the slice is read in full."""

from dataclasses import dataclass, replace
from datetime import datetime

from campus.account import Account, Tally
from campus.contracts.fields import column_names
from campus.decoding.definition import UPDATED_AT
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError, Unauthorized
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.slice import count, read_slice
from loading.slices.stage import SliceContext, Stage
from loading.threads import in_thread
from warehouse.load.logs.load_log import SliceStatus
from warehouse.load.watermark import MergePreview, live_rows, preview_merge, watermark


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
