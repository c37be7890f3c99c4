"""The Dagster resource `campus`: the platform (or the embedded simulator) and the lake of the settings."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta

import dagster as dg

from campus.http.config import ClientConfig
from campus.http.events import Listener
from loading.connection.runtime import Runtime
from loading.datasets.tables import DatasetSettings
from loading.partition_keys import NO_SCHOOL, school_of
from pipelines.lake.opening import lake_of, make_ready, note_id_numbers
from pipelines.platform import attendance_settings, open_platform, term_types, wanted_reports
from pipelines.runs.launchers import is_of_a_command
from pipelines.runs.partition_selection import RANGE_END, SCHOOL_TAG, school_in, school_tags
from pipelines.runs.writer_locks import writing
from pipelines.settings.settings import Settings, no_platform
from warehouse.lake.delta import Lake
from warehouse.load.commit import Guard
from warehouse.load.watermark import Incremental
from warehouse.publish.models.dbt_project import Build
from writeback.store.store import file_leftover

# The end of "If they are really gone, ..." in the guard's message.
ACCEPT_VANISHED = (
    "give --accept-vanished to `campus sync` (in the Dagster UI: accept_vanished of the resource campus)"
)

# An address that cannot exist.
NOWHERE = "http://no-platform.invalid"

# Seconds for which a run of Dagster's daemon waits for a command that is alone in the home.
RUN_PATIENCE = 3600.0


@contextmanager
def open_runtime(
    settings: Settings,
    listener: Listener | None = None,
    *,
    accept_vanished: bool = False,
    lake: Lake | None = None,
) -> Iterator[Runtime]:
    """The assets' runtime, with the lake's tables ready. `lake`: the settings' lake, if it is open."""
    with open_platform(settings) as client:
        runtime = _runtime(settings, client, lake or lake_of(settings), listener, accept_vanished)
        try:
            yield runtime
        finally:
            note_id_numbers(runtime.lake, settings)


def runtime_without_platform(settings: Settings, listener: Listener | None = None) -> Runtime:
    """The runtime of assets that need no platform: the models and the maintenance of the lake."""
    client = ClientConfig(NOWHERE, client_id="", client_secret="")
    runtime = _runtime(settings, client, lake_of(settings), listener, False)
    return replace(runtime, no_platform=no_platform(settings))


def build_of(settings: Settings) -> Build:
    """The build of the models: its home, threads and memory."""
    publishing = settings.options.publish
    return Build(settings.home, publishing.threads, publishing.memory_limit)


def campus_resource(settings: Settings) -> dg.ResourceDefinition:
    """The resource for runs that Dagster launches. A run is a writer of the home while it has the resource.
    Without a platform, steps that need one fail with a message."""

    @dg.resource(config_schema={"accept_vanished": dg.Field(bool, default_value=False)})
    @contextmanager
    def campus(context: dg.InitResourceContext) -> Iterator[Runtime]:
        with ExitStack() as stack:
            stack.enter_context(_as_writer(context, settings))
            if settings.base_url is None:
                yield runtime_without_platform(settings)
                return
            accept_vanished = context.resource_config["accept_vanished"]
            yield stack.enter_context(open_runtime(settings, accept_vanished=accept_vanished))

    return campus


@contextmanager
def _as_writer(context: dg.InitResourceContext, settings: Settings) -> Iterator[None]:
    """Register a run as a writer, unless its command is registered."""
    run, instance = context.run, context.instance
    if run is None or instance is None or is_of_a_command(run.tags):
        yield
        return
    command = f"the run {run.run_id[:8]} of the job {run.job_name}"

    def notify(message: str) -> None:
        if context.log:
            context.log.info(message)

    with writing(settings, command, alone=False, patience=RUN_PATIENCE, notify=notify):
        if tags := _school_tags(run.tags, settings):
            instance.add_run_tags(run.run_id, tags)
        yield


def _school_tags(tags: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The tag with the school's name for a run that lacks it: a person chose its partitions."""
    first, last = school_in(tags), school_of(tags.get(RANGE_END, ""))
    if SCHOOL_TAG in tags or first == NO_SCHOOL:
        return {}
    return school_tags(lake_of(settings), first, last)


def _dataset_settings(settings: Settings) -> DatasetSettings:
    options = settings.options.datasets
    return DatasetSettings(
        selection=options.selection,
        segment_rows=options.segment_rows,
        max_segments=options.max_segments,
        segments_at_a_time=options.segments_at_a_time,
        limit=options.limit,
        incremental=incremental_settings(settings, options.overlap),
    )


def incremental_settings(settings: Settings, overlap: float | None = None) -> Incremental:
    """How only changes are read. `overlap`: minutes that replace the general option."""
    options = settings.options.incremental
    minutes = options.overlap if overlap is None else overlap
    return Incremental(
        timedelta(minutes=minutes),
        options.whole_days,
        all_scores=options.current_scores == "every_night",
        transcript_days=options.transcript_days,
    )


def _runtime(
    settings: Settings, client: ClientConfig, lake: Lake, listener: Listener | None, accept_vanished: bool
) -> Runtime:
    safety, publishing = settings.options.safety, settings.options.publish
    make_ready(lake, settings)
    file_leftover(settings.home, lake)
    return Runtime(
        client=client,
        lake=lake,
        guard=Guard(
            share=safety.max_vanished_share,
            handful=safety.vanished_handful,
            allowed=accept_vanished,
            override=ACCEPT_VANISHED,
            quarantine_share=safety.max_quarantined_share,
        ),
        home=settings.home,
        term_types=term_types(settings),
        school_ids=settings.school_ids,
        device_ids=settings.device_ids,
        card_ids=settings.card_ids,
        keep_id_numbers=settings.keep_id_numbers,
        keep_generations=publishing.keep_generations,
        audiences=settings.audiences,
        keep_runs=timedelta(days=settings.options.schedule.keep_runs_days),
        keep_loads=timedelta(days=settings.options.schedule.keep_loads_days),
        keep_personal=_days(settings.options.retention.personal_days),
        keep_history=_days(settings.options.retention.history_days),
        datasets=_dataset_settings(settings),
        reports=wanted_reports(settings),
        attendance=attendance_settings(settings),
        pushes=settings.options.pushes.push_settings,
        incremental=incremental_settings(settings),
        listener=listener,
    )


def _days(days: int | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)
