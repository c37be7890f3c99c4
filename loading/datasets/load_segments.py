"""Plans and loads segments of datasets, several at a time: in full, or only their changes.

A stop loses at most the segments in flight: a retry skips segments that its cause has committed.
"""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from campus.account import Account
from campus.datasets.differences import find_differences
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Span, count, read_segment, read_spans, read_whole_segment
from campus.datasets.selection import SelectionError
from campus.fetch.reader import Reader
from campus.http.errors import PlatformUnavailable
from campus.registry import DATASETS
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
from loading.slices.commit import STORAGE_ERRORS, Loaded, commit_slice, confirm_slice
from loading.slices.loader import Line, Loader, Plan, failures_as_outcomes, in_thread, side_by_side
from loading.slices.stage import SliceContext, Stage, open_stage
from loading.tables import slice_of
from warehouse.lake.tables import Slice
from warehouse.load.logs import dataset_plans
from warehouse.load.logs.load_log import SliceStatus, traffic
from warehouse.load.schema_evolution import Evolved, evolve
from warehouse.load.slice_reading import Cause
from warehouse.load.stage import StagedFile
from warehouse.load.watermark import LiveRows, MergePreview, keys_after, live_rows, preview_merge, watermark
from warehouse.load.whole_readings import is_due_whole


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset of a school, and what the lake has of it."""

    #: Its guard is that of the school's datasets.
    runtime: Runtime
    cause: Cause
    plan: dataset_plans.Plan
    spec: DatasetSpec
    evolved: Evolved
    #: Of the segments that are loaded.
    stored: Mapping[Slice, LiveRows]
    #: Of its slices, as text.
    statuses: Mapping[str, SliceStatus]
    #: None: the platform states none.
    last_update: LastUpdate | None


@dataclass(frozen=True, eq=False)
class SegmentJob:
    """A segment of a dataset to load."""

    dataset: Dataset
    segment: int

    @cached_property
    def context(self) -> SliceContext:
        """The slice in the run."""
        dataset, slice_ = self.dataset, segment_slice(self.dataset.plan.school_id, self.segment)
        return SliceContext(
            dataset.runtime, dataset.cause, dataset.spec.resource, slice_, dataset.evolved.table
        )

    async def load(self, loader: Loader) -> list[Loaded]:
        """Load the segment; a failure is an outcome.

        Raises PlatformUnavailable: the platform cannot be asked further."""
        context, plan = self.context, self.dataset.plan
        span = None if plan.width is None else Span.of(self.segment, plan.width)
        reader = Reader(loader.client, plan.school_id, DATASETS.scopes)
        read, loaded = RecordsRead(Account(tally=reader.tally)), list[Loaded]()
        with failures_as_outcomes([context], loaded, logs_halt=False):
            if self._is_unchanged():
                loaded.append(confirm_slice(context, read.account, None))
            else:
                changes = None
                if span is not None and (since := self._since(reader)) is not None:
                    changes = await self._load_changes(loader, reader, span, since)
                result, read = changes or await self._load_whole(loader, reader, span)
                loaded.append(result)
        [result] = loaded
        key = segment_key(plan.school_id, plan.table, self.segment)
        return [replace(result, partitions=(key,), metadata=self._metadata(result, read))]

    def _status(self) -> SliceStatus | None:
        """The status of the segment; None: it must be read in full."""
        plan, status = self.dataset.plan, self.dataset.statuses.get(str(self.context.slice), SliceStatus())
        if self.dataset.cause.full or self.dataset.spec.signature != plan.signature:
            return None
        is_planned_anew = status.complete_at is None or status.complete_at < plan.valid_since
        return None if is_planned_anew else status

    def _is_unchanged(self) -> bool:
        """Whether the dataset has had no update since the segment was loaded, as the platform states it and
        the stored rows do not contradict it."""
        dataset, status = self.dataset, self._status()
        last, latest = dataset.last_update, dataset.stored[self.context.slice].latest
        if status is None or last is None or status.complete_at is None or status.quarantined:
            return False
        whole_days = dataset.runtime.datasets.incremental.whole_days
        if is_due_whole(status.whole_at, whole_days, dataset.cause.started_at):
            return False
        is_contradicted = latest is not None and latest > last.updated_at
        return last.stated_at <= status.complete_at and not is_contradicted

    def _since(self, reader: Reader) -> datetime | None:
        """The watermark from which changes are requested; None: the segment is read in full."""
        dataset, status = self.dataset, self._status()
        if status is None or dataset.spec.source.updated_at is None:
            return None
        stored, settings = dataset.stored[self.context.slice], dataset.runtime.datasets.incremental
        return watermark(status, stored, settings, dataset.cause.started_at, reader.client.clock_skew)

    async def _load_changes(
        self, loader: Loader, reader: Reader, span: Span, since: datetime
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load the changes, and the ids around deleted rows. Returns None where the segment must be read in
        full: the platform does not count its rows, or its count does not fit in the end."""
        source, limit = self.dataset.spec.source, self.dataset.runtime.datasets.limit
        with open_stage(self.context, evolved=self.dataset.evolved) as stage:
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
                    return await self._load_differences(loader, reader, span, since, changes, read, total)
                if not preview.changed:
                    return confirm_slice(self.context, read.account, total), read
            return await loader.in_turn(_commit, stage, read, total), read

    async def _load_differences(
        self,
        loader: Loader,
        reader: Reader,
        span: Span,
        since: datetime,
        changes: StagedFile,
        read: RecordsRead,
        total: int,
    ) -> tuple[Loaded, RecordsRead] | None:
        """Load the changes, and the ranges of ids whose counts do not fit. Returns None where the segment
        must be read in full."""
        context, source, account = self.context, self.dataset.spec.source, read.account
        ids = await in_thread(keys_after, context.runtime.lake, context.table, context.slice, changes.path)
        spans = await find_differences(reader, source, ids, span, total)
        if not spans:
            return None
        with open_stage(context, evolved=self.dataset.evolved) as stage:
            await in_thread(stage.writer.copy, changes)
            await read_spans(reader, source, spans, context.runtime.datasets.limit, stage.write, read)
            now = await count(reader, source, span)
            preview = await self._preview_merge(stage, since, read)
            if now is None or now != preview.alive or preview.missing or account.bad or not account.complete:
                return None
            return await loader.in_turn(_commit, stage, read, now), read

    async def _preview_merge(self, stage: Stage, since: datetime, read: RecordsRead) -> MergePreview:
        context, staged = stage.context, stage.writer.finish()
        updated_at = self.dataset.evolved.columns[self.dataset.spec.source.updated_at or ""]
        lake, table, slice = context.runtime.lake, context.table, context.slice
        return await in_thread(preview_merge, lake, table, slice, staged.path, since, updated_at, read.spans)

    async def _load_whole(
        self, loader: Loader, reader: Reader, span: Span | None
    ) -> tuple[Loaded, RecordsRead]:
        source, runtime = self.dataset.spec.source, self.dataset.runtime
        limit = runtime.datasets.limit
        with open_stage(self.context, evolved=self.dataset.evolved) as stage:
            if span is None:
                read = await read_pages(reader, source, limit, stage.write, runtime.scratch)
            else:
                read = await read_whole_segment(reader, source, span, limit, stage.write)
            return await loader.in_turn(_commit, stage, read), read

    def _metadata(self, loaded: Loaded, read: RecordsRead) -> Mapping[str, str | int]:
        seconds = loaded.seconds or time.monotonic() - read.account.began
        outcome, alive = loaded.outcome, self.dataset.stored[loaded.slice].alive
        counts: dict[str, int] = {
            "dagster/row_count": alive if outcome is None else outcome.counts.are_alive,
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


def _commit(stage: Stage, read: RecordsRead, total: int | None = None) -> Loaded:
    """Commit a segment. `total`: the platform's count, where it was requested."""
    account = read.account
    if total is not None:
        account.server_total = total
    reading = replace(
        stage.reading(account),
        alive_total=total,
        incremental=read.incremental,
        ranges=read.spans,
        failures=tuple(account.proofs),
    )
    return commit_slice(stage.context, reading)


def plan_segments(loader: Loader, segments: Mapping[int, Mapping[str, list[int]]]) -> Plan:
    """Plan segments of datasets. Segments that were loaded while empty responses still counted are loaded
    again once a later request contradicts an empty response.

    Args:
        segments: By school and table of the dataset."""
    run, most = loader.run, loader.runtime.datasets.segments_at_a_time
    waiting = deque(_jobs(loader, segments))
    total = Counter(job.dataset for job in waiting)
    finished: dict[Dataset, list[Loaded]] = defaultdict(list)
    unconfirmed: list[SegmentJob] = []
    confirmation = loader.client.capabilities.confirmation

    def work() -> Line:
        while waiting:
            job = waiting.popleft()
            if run.is_halted(job.dataset.plan.school_id):
                continue
            if not confirmation.contradicted:
                unconfirmed.append(job)
            try:
                outcomes = yield job
            except PlatformUnavailable:
                continue
            finished[job.dataset] += outcomes
            plan, name = job.dataset.plan, job.dataset.spec.resource.name
            loader.report_progress(
                name, "segments", plan.school_id, finished[job.dataset], total[job.dataset]
            )

    yield from side_by_side((work() for _ in range(min(most, len(waiting)))), most)
    if confirmation.contradicted and unconfirmed:
        total.update(job.dataset for job in unconfirmed)
        waiting.extend(unconfirmed)
        yield from side_by_side((work() for _ in range(most)), most)
        # The second outcome of a segment counts.
        run.loaded = list({(loaded.spec.name, loaded.slice): loaded for loaded in run.loaded}.values())


def _jobs(loader: Loader, segments: Mapping[int, Mapping[str, list[int]]]) -> Iterable[SegmentJob]:
    """The segments to load. Datasets that cannot be loaded are problems of the run."""
    runtime, problems = loader.runtime, loader.run.problems
    lake = runtime.lake
    for school_id, tables in segments.items():
        plans = {plan.table: plan for plan in dataset_plans.read_plans(lake, school_id)}
        metadata = slice_of(DATASETS, school_id)
        # The last updates count only if the platform stated them in this very night or sync.
        is_stated = loader.committed_at(DATASETS.name, metadata) is not None
        updates = last_updates(lake, school_id) if is_stated else {}
        # A platform that shows no metadata may show no rows either.
        is_doubtful = loader.slice_status(DATASETS.name, metadata).failed
        guard = replace(runtime.guard, handful=0) if is_doubtful else runtime.guard
        for table, numbers in tables.items():
            plan = plans.get(table)
            if plan is None:
                problems.append(f"school {school_id}: no dataset {table} is planned; run the discovery")
                continue
            definitions = definitions_of(plan)
            definition = definitions[plan.dataset]
            try:
                spec = dataset_spec(
                    runtime.datasets.selection, school_id, table, plan.path, definition, definitions
                )
                evolved, source = evolve(lake, spec.table), spec.source
                statuses = loader.statuses(school_id).get(spec.table.name, {})
                updated_at = None if source.updated_at is None else evolved.columns[source.updated_at]
                slices = [segment_slice(school_id, number) for number in numbers]
                stored = live_rows(lake, evolved.table, slices, updated_at, statuses)
            except SelectionError as error:
                problems.append(str(error))
                continue
            except STORAGE_ERRORS as error:
                problems.append(f"school {school_id}: lake table datasets.{table} cannot be read: {error}")
                continue
            dataset = Dataset(
                replace(runtime, guard=guard),
                loader.cause,
                plan,
                spec,
                evolved,
                stored,
                statuses,
                updates.get(plan.dataset),
            )
            for number, slice_ in zip(numbers, slices, strict=True):
                committed_at = loader.committed_at(evolved.table.name, slice_)
                # Under the present plan.
                if committed_at is None or committed_at < plan.valid_since:
                    yield SegmentJob(dataset, number)
