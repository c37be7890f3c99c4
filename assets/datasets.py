"""The records of datasets: one asset, whose partitions are the segments of every dataset of every school.

Segments are read side by side and committed one by one. A stop loses at most those in flight: what this
run's cause has committed is not asked for again.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
import uvloop

from assets.drift_checks import no_drift, no_drift_spec, sources_of, tell_drift
from assets.freshness import NIGHTLY
from assets.partitions import DATASET_SEGMENTS, asked_for, read_as
from assets.resource_assets import (
    StepContext,
    asking_runtime,
    load_or_check,
    loaded_whole,
    materialized,
    raise_failed,
    whole_spec,
)
from campus.datasets.selection import SelectionError
from campus.fetch.collection import together
from campus.http.client import Client
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event
from campus.registry import DATASETS
from loading.commit import STORAGE_ERRORS, Loaded
from loading.datasets.loader import DatasetLoader, LastUpdate, LoadedSegment, last_updates
from loading.datasets.tables import dataset_spec, definitions_of
from loading.outage import connected
from loading.partition_keys import segment_key, segments_by_school
from loading.runtime import Cause, Runtime, cause_of
from loading.tables import slice_of
from warehouse.load.dataset_plans import Plan, read_plans
from warehouse.load.load_log import SliceStatus, committed, slice_statuses
from warehouse.load.log_writer import batched

RECORDS = dg.AssetKey(["datasets", "records"])


@dataclass(frozen=True)
class Job:
    """A segment to load."""

    loader: DatasetLoader
    segment: int


@dg.multi_asset(
    name="load_datasets",
    specs=[
        dg.AssetSpec(
            RECORDS,
            deps=[dg.AssetKey(["raw", DATASETS.name])],
            description=read_as(
                "Records of the platform's datasets, segment by segment of their ids.", DATASET_SEGMENTS
            ),
            group_name="datasets",
            kinds={"deltalake"},
            skippable=True,
            freshness_policy=NIGHTLY,
            partitions_def=DATASET_SEGMENTS,
            metadata={"scope": DATASETS.scopes[0], "slice": "one segment of the ids of a school's dataset"},
        )
    ],
    check_specs=[whole_spec(RECORDS), no_drift_spec(RECORDS)],
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"campus"},
    pool="platform",
)
def dataset_records(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Load the segments of the run."""
    yield from load_or_check(context, load_datasets)


def load_datasets(
    context: StepContext, keys: Sequence[str], _assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load segments of datasets."""
    runtime = asking_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    with batched(runtime.lake):
        loaded, problems, halts = uvloop.run(_load_all(context, runtime, cause, keys))
    yield loaded_whole(RECORDS, loaded, problems)
    yield no_drift(RECORDS, tell_drift(runtime, cause, sources_of(loaded)))
    raise_failed(context, loaded, problems, halts)


async def _load_all(
    context: StepContext, runtime: Runtime, cause: Cause, keys: Sequence[str]
) -> tuple[list[Loaded], list[str], list[PlatformUnavailable]]:
    """The outcome of each segment, in words why others could not be asked for, and why schools, or all of
    them, were read no further."""
    loaded: dict[Job, Loaded] = {}
    halts: list[PlatformUnavailable] = []
    async with connected(runtime, [DATASETS.scopes]) as client:
        jobs, problems = _jobs(runtime, client, cause, keys)
        total = Counter(job.loader for job in jobs)
        ended: dict[DatasetLoader, list[Loaded]] = defaultdict(list)
        # Loaded before an empty answer was contradicted: these segments are loaded again.
        unconfirmed: list[Job] = []

        async def work() -> None:
            while jobs:
                job = jobs.popleft()
                if any(halt.concerns(job.loader.school_id) for halt in halts):
                    continue
                if not client.capabilities.confirmation.contradicted:
                    unconfirmed.append(job)
                try:
                    one = await job.loader.load(job.segment)
                except PlatformUnavailable as halt:
                    halts.append(halt)
                    continue
                record(context, one)
                loaded[job] = one.loaded
                ended[job.loader].append(one.loaded)
                _tell(runtime, ended[job.loader], total[job.loader])

        await together(work() for _ in range(min(runtime.datasets.segments_at_a_time, len(jobs))))
        if client.capabilities.confirmation.contradicted and unconfirmed:
            total.update(job.loader for job in unconfirmed)
            jobs.extend(unconfirmed)
            await together(work() for _ in range(runtime.datasets.segments_at_a_time))
    return list(loaded.values()), problems, halts


def _jobs(
    runtime: Runtime, client: Client, cause: Cause, keys: Sequence[str]
) -> tuple[deque[Job], list[str]]:
    """The segments to load, and in words why some cannot be asked for."""
    jobs: deque[Job] = deque()
    problems: list[str] = []
    asked = asked_for(runtime.lake, keys, segments_by_school)
    done = committed(runtime.lake, cause.sync_id, asked)
    commits = asyncio.Lock()
    for school_id, tables in asked.items():
        plans = {plan.table: plan for plan in read_plans(runtime.lake, school_id)}
        statuses = slice_statuses(runtime.lake, school_id)
        # Only what this very night or sync was told by the platform.
        is_told = (DATASETS.name, str(slice_of(DATASETS, school_id))) in done
        updates = last_updates(runtime.lake, school_id) if is_told else {}
        for table, segments in tables.items():
            plan = plans.get(table)
            if plan is None:
                problems.append(f"school {school_id}: no dataset {table} is planned; run the discovery")
                continue
            try:
                loader = _loader(runtime, client, cause, plan, segments, statuses, commits, updates)
            except SelectionError as error:
                problems.append(str(error))
                continue
            except STORAGE_ERRORS as error:
                problems.append(f"school {school_id}: datasets.{table} of the lake cannot be read: {error}")
                continue
            jobs.extend(Job(loader, one) for one in segments if not loader.is_done(one, done))
    return jobs, problems


def _loader(
    runtime: Runtime,
    client: Client,
    cause: Cause,
    plan: Plan,
    segments: list[int],
    statuses: Mapping[str, Mapping[str, SliceStatus]],
    commits: asyncio.Lock,
    updates: Mapping[str, LastUpdate],
) -> DatasetLoader:
    definitions = definitions_of(plan)
    dataset = dataset_spec(
        runtime.datasets.selection,
        plan.school_id,
        plan.table,
        plan.path,
        definitions[plan.dataset],
        definitions,
    )
    mine = statuses.get(dataset.table.name, {})
    last = updates.get(plan.dataset)
    return DatasetLoader(runtime, client, cause, plan, dataset, segments, mine, commits, last)


def record(context: StepContext, one: LoadedSegment) -> None:
    """Tell Dagster the outcome of a segment, as soon as it is committed."""
    loaded = one.loaded
    partition = segment_key(loaded.slice.school_id, one.table, one.segment)
    materialized(context, loaded, RECORDS, [partition], one.metadata)


def _tell(runtime: Runtime, ended: list[Loaded], total: int) -> None:
    """Tell how far a dataset is by its segments that have ended."""
    if runtime.listener:
        last = ended[-1]
        runtime.listener(
            Event(
                "progress",
                f"{last.spec.name}: {len(ended)} of {total} segments",
                resource=last.spec.name,
                slice=str(last.slice.school_id),
                done=len(ended),
                total=total,
                rows=sum(one.outcome.received for one in ended if one.outcome),
            )
        )
