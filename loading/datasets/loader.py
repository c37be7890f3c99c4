"""One dataset of one school into the lake, segment by segment: in full, or only what changed."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from campus.datasets.differences import find_differences
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Span, count, read_segment, read_spans, read_whole_segment
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.http.events import Tally
from campus.registry import DATASETS
from loading.commit import (
    STORAGE_ERRORS,
    Loaded,
    commit_slice,
    confirm_slice,
    fail_slice,
    reading_of,
    traffic_of,
)
from loading.datasets.tables import AskedDataset, segment_slice
from loading.runtime import Cause, Runtime
from loading.slice_context import SliceContext
from loading.stage import Stage, open_stage
from loading.tables import TABLES, slice_of
from loading.threads import in_thread
from warehouse.lake.delta import Lake
from warehouse.lake.tables import SYNCED_AT, Slice
from warehouse.load.dataset_plans import Plan
from warehouse.load.load_log import SliceStatus
from warehouse.load.schema_evolution import evolve
from warehouse.load.slice_reading import KeyRange
from warehouse.load.stage import StagedFile
from warehouse.load.watermark import (
    MergePreview,
    is_due_whole,
    keys_after,
    live_rows,
    preview_merge,
    watermark,
)


@dataclass(frozen=True)
class LoadedSegment:
    """The outcome of a segment, with what Dagster shows of it."""

    table: str
    segment: int
    loaded: Loaded
    metadata: Mapping[str, str | int]


@dataclass(frozen=True)
class LastUpdate:
    """When the platform says that anything of a dataset was updated last, and since which discovery it has
    said so."""

    updated_at: datetime
    said_since: datetime


def last_updates(lake: Lake, school_id: int) -> dict[str, LastUpdate]:
    """What the platform says of a school's datasets, as the last discovery found it; by name, of those of
    which it says anything."""
    columns = ["name", "last_updated_at", SYNCED_AT]
    rows = lake.read(TABLES[DATASETS.name], slice_of(DATASETS, school_id), columns).to_pylist()
    return {
        row["name"]: LastUpdate(row["last_updated_at"], row[SYNCED_AT])
        for row in rows
        if row["last_updated_at"] is not None
    }


class DatasetLoader:
    """Loads segments of one dataset of one school.

    `segments`: those of this run. `standings`: of the dataset's slices. `commits` lets one slice at a time be
    compared and committed, which bounds the memory; the others go on reading meanwhile. `last_update`: what
    the platform says of the dataset as a whole."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        plan: Plan,
        asked: AskedDataset,
        segments: Sequence[int],
        standings: Mapping[str, SliceStatus],
        commits: asyncio.Lock,
        last_update: LastUpdate | None = None,
    ) -> None:
        self._runtime, self._client, self._cause = runtime, client, cause
        self._plan, self._asked, self._commits = plan, asked, commits
        self._settings = runtime.datasets
        self._evolved = evolve(runtime.lake, asked.table)
        self._standings, self._last_update = standings, last_update
        updated_at = asked.source.updated_at
        self._held = live_rows(
            runtime.lake,
            self._evolved.table,
            [self._slice(segment) for segment in segments],
            None if updated_at is None else self._evolved.columns[updated_at],
            standings,
        )

    @property
    def school_id(self) -> int:
        """The school of the dataset."""
        return self._plan.school_id

    def is_done(self, segment: int, committed: Mapping[tuple[str, str], datetime]) -> bool:
        """Whether this run's cause has committed the segment, as it is asked for now."""
        when = committed.get((self._evolved.table.name, str(self._slice(segment))))
        return when is not None and when >= self._plan.valid_since

    async def load(self, segment: int) -> LoadedSegment:
        """Load one segment; a failure is an outcome."""
        slice = self._slice(segment)
        read = RecordsRead()
        tally = read.account.tally
        try:
            if self._is_unmoved(slice):
                loaded = self._confirm(slice, read, None)
                return LoadedSegment(self._plan.table, segment, loaded, self._metadata(loaded, read, slice))
            since = self._since(slice)
            done = None if since is None else await self._load_changes(segment, slice, since, tally)
            loaded, read = done or await self._load_whole(segment, slice, tally)
        except (CampusError, *STORAGE_ERRORS) as error:
            loaded = fail_slice(self._context(slice), str(error))
        return LoadedSegment(self._plan.table, segment, loaded, self._metadata(loaded, read, slice))

    def _slice(self, segment: int) -> Slice:
        return segment_slice(self._plan.school_id, segment)

    def _span(self, segment: int) -> Span | None:
        return None if self._plan.width is None else Span.of(segment, self._plan.width)

    def _standing(self, slice: Slice) -> SliceStatus | None:
        """How far a segment can be relied on; None: not at all, as it is asked for now."""
        standing = self._standings.get(str(slice), SliceStatus())
        known = standing.complete_at
        if (
            self._cause.full
            or self._asked.signature != self._plan.signature
            or known is None
            or known < self._plan.valid_since
        ):
            return None
        return standing

    def _is_unmoved(self, slice: Slice) -> bool:
        """Whether nothing of the dataset was updated since the segment was loaded: the platform says so, and
        nothing that is held speaks against it."""
        standing, last, latest = self._standing(slice), self._last_update, self._held[slice].latest
        if standing is None or last is None or standing.complete_at is None or standing.quarantined:
            return False
        if is_due_whole(standing, self._settings.incremental, self._cause.started_at):
            return False
        is_contradicted = latest is not None and latest > last.updated_at
        return last.said_since <= standing.complete_at and not is_contradicted

    def _since(self, slice: Slice) -> datetime | None:
        """From when on changes are asked for; None: the segment is read in full."""
        standing = self._standing(slice)
        if standing is None or self._asked.source.updated_at is None or self._plan.width is None:
            return None
        return watermark(
            standing,
            self._held[slice],
            self._settings.incremental,
            self._cause.started_at,
            self._client.clock_skew,
        )

    async def _load_changes(
        self, segment: int, slice: Slice, since: datetime, tally: Tally
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load what changed, and the ids around deleted rows. Returns None where the segment must be read in
        full: the platform does not count its rows, or its count does not fit in the end."""
        span = self._span(segment)
        assert span is not None
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            read = await read_segment(
                self._client,
                self._asked.source,
                span,
                self._settings.limit,
                since,
                stage.write,
                tally,
            )
            total = await count(self._client, self._asked.source, span, read.account.tally)
            if total is None or not read.account.complete:
                return None
            if not read.incremental:
                # Older records came as well. All there are, or does the platform take the filter otherwise?
                if total != read.account.received:
                    return None
                read.account.server_total = total
            else:
                preview = await self._preview_merge(stage, since, read)
                if read.account.bad:
                    return None
                if preview.missing or total != preview.alive:
                    changes = stage.writer.finish()
                    return await self._load_differences(span, slice, since, changes, read, total)
                if not preview.changed:
                    return self._confirm(slice, read, total), read
            return await self._commit(stage, read, total), read

    async def _load_differences(
        self, span: Span, slice: Slice, since: datetime, changes: StagedFile, read: RecordsRead, total: int
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load what changed, and the ranges of ids whose counts do not fit. Returns None where the segment
        must be read in full."""
        client, source, account = self._client, self._asked.source, read.account
        lake, table = self._runtime.lake, self._evolved.table
        ids = await in_thread(keys_after, lake, table, slice, changes.path)
        spans = await find_differences(client, source, ids, span, total, account.tally)
        if not spans:
            return None
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            await in_thread(stage.writer.copy, changes)
            await read_spans(client, source, spans, self._settings.limit, stage.write, read)
            now = await count(client, source, span, account.tally)
            preview = await self._preview_merge(stage, since, read)
            if now is None or now != preview.alive or preview.missing or account.bad or not account.complete:
                return None
            return await self._commit(stage, read, now), read

    async def _preview_merge(self, stage: Stage, since: datetime, read: RecordsRead) -> MergePreview:
        context, staged = stage.context, stage.writer.finish()
        updated_at = self._evolved.columns[self._asked.source.updated_at or ""]
        lake, table, slice = context.runtime.lake, context.table, context.slice
        return await in_thread(
            preview_merge, lake, table, slice, staged.path, since, updated_at, _ranges(read)
        )

    async def _load_whole(self, segment: int, slice: Slice, tally: Tally) -> tuple[Loaded, RecordsRead]:
        span = self._span(segment)
        source, limit = self._asked.source, self._settings.limit
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            if span is None:
                read = await read_pages(self._client, source, limit, stage.write, self._runtime.scratch)
            else:
                read = await read_whole_segment(self._client, source, span, limit, stage.write, tally)
            return await self._commit(stage, read), read

    def _context(self, slice: Slice) -> SliceContext:
        return SliceContext(self._runtime, self._cause, self._asked.spec, slice, self._evolved.table)

    async def _commit(self, stage: Stage, read: RecordsRead, total: int | None = None) -> Loaded:
        """Commit a segment. total: how many records the platform says it has, where it was asked."""
        async with self._commits:
            return await in_thread(self._commit_read, stage, read, total)

    def _commit_read(self, stage: Stage, read: RecordsRead, total: int | None) -> Loaded:
        account = read.account
        reading = reading_of(stage.context, stage.writer, account)
        reading = replace(
            reading,
            server_total=reading.server_total if total is None else total,
            alive_total=total,
            incremental=read.incremental,
            ranges=_ranges(read),
            failures=tuple(account.notes),
        )
        return commit_slice(stage.context, reading, self._runtime.guard, account.began)

    def _confirm(self, slice: Slice, read: RecordsRead, total: int | None) -> Loaded:
        return confirm_slice(self._context(slice), read.account, total)

    def _metadata(self, loaded: Loaded, read: RecordsRead, slice: Slice) -> dict[str, str | int]:
        seconds = loaded.seconds or time.monotonic() - read.account.began
        outcome = loaded.outcome
        counts: dict[str, int] = {
            "dagster/row_count": self._held[slice].alive if outcome is None else outcome.counts.are_alive,
            "received": read.account.received,
            "rows/s": round(read.account.received / seconds) if seconds else 0,
            **traffic_of(read.account),
            "quarantined": len(read.account.bad),
        }
        if outcome is not None:
            tally = outcome.counts
            counts |= {"new": tally.new, "changed": tally.changed, "vanished": tally.vanished}
        if read.cursor is not None:
            counts["cursor"] = read.cursor
        how = "only what changed" if read.incremental else "in full"
        if read.spans:
            how = f"what changed, and {len(read.spans)} ranges of ids in full"
        return {"status": loaded.status, "read": how, **counts}


def _ranges(read: RecordsRead) -> tuple[KeyRange, ...]:
    return tuple((span.first, span.last) for span in read.spans)
