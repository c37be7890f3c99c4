"""The nightly job without a daemon: the same Dagster jobs, one after the other, in this process."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dagster as dg

from assets.partitions import SCHOOL_SEMESTERS
from assets.runtime import PLATFORM_ZONE, SYNC_ID_TAG
from pipelines.definitions import BASE_DATA, DISCOVERY, PUBLISH
from pipelines.due import school_ranges

# The run's own words reach the terminal as events and failures; Dagster's log of it is in the UI.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class SelectionError(Exception):
    """A selection that names no asset."""


@dataclass(frozen=True)
class JobEnd:
    """How one run ended. `problem`: None, or why it failed in words."""

    job: str
    run_id: str
    problem: str | None


def sync(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    sync_id: str,
    *,
    schools: Sequence[int] = (),
    selection: str | None = None,
    jobs: Sequence[str] = (DISCOVERY, BASE_DATA, PUBLISH),
) -> Iterator[JobEnd]:
    """Discover, load school by school, build and publish; yields how each run ended, whatever became of it.

    `sync_id`: names the cause in quality.load_log. `schools`: only the partitions of these. `selection`:
    only these assets, in Dagster's selection syntax. `jobs`: only these parts.
    Raises SelectionError."""
    execute = _Executor(definitions, instance, {SYNC_ID_TAG: sync_id}, selection)
    if DISCOVERY in jobs:
        yield from execute(DISCOVERY)
    keys = instance.get_dynamic_partitions(SCHOOL_SEMESTERS.name or "")
    wanted = [key for key in keys if not schools or int(key.split("|")[0]) in schools]
    for stretch in school_ranges(keys, wanted) if BASE_DATA in jobs else ():
        yield from execute(BASE_DATA, stretch.tags)
    if PUBLISH in jobs:
        yield from execute(PUBLISH)


def new_sync_id() -> str:
    """A name for a sync that starts now, by the platform's clock."""
    return f"sync-{datetime.now(PLATFORM_ZONE):%Y%m%d-%H%M%S}"


def build(definitions: dg.Definitions, instance: dg.DagsterInstance) -> JobEnd:
    """Build the models from the lake as it is, and publish."""
    return next(_Executor(definitions, instance, {}, None)(PUBLISH))


class _Executor:
    """Executes jobs, cut down to what is selected, with the same instance and tags."""

    def __init__(
        self,
        definitions: dg.Definitions,
        instance: dg.DagsterInstance,
        tags: Mapping[str, str],
        selection: str | None,
    ) -> None:
        self._definitions = definitions
        self._instance = instance
        self._tags = tags
        self._selected = None if selection is None else _select(definitions, selection)

    def __call__(self, name: str, tags: Mapping[str, str] | None = None) -> Iterator[JobEnd]:
        job = self._definitions.resolve_job_def(name)
        assets = job.asset_layer.selected_asset_keys
        # What is loaded is found first and published last, whatever is selected in between.
        selected = assets & self._selected if self._selected is not None and name == BASE_DATA else assets
        if not selected:
            return
        # dbt's own account of a build is in its log; the terminal is for what people need to know.
        with redirect_stdout(io.StringIO()) if name == PUBLISH else nullcontext():
            result = job.execute_in_process(
                run_config=QUIET,
                instance=self._instance,
                asset_selection=list(selected),
                tags={**self._tags, **(tags or {})},
                raise_on_error=False,
            )
        yield JobEnd(name, result.run_id, None if result.success else _problem(result))


def _select(definitions: dg.Definitions, selection: str) -> set[dg.AssetKey]:
    graph = definitions.resolve_asset_graph()
    try:
        selected = dg.AssetSelection.from_string(selection).resolve(graph)
    except dg.DagsterError as error:
        raise SelectionError(f"--select {selection!r}: {' '.join(str(error).split())}") from error
    if not selected:
        raise SelectionError(
            f"--select {selection!r} names no asset; try 'key:\"raw/students\"' or 'group:base_data'"
        )
    return set(selected)


def _problem(result: dg.ExecuteInProcessResult) -> str:
    """What went wrong, as the asset itself worded it; otherwise the error's first line."""
    for event in result.all_events:
        data: Any = event.event_specific_data
        if event.is_step_failure:
            failure = data.user_failure_data
            return str(failure.description if failure else data.error.message.strip().splitlines()[0])
    return "the run did not start; see the run in the Dagster UI"
