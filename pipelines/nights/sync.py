"""A night without a daemon: runs the same Dagster jobs in sequence, in this process."""

import gc
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.loads import LOADS
from assets.publication.models import PUBLISHED
from assets.shared.dagster_private import show_on_timeline
from assets.shared.load_kind import is_halted
from campus.http.events import Event
from loading.connection.connected import forget_capabilities
from loading.connection.runtime import FULL_TAG, SYNC_ID_TAG, Runtime
from loading.partition_keys import NO_SCHOOL, school_of
from pipelines.nights.school_night import PARTITION_COUNT, STEPS, night_config
from pipelines.runs.jobs import DISCOVERY, DISTRICT_JOB, MAINTENANCE, PUBLISH, SCHOOL_NIGHT
from pipelines.runs.launchers import LAUNCHER_TAG
from pipelines.runs.partition_selection import SCHOOL_TAG, groups_of, night_tags
from warehouse.lake.sql import close_idle
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import batched

# The terminal shows a run's events and failures; Dagster's log of the run is in the UI.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
NOT_STARTED = "the run did not start; see the run in the Dagster UI"


class SelectionError(Exception):
    """A selection that names no asset."""


@dataclass(frozen=True)
class JobEnd:
    """How a run, or a step of a school's night, ended."""

    job: str
    run_id: str
    #: Why the run failed; None: it succeeded.
    problem: str | None
    #: Whether the run published a new file.
    published: bool = False
    #: Whether the platform is unavailable.
    halted: bool = False
    #: Whether the disk, or the store of the lake, is full.
    full: bool = False


def load(
    runtime: Runtime,
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    sync_id: str,
    *,
    schools: Sequence[int] = (),
    selection: str | None = None,
    full: bool = False,
    schools_per_run: int = 1,
    tags: Mapping[str, str] | None = None,
) -> Iterator[JobEnd]:
    """Discover, then load school by school, and yield how each load ended. Stops after a load that finds the
    platform unavailable or the credentials refused.

    `runtime`: the resource of the definitions' assets. `sync_id`: the cause in quality.load_log. `schools`:
    limits the partitions to these schools. `selection`: limits the assets, in Dagster's selection syntax.
    `full`: reads everything again. `schools_per_run`: schools in each run. `tags`: further tags of the runs.

    Raises SelectionError."""
    selected = None if selection is None else _select(definitions, selection)
    if full:
        forget_capabilities(runtime.home)
    tags = {**(tags or {}), SYNC_ID_TAG: sync_id, FULL_TAG: str(full).lower()}
    config = night_config({}, selected)
    # Also after Ctrl-C the batch writes the logs of all committed slices.
    with batched(runtime.lake):
        report = runtime.listener or (lambda _event: None)
        report(Event("step", DISCOVERY))
        discovery = _end_of(DISCOVERY, _execute(definitions, instance, DISCOVERY, tags), instance)
        if discovery.problem is None:
            report(Event("step", DISCOVERY, done=1))
        yield discovery
        if discovery.halted:
            return
        loads = [load for load in LOADS if selected is None or selected & load.assets.keys]
        keys = (key for load in loads for key in load.keys(instance, schools))
        groups = groups_of({school_of(key) for key in keys} - {NO_SCHOOL}, schools_per_run)
        for number, group in enumerate(groups, 1):
            group_tags = tags | night_tags(runtime.lake, group)
            report(Event("school", group_tags[SCHOOL_TAG], done=number, total=len(groups)))
            result = _execute(definitions, instance, SCHOOL_NIGHT, group_tags, config)
            yield from (ends := _ends_of_steps(result, instance))
            if any(end.halted for end in ends):
                return


def maintain(
    definitions: dg.Definitions, instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None
) -> JobEnd:
    """Maintain the lake, as after each night."""
    return _end_of(MAINTENANCE, _execute(definitions, instance, MAINTENANCE, tags or {}), instance)


def build(
    definitions: dg.Definitions, instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None
) -> JobEnd:
    """Build the models from the lake as it is, and publish if anything has changed."""
    _free_memory()
    return _end_of(PUBLISH, _execute(definitions, instance, PUBLISH, tags or {}), instance)


def build_shards(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    names: Sequence[str],
    tags: Mapping[str, str] | None = None,
) -> Iterator[JobEnd]:
    """Build and publish shard by shard, then the last step, and yield how each build ended. A failed shard
    stops no later shard."""
    _free_memory()
    for name in names:
        yield _end_of(PUBLISH, _execute(definitions, instance, PUBLISH, tags or {}, shard=name), instance)
    yield _end_of(DISTRICT_JOB, _execute(definitions, instance, DISTRICT_JOB, tags or {}), instance)


def new_sync_id() -> str:
    """The id of a sync that starts now, by the platform's clock."""
    return f"sync-{now():%Y%m%d-%H%M%S}"


def _free_memory() -> None:
    """Release memory that loads still hold, since a build uses all of its memory limit."""
    close_idle()
    gc.collect()
    pa.default_memory_pool().release_unused()


def _execute(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    name: str,
    tags: Mapping[str, str],
    config: Mapping[str, Any] | None = None,
    shard: str | None = None,
) -> dg.ExecuteInProcessResult:
    def run() -> dg.ExecuteInProcessResult:
        return definitions.resolve_job_def(name).execute_in_process(
            run_config={**QUIET, **(config or {})},
            instance=instance,
            tags=tags,
            partition_key=shard,
            raise_on_error=False,
        )

    # In another thread, so that Ctrl-C ends this thread's wait. In the main thread Dagster handles Ctrl-C
    # itself, and loses it inside the event loop.
    result = ThreadPoolExecutor(max_workers=1).submit(run).result()
    if LAUNCHER_TAG in tags:
        show_on_timeline(instance, result.run_id)
    return result


def _end_of(name: str, result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> JobEnd:
    """How a run with a single step ended."""
    if result.success:
        events = result.get_asset_materialization_events()
        return JobEnd(name, result.run_id, None, any(event.asset_key == PUBLISHED for event in events))
    problem = next(iter(_problems(result).values()), NOT_STARTED)
    return JobEnd(name, result.run_id, problem, halted=_was_halted(result, instance))


def _ends_of_steps(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> list[JobEnd]:
    """How each step of a school's night ended, without the steps that had nothing to load."""
    problems = _problems(result)
    if not result.success and not problems:
        return [JobEnd(SCHOOL_NIGHT, result.run_id, NOT_STARTED)]
    loaded = {
        event.step_key
        for event in result.all_events
        if event.is_successful_output and event.step_output_data.metadata[PARTITION_COUNT].value
    }
    steps = [step for step in STEPS if step in loaded or step in problems]
    # The steps after a halted step load nothing, so the last step here is the halted one.
    halted = steps[-1] if _was_halted(result, instance) else None
    return [
        JobEnd(STEPS[step].name, result.run_id, problems.get(step), halted=step == halted) for step in steps
    ]


def _was_halted(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> bool:
    run = instance.get_run_by_id(result.run_id)
    return run is not None and is_halted(run.tags)


def _select(definitions: dg.Definitions, selection: str) -> set[dg.AssetKey]:
    """The assets of the loads that a selection names."""
    loadable = {key for load in LOADS for key in load.assets.keys}
    try:
        # Dagster calls its own selection of groups a beta.
        with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):
            selected = dg.AssetSelection.from_string(selection).resolve(definitions.resolve_asset_graph())
    except dg.DagsterError as error:
        raise SelectionError(f"--select {selection!r}: {' '.join(str(error).split())}") from error
    if not selected & loadable:
        names = ", ".join(sorted(f'key:"{key.to_user_string()}"' for key in loadable))
        raise SelectionError(f"--select {selection!r} names no asset that is loaded; there are {names}")
    return set(selected & loadable)


def _problems(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """The failure of each failed step, by step: the asset's own description, or the error's message."""
    problems: dict[str, str] = {}
    for event in result.all_events:
        data: Any = event.event_specific_data
        if event.is_step_failure:
            failure = data.user_failure_data
            # Dagster wraps the error of an asset; the cause is the asset's own error.
            error = data.error.cause or data.error
            problems[event.step_key or ""] = str(failure.description if failure else error.message.strip())
    return problems
