"""Loads segments of datasets into the lake, several at a time: in full, or only their changes.

A stop loses at most the segments in flight: a retry skips segments that its cause has committed.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from campus.account import Account
from campus.datasets.differences import find_differences
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Span, count, read_segment, read_spans, read_whole_segment
from campus.datasets.selection import SelectionError
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable
from campus.http.events import Event, Listener
from campus.registry import DATASETS
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.datasets.tables import (
    DatasetSpec,
    LastUpdate,
    dataset_spec,
    definitions_of,
    last_updates,
    segment_slice,
)
from loading.partition_keys import segment_key
from loading.slices.commit import (
    STORAGE_ERRORS,
    Loaded,
    Report,
    RunResults,
    commit_slice,
    confirm_slice,
    fail_slice,
    reading_of,
)
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import slice_of
from loading.threads import in_thread
from warehouse.lake.tables import Slice
from warehouse.load.logs.dataset_plans import Plan, read_plans
from warehouse.load.logs.load_log import SliceStatus, committed, slice_status, slice_statuses, traffic
from warehouse.load.schema_evolution import evolve
from warehouse.load.slice_reading import Cause
from warehouse.load.stage import StagedFile
from warehouse.load.watermark import (
    MergePreview,
    keys_after,
    live_rows,
    preview_merge,
    watermark,
)
from warehouse.load.whole_readings import is_due_whole

#: By the words of Dagster.
Metadata = Mapping[str, str | int]


class DatasetLoader:
    """Loads segments of one dataset of one school.

    Attributes:
        segments: The segments of this run.
        standings: Of the dataset's slices.
        commits: Bounds the memory: one slice at a time merges and commits, while others go on reading.
        last_update: None: the platform states none.
    """

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        plan: Plan,
        dataset: DatasetSpec,
        segments: Sequence[int],
        standings: Mapping[str, SliceStatus],
        commits: asyncio.Lock,
        last_update: LastUpdate | None = None,
    ) -> None:
        self._runtime, self._client, self._cause = runtime, client, cause
        self._plan, self._dataset, self._commits = plan, dataset, commits
        self._settings = runtime.datasets
        self._evolved = evolve(runtime.lake, dataset.table)
        self._standings, self._last_update = standings, last_update
        updated_at = dataset.source.updated_at
        self._stored = live_rows(
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

    def partition(self, segment: int) -> str:
        """The key of a segment's partition."""
        return segment_key(self.school_id, self._plan.table, segment)

    def is_done(self, segment: int, committed: Mapping[tuple[str, str], datetime]) -> bool:
        """Whether this run's cause has committed the segment under the present plan."""
        when = committed.get((self._evolved.table.name, str(self._slice(segment))))
        return when is not None and when >= self._plan.valid_since

    async def load(self, segment: int) -> tuple[Loaded, Metadata]:
        """Load one segment; a failure is an outcome. Dagster shows the metadata."""
        width, slice = self._plan.width, self._slice(segment)
        span = None if width is None else Span.of(segment, width)
        reader = Reader(self._client, self.school_id, DATASETS.scopes)
        read = RecordsRead(Account(tally=reader.tally))
        try:
            if self._is_unchanged(slice):
                loaded = confirm_slice(self._context(slice), read.account, None)
            else:
                changes = None
                if span is not None and (since := self._since(slice)) is not None:
                    changes = await self._load_changes(reader, slice, span, since)
                loaded, read = changes or await self._load_whole(reader, slice, span)
        except (CampusError, *STORAGE_ERRORS) as error:
            loaded = fail_slice(self._context(slice), str(error))
        return loaded, self._metadata(loaded, read, slice)

    def _slice(self, segment: int) -> Slice:
        return segment_slice(self._plan.school_id, segment)

    def _standing(self, slice: Slice) -> SliceStatus | None:
        """The status of a segment; None: it must be read in full."""
        standing = self._standings.get(str(slice), SliceStatus())
        if self._cause.full or self._dataset.signature != self._plan.signature:
            return None
        is_planned_anew = standing.complete_at is None or standing.complete_at < self._plan.valid_since
        return None if is_planned_anew else standing

    def _is_unchanged(self, slice: Slice) -> bool:
        """Whether the dataset has had no update since the segment was loaded, as the platform states it and
        the stored rows do not contradict it."""
        standing, last, latest = self._standing(slice), self._last_update, self._stored[slice].latest
        if standing is None or last is None or standing.complete_at is None or standing.quarantined:
            return False
        if is_due_whole(standing.whole_at, self._settings.incremental.whole_days, self._cause.started_at):
            return False
        is_contradicted = latest is not None and latest > last.updated_at
        return last.stated_at <= standing.complete_at and not is_contradicted

    def _since(self, slice: Slice) -> datetime | None:
        """The watermark from which changes are requested; None: the segment is read in full."""
        standing = self._standing(slice)
        if standing is None or self._dataset.source.updated_at is None:
            return None
        return watermark(
            standing,
            self._stored[slice],
            self._settings.incremental,
            self._cause.started_at,
            self._client.clock_skew,
        )

    async def _load_changes(
        self, reader: Reader, slice: Slice, span: Span, since: datetime
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load the changes, and the ids around deleted rows. Returns None where the segment must be read in
        full: the platform does not count its rows, or its count does not fit in the end."""
        source, limit = self._dataset.source, self._settings.limit
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            read = await read_segment(reader, source, span, limit, since, stage.write)
            total = await count(reader, source, span)
            if total is None or not read.account.complete:
                return None
            if not read.incremental:
                # The platform ignores the filter and sent all rows, or reads the filter in another way.
                if total != read.account.different_rows:
                    return None
                read.account.server_total = total
            else:
                preview = await self._preview_merge(stage, since, read)
                if read.account.bad:
                    return None
                if preview.missing or total != preview.alive:
                    changes = stage.writer.finish()
                    return await self._load_differences(reader, slice, span, since, changes, read, total)
                if not preview.changed:
                    return confirm_slice(self._context(slice), read.account, total), read
            return await self._commit(stage, read, total), read

    async def _load_differences(
        self,
        reader: Reader,
        slice: Slice,
        span: Span,
        since: datetime,
        changes: StagedFile,
        read: RecordsRead,
        total: int,
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load the changes, and the ranges of ids whose counts do not fit. Returns None where the segment
        must be read in full."""
        source, account, table = self._dataset.source, read.account, self._evolved.table
        ids = await in_thread(keys_after, self._runtime.lake, table, slice, changes.path)
        spans = await find_differences(reader, source, ids, span, total)
        if not spans:
            return None
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            await in_thread(stage.writer.copy, changes)
            await read_spans(reader, source, spans, self._settings.limit, stage.write, read)
            now = await count(reader, source, span)
            preview = await self._preview_merge(stage, since, read)
            if now is None or now != preview.alive or preview.missing or account.bad or not account.complete:
                return None
            return await self._commit(stage, read, now), read

    async def _preview_merge(self, stage: Stage, since: datetime, read: RecordsRead) -> MergePreview:
        context, staged = stage.context, stage.writer.finish()
        updated_at = self._evolved.columns[self._dataset.source.updated_at or ""]
        lake, table, slice = context.runtime.lake, context.table, context.slice
        return await in_thread(preview_merge, lake, table, slice, staged.path, since, updated_at, read.spans)

    async def _load_whole(
        self, reader: Reader, slice: Slice, span: Span | None
    ) -> tuple[Loaded, RecordsRead]:
        source, limit = self._dataset.source, self._settings.limit
        with open_stage(self._context(slice), evolved=self._evolved) as stage:
            if span is None:
                read = await read_pages(reader, source, limit, stage.write, self._runtime.scratch)
            else:
                read = await read_whole_segment(reader, source, span, limit, stage.write)
            return await self._commit(stage, read), read

    def _context(self, slice: Slice) -> SliceContext:
        return SliceContext(self._runtime, self._cause, self._dataset.resource, slice, self._evolved.table)

    async def _commit(self, stage: Stage, read: RecordsRead, total: int | None = None) -> Loaded:
        """Merge and commit a segment. total: the platform's count, where it was requested."""
        account = read.account
        if total is not None:
            account.server_total = total

        def commit_read() -> Loaded:
            reading = replace(
                reading_of(stage.context, stage.writer, account),
                alive_total=total,
                incremental=read.incremental,
                ranges=read.spans,
                failures=tuple(account.proofs),
            )
            return commit_slice(stage.context, reading, self._runtime.guard)

        async with self._commits:
            return await in_thread(commit_read)

    def _metadata(self, loaded: Loaded, read: RecordsRead, slice: Slice) -> Metadata:
        seconds = loaded.seconds or time.monotonic() - read.account.began
        outcome = loaded.outcome
        counts: dict[str, int] = {
            "dagster/row_count": self._stored[slice].alive if outcome is None else outcome.counts.are_alive,
            "received": read.account.received,
            "rows/s": round(read.account.received / seconds) if seconds else 0,
            **traffic(read.account.tally),
            "quarantined": len(read.account.bad),
        }
        if outcome is not None:
            rows = outcome.counts
            counts |= {"new": rows.new, "changed": rows.changed, "vanished": rows.vanished}
        if read.cursor is not None:
            counts["cursor"] = read.cursor
        extent = "only what changed" if read.incremental else "in full"
        if read.spans:
            extent = f"what changed, and {len(read.spans)} ranges of ids in full"
        return {"status": loaded.status, "read": extent, **counts}


#: A segment to load.
Job = tuple[DatasetLoader, int]


async def load_segments(
    runtime: Runtime,
    cause: Cause,
    segments: Mapping[int, Mapping[str, list[int]]],
    names: Collection[str],
    report: Report,
) -> RunResults:
    """Load segments of datasets, as `Kind` loads. `segments`: by school and table of the dataset."""
    run = RunResults()
    loaded: dict[Job, Loaded] = {}
    async with connected(runtime, [DATASETS.scopes]) as client:
        jobs, run.problems = _jobs(runtime, client, cause, segments)
        total = Counter(loader for loader, _ in jobs)
        finished: dict[DatasetLoader, list[Loaded]] = defaultdict(list)
        # Segments that were loaded while empty responses still counted. They are loaded again once a later
        # request contradicts an empty response.
        unconfirmed: list[Job] = []

        async def work() -> None:
            while jobs:
                job = loader, segment = jobs.popleft()
                if run.is_halted(loader.school_id):
                    continue
                if not client.capabilities.confirmation.contradicted:
                    unconfirmed.append(job)
                try:
                    outcome, metadata = await loader.load(segment)
                except PlatformUnavailable as halt:
                    run.halts.append(halt)
                    continue
                report(outcome, [loader.partition(segment)], metadata)
                loaded[job] = outcome
                finished[loader].append(outcome)
                if runtime.listener:
                    _report_progress(runtime.listener, finished[loader], total[loader])

        await run_together(work() for _ in range(min(runtime.datasets.segments_at_a_time, len(jobs))))
        if client.capabilities.confirmation.contradicted and unconfirmed:
            total.update(loader for loader, _ in unconfirmed)
            jobs.extend(unconfirmed)
            await run_together(work() for _ in range(runtime.datasets.segments_at_a_time))
    run.loaded = list(loaded.values())
    return run


def _jobs(
    runtime: Runtime, client: Client, cause: Cause, segments: Mapping[int, Mapping[str, list[int]]]
) -> tuple[deque[Job], list[str]]:
    """The segments to load, and messages about datasets that cannot be loaded."""
    jobs: deque[Job] = deque()
    problems: list[str] = []
    lake, selection = runtime.lake, runtime.datasets.selection
    done = committed(lake, cause.sync_id, segments)
    commits = asyncio.Lock()
    for school_id, tables in segments.items():
        plans = {plan.table: plan for plan in read_plans(lake, school_id)}
        statuses = slice_statuses(lake, school_id)
        # The last updates count only if the platform stated them in this very night or sync.
        is_stated = (DATASETS.name, str(slice_of(DATASETS, school_id))) in done
        updates = last_updates(lake, school_id) if is_stated else {}
        # A platform that shows no metadata may show no rows either.
        is_doubtful = slice_status(statuses, DATASETS.name, slice_of(DATASETS, school_id)).failed
        guard = replace(runtime.guard, handful=0) if is_doubtful else runtime.guard
        for table, numbers in tables.items():
            plan = plans.get(table)
            if plan is None:
                problems.append(f"school {school_id}: no dataset {table} is planned; run the discovery")
                continue
            definitions = definitions_of(plan)
            definition = definitions[plan.dataset]
            try:
                dataset = dataset_spec(selection, school_id, table, plan.path, definition, definitions)
                loader = DatasetLoader(
                    replace(runtime, guard=guard),
                    client,
                    cause,
                    plan,
                    dataset,
                    numbers,
                    statuses.get(dataset.table.name, {}),
                    commits,
                    updates.get(plan.dataset),
                )
            except SelectionError as error:
                problems.append(str(error))
                continue
            except STORAGE_ERRORS as error:
                problems.append(f"school {school_id}: lake table datasets.{table} cannot be read: {error}")
                continue
            jobs.extend((loader, number) for number in numbers if not loader.is_done(number, done))
    return jobs, problems


def _report_progress(listener: Listener, finished: Sequence[Loaded], total: int) -> None:
    """Report how many segments of a dataset are loaded."""
    last = finished[-1]
    listener(
        Event(
            "progress",
            f"{last.spec.name}: {len(finished)} of {total} segments",
            resource=last.spec.name,
            slice=str(last.slice.school_id),
            done=len(finished),
            total=total,
            rows=sum(loaded.outcome.received for loaded in finished if loaded.outcome),
        )
    )
