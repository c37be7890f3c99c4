"""A night without a daemon: the same Dagster jobs, one after the other, in this process."""

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.dagster_private import show_on_timeline
from assets.models import PUBLISHED
from assets.resource_assets import is_halted
from campus.http.events import Event
from loading.capabilities import forget_capabilities
from loading.partition_keys import NO_SCHOOL, school_of
from loading.runtime import FULL_TAG, SYNC_ID_TAG, Runtime
from pipelines.definitions import DISCOVERY, DISTRICT_JOB, PUBLISH
from pipelines.due import SCHOOL_TAG, groups_of, night_tags
from pipelines.launches import LAUNCHER_TAG
from pipelines.nights.loads import LOADS
from pipelines.nights.school_night import ASKED, SCHOOL_NIGHT, STEPS, night_config
from warehouse.lake.sql import close_idle
from warehouse.load.load_log import now
from warehouse.load.log_writer import batched

# The run's own words reach the terminal as events and failures; Dagster's log of it is in the UI.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
NOT_STARTED = "the run did not start; see the run in the Dagster UI"


class SelectionError(Exception):
    """A selection that names no asset."""


@dataclass(frozen=True)
class JobEnd:
    """How a run ended, or a step of a school's night. `problem`: None, or why it failed in words.
    `published`: there is a new file. `halted`: nothing more can be read of the platform; `full`: nor written
    to the disk or the store of the lake."""

    job: str
    run_id: str
    problem: str | None
    published: bool = False
    halted: bool = False
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
    """Discover, then load school by school; yields how each load ended, whatever became of it. The first one
    that finds the platform out of reach, or its credentials refused, is the last.

    `runtime`: what the definitions' assets run with. `sync_id`: names the cause in quality.load_log.
    `schools`: only the partitions of these. `selection`: only these assets, in Dagster's selection syntax.
    `full`: read everything again. `schools_per_run`: so many schools are one run. `tags`: of the runs,
    besides.
    Raises SelectionError."""
    selected = None if selection is None else _select(definitions, selection)
    if full:
        forget_capabilities(runtime.home)
    tags = {**(tags or {}), SYNC_ID_TAG: sync_id, FULL_TAG: str(full).lower()}
    config = night_config({}, selected)
    # Ctrl-C ends up here too, so that it loses nothing of what is committed.
    with batched(runtime.lake):
        report = runtime.listener or _nobody
        report(Event("step", DISCOVERY))
        found = _ended(DISCOVERY, _execute(definitions, instance, DISCOVERY, tags), instance)
        if found.problem is None:
            report(Event("step", DISCOVERY, done=1))
        yield found
        if found.halted:
            return
        loads = [load for load in LOADS if selected is None or selected & load.assets.keys]
        keys = (key for load in loads for key in load.keys(instance, schools))
        groups = groups_of({school_of(key) for key in keys} - {NO_SCHOOL}, schools_per_run)
        for number, group in enumerate(groups, 1):
            of_night = tags | night_tags(runtime.lake, group)
            report(Event("school", of_night[SCHOOL_TAG], done=number, total=len(groups)))
            result = _execute(definitions, instance, SCHOOL_NIGHT, of_night, config)
            yield from (ends := _ends_of_steps(result, instance))
            if any(end.halted for end in ends):
                return


def build(
    definitions: dg.Definitions, instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None
) -> JobEnd:
    """Build the models from the lake as it is, and publish where anything has changed."""
    _make_room()
    return _ended(PUBLISH, _execute(definitions, instance, PUBLISH, tags or {}), instance)


def build_shards(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    names: Sequence[str],
    tags: Mapping[str, str] | None = None,
) -> Iterator[JobEnd]:
    """Build and publish shard by shard, then district.duckdb; yields how each ended. A shard that is not
    published holds no other up."""
    _make_room()
    for name in names:
        yield _ended(PUBLISH, _execute(definitions, instance, PUBLISH, tags or {}, shard=name), instance)
    yield _ended(DISTRICT_JOB, _execute(definitions, instance, DISTRICT_JOB, tags or {}), instance)


def new_sync_id() -> str:
    """A name for a sync that starts now, by the platform's clock."""
    return f"sync-{now():%Y%m%d-%H%M%S}"


def _nobody(_event: Event) -> None:
    """Listens where nobody does."""


def _make_room() -> None:
    """Give back what loads have left in this process, since a build takes all the memory that it may have."""
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

    result = _interruptible(run)
    if LAUNCHER_TAG in tags:
        show_on_timeline(instance, result.run_id)
    return result


def _ended(name: str, result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> JobEnd:
    """How a run of one step ended."""
    if result.success:
        events = result.get_asset_materialization_events()
        return JobEnd(name, result.run_id, None, any(event.asset_key == PUBLISHED for event in events))
    problem = next(iter(_problems(result).values()), NOT_STARTED)
    return JobEnd(name, result.run_id, problem, halted=_was_halted(result, instance))


def _ends_of_steps(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> list[JobEnd]:
    """How each step of a school's night ended that had anything to load."""
    problems = _problems(result)
    if not result.success and not problems:
        return [JobEnd(SCHOOL_NIGHT, result.run_id, NOT_STARTED)]
    asked = {
        event.step_key
        for event in result.all_events
        if event.is_successful_output and event.step_output_data.metadata[ASKED].value
    }
    steps = [step for step in STEPS if step in asked or step in problems]
    # The steps after the one that was halted have asked for nothing.
    halted = steps[-1] if _was_halted(result, instance) else None
    return [
        JobEnd(STEPS[step].job, result.run_id, problems.get(step), halted=step == halted) for step in steps
    ]


def _was_halted(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> bool:
    run = instance.get_run_by_id(result.run_id)
    return run is not None and is_halted(run.tags)


def _interruptible(run: Callable[[], dg.ExecuteInProcessResult]) -> dg.ExecuteInProcessResult:
    """Run in a thread of its own. In the main thread Dagster takes Ctrl-C for itself, and loses it where the
    event loop is; so the main thread only waits, and Ctrl-C ends it."""
    return ThreadPoolExecutor(max_workers=1).submit(run).result()


def _select(definitions: dg.Definitions, selection: str) -> set[dg.AssetKey]:
    """The assets of a load that a selection names."""
    loadable = {key for each in LOADS for key in each.assets.keys}
    try:
        # Dagster calls its own selection of groups a beta.
        with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):
            named = dg.AssetSelection.from_string(selection).resolve(definitions.resolve_asset_graph())
    except dg.DagsterError as error:
        raise SelectionError(f"--select {selection!r}: {' '.join(str(error).split())}") from error
    if not named & loadable:
        names = ", ".join(sorted(f'key:"{key.to_user_string()}"' for key in loadable))
        raise SelectionError(f"--select {selection!r} names nothing that is loaded; there are {names}")
    return set(named & loadable)


def _problems(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """What went wrong in each step that failed, as the asset itself worded it; otherwise the error's first
    line."""
    found: dict[str, str] = {}
    for event in result.all_events:
        data: Any = event.event_specific_data
        if event.is_step_failure:
            failure = data.user_failure_data
            # Dagster wraps what an asset raises; the cause is what happened.
            error = data.error.cause or data.error
            found[event.step_key or ""] = str(failure.description if failure else error.message.strip())
    return found
