"""The nightly job without a daemon: the same Dagster jobs, one after the other, in this process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.dagster_private import show_on_timeline
from assets.models import PUBLISHED
from assets.resource_assets import HALTED_TAG
from loading.attendance.weeks import weeks_to_ask
from loading.runtime import FULL_TAG, SYNC_ID_TAG, Runtime
from pipelines.definitions import ATTENDANCE, DISCOVERY, LOADS, PUBLISH
from pipelines.due import of_schools, school_ranges, school_tags
from pipelines.launches import LAUNCHER_TAG
from warehouse.load.load_log import now
from warehouse.load.log_writer import batched

# The run's own words reach the terminal as events and failures; Dagster's log of it is in the UI.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class SelectionError(Exception):
    """A selection that names no asset."""


@dataclass(frozen=True)
class JobEnd:
    """How one run ended. `problem`: None, or why it failed in words. `published`: there is a new file.
    `halted`: nothing more can be read of the platform; `full`: nor written to the disk."""

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
    tags: Mapping[str, str] | None = None,
) -> Iterator[JobEnd]:
    """Discover, then load school by school; yields how each run ended, whatever became of it. The first run
    that finds the platform out of reach, or its credentials refused, is the last.

    `runtime`: what the definitions' assets run with. `sync_id`: names the cause in quality.load_log.
    `schools`: only the partitions of these. `selection`: only these assets, in Dagster's selection syntax.
    `full`: read everything again. `tags`: of the runs, besides.
    Raises SelectionError."""
    selected = None if selection is None else _select(definitions, selection)
    tags = {**(tags or {}), SYNC_ID_TAG: sync_id, FULL_TAG: str(full).lower()}
    # Ctrl-C ends up here too, so that it loses nothing of what is committed.
    with batched(runtime.lake):
        found = _execute(definitions, instance, DISCOVERY, tags)
        yield found
        if found.halted:
            return
        for each in LOADS:
            mine = None if selected is None else selected & each.assets.keys
            if mine is not None and not mine:
                continue
            keys = instance.get_dynamic_partitions(each.partitions.name or "")
            wanted = of_schools(keys, schools)
            if each.job == ATTENDANCE:
                wanted = weeks_to_ask(runtime.lake, runtime.attendance, wanted, full=full)
            for stretch in school_ranges(keys, wanted):
                of_school = school_tags(runtime.lake, stretch.school_id)
                end = _execute(definitions, instance, each.job, tags | stretch.tags | of_school, mine)
                yield end
                if end.halted:
                    return


def build(
    definitions: dg.Definitions, instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None
) -> JobEnd:
    """Build the models from the lake as it is, and publish where anything has changed."""
    return _execute(definitions, instance, PUBLISH, tags or {})


def new_sync_id() -> str:
    """A name for a sync that starts now, by the platform's clock."""
    return f"sync-{now():%Y%m%d-%H%M%S}"


def _execute(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    name: str,
    tags: Mapping[str, str],
    selected: set[dg.AssetKey] | None = None,
) -> JobEnd:
    def run() -> dg.ExecuteInProcessResult:
        return definitions.resolve_job_def(name).execute_in_process(
            run_config=QUIET,
            instance=instance,
            asset_selection=None if selected is None else list(selected),
            tags=tags,
            raise_on_error=False,
        )

    result = _interruptible(run)
    if LAUNCHER_TAG in tags:
        show_on_timeline(instance, result.run_id)
    published = any(event.asset_key == PUBLISHED for event in result.get_asset_materialization_events())
    if result.success:
        return JobEnd(name, result.run_id, None, published)
    ended = instance.get_run_by_id(result.run_id)
    halted = ended is not None and HALTED_TAG in ended.tags
    return JobEnd(name, result.run_id, _problem(result), published, halted)


def _interruptible(run: Callable[[], dg.ExecuteInProcessResult]) -> dg.ExecuteInProcessResult:
    """Run in a thread of its own. In the main thread Dagster takes Ctrl-C for itself, and loses it where the
    event loop is; so the main thread only waits, and Ctrl-C ends it."""
    return ThreadPoolExecutor(max_workers=1).submit(run).result()


def _select(definitions: dg.Definitions, selection: str) -> set[dg.AssetKey]:
    """The assets of a load that a selection names."""
    loadable = {key for each in LOADS for key in each.assets.keys}
    try:
        named = dg.AssetSelection.from_string(selection).resolve(definitions.resolve_asset_graph())
    except dg.DagsterError as error:
        raise SelectionError(f"--select {selection!r}: {' '.join(str(error).split())}") from error
    if not named & loadable:
        names = ", ".join(sorted(f'key:"{key.to_user_string()}"' for key in loadable))
        raise SelectionError(f"--select {selection!r} names nothing that is loaded; there are {names}")
    return set(named & loadable)


def _problem(result: dg.ExecuteInProcessResult) -> str:
    """What went wrong, as the asset itself worded it; otherwise the error's first line."""
    for event in result.all_events:
        data: Any = event.event_specific_data
        if event.is_step_failure:
            failure = data.user_failure_data
            # Dagster wraps what an asset raises; the cause is what happened.
            error = data.error.cause or data.error
            return str(failure.description if failure else error.message.strip())
    return "the run did not start; see the run in the Dagster UI"
