"""Loads segments of datasets, several at a time.

A stop loses at most the segments in flight: a retry skips segments that its cause has committed.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from campus.datasets.selection import SelectionError
from campus.fetch.collection import run_together
from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event, Listener
from campus.registry import DATASETS
from loading.connection.outage import connected
from loading.connection.runtime import Runtime
from loading.datasets.loader import DatasetLoader, last_updates
from loading.datasets.tables import dataset_spec, definitions_of
from loading.partition_keys import segment_key
from loading.run_results import Report, RunResults
from loading.slices.commit import STORAGE_ERRORS, Loaded
from loading.tables import slice_of
from warehouse.load.logs.dataset_plans import read_plans
from warehouse.load.logs.load_log import committed, slice_status, slice_statuses
from warehouse.load.slice_reading import Cause


@dataclass(frozen=True)
class Job:
    """A segment to load."""

    loader: DatasetLoader
    segment: int


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
        total = Counter(job.loader for job in jobs)
        finished: dict[DatasetLoader, list[Loaded]] = defaultdict(list)
        # Segments that were loaded while empty responses still counted. They are loaded again once a later
        # request contradicts an empty response.
        unconfirmed: list[Job] = []

        async def work() -> None:
            while jobs:
                job = jobs.popleft()
                if run.is_halted(job.loader.school_id):
                    continue
                if not client.capabilities.confirmation.contradicted:
                    unconfirmed.append(job)
                try:
                    segment = await job.loader.load(job.segment)
                except PlatformUnavailable as halt:
                    run.halts.append(halt)
                    continue
                key = segment_key(job.loader.school_id, segment.table, segment.segment)
                report(segment.loaded, [key], segment.metadata)
                loaded[job] = segment.loaded
                finished[job.loader].append(segment.loaded)
                if runtime.listener:
                    _report_progress(runtime.listener, finished[job.loader], total[job.loader])

        await run_together(work() for _ in range(min(runtime.datasets.segments_at_a_time, len(jobs))))
        if client.capabilities.confirmation.contradicted and unconfirmed:
            total.update(job.loader for job in unconfirmed)
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
            jobs.extend(Job(loader, number) for number in numbers if not loader.is_done(number, done))
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
