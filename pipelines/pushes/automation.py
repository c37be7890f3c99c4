"""What drains the inbox by itself: a sensor that asks for a run as soon as pushed events wait, the job that
reads what they name, and one that has the warehouse published after it."""

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg
import uvloop

from assets.dagster_private import AssetJob
from assets.resource_assets import asking_runtime
from assets.run_retention import ENDED
from campus.registry import BASE_DATA
from loading.outage import connected
from loading.pushes.drain import Drain, drain_due
from loading.pushes.inbox import Inbox, inbox_path, opened
from loading.pushes.names import resources_named
from loading.runtime import Runtime
from pipelines.due import schools_in
from pipelines.export_automation import EXPORTS
from pipelines.interrupted import UNFINISHED
from pipelines.settings import Settings

PUSHES = "pushes"
# On a drain's run: it changed rows of the lake.
NEWS_TAG = "campus/news"
# Seconds after which a run ends that still has events to drain; the sensor asks for the next one.
LONGEST = 300.0
# A drain is short, and what it reads has just changed: it comes before loads that wait.
PRIORITY = {"dagster/priority": "10"}
# Dagster keeps runs for ever, and this job may have one a minute: those that are so old are deleted.
RUNS_KEPT, RUNS_DELETED_AT_A_TIME = timedelta(days=7), 50


def push_definitions(settings: Settings, loads: Sequence[str], publish: AssetJob | None) -> dg.Definitions:
    """The job that drains the inbox, what starts it, and the publication after it. `loads`: the names of the
    jobs that load what pushes name."""
    job = drain_job(settings, loads)
    drain = drain_after_pushes(settings, loads)
    after = [publish_after_pushes(job, publish)] if publish else []
    return dg.Definitions(jobs=[job], sensors=[drain, *after])


def drain_job(settings: Settings, loads: Sequence[str]) -> dg.JobDefinition:
    """The job that reads what the events in the inbox name."""

    @dg.op(name="drain_inbox", pool="platform", required_resource_keys={"campus"})
    def drain_inbox(context: dg.OpExecutionContext) -> None:
        runtime = asking_runtime(context)
        with opened(settings.home) as inbox:
            moved = uvloop.run(_drain(context, loads, runtime, inbox))
            inbox.prune(settings.options.pushes.keep_days)
        if moved:
            context.instance.add_run_tags(context.run_id, {NEWS_TAG: "true"})
        _forget_old_runs(context.instance)

    @dg.job(
        name=PUSHES,
        executor_def=dg.in_process_executor,
        description="Read what pushed events name, and merge it into the lake.",
    )
    def pushes() -> None:
        drain_inbox()

    return pushes


def drain_after_pushes(settings: Settings, loads: Sequence[str]) -> dg.SensorDefinition:
    """The sensor that asks for a drain when pushed events wait."""

    @dg.sensor(
        name="drain_after_pushes",
        # By its name: Dagster makes a sensor of a job anew, and warns of a parameter that nobody has given.
        job_name=PUSHES,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=5,
        description="Read what the platform's pushes name as soon as they are in the inbox.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if not inbox_path(settings.home).exists():
            return dg.SkipReason("No push has been received yet: campus push-receiver takes them.")
        with opened(settings.home) as inbox:
            told = settings.options.pushes.resources
            inbox.recall(lambda name: resources_named(name, told) is not None)
            schools = inbox.schools_due()
        if not schools:
            return dg.SkipReason("No event waits.")
        mine = dg.RunsFilter(job_name=PUSHES, statuses=UNFINISHED)
        if context.instance.get_run_records(mine, limit=1):
            return dg.SkipReason("The inbox is being drained.")
        if set(schools) <= _being_loaded(context.instance, loads, schools):
            return dg.SkipReason("The schools of the events are being loaded.")
        return dg.RunRequest(tags=PRIORITY)

    return sensor


def publish_after_pushes(job: dg.JobDefinition, publish: AssetJob) -> dg.SensorDefinition:
    """The sensor that has the warehouse published at once when a drain has changed rows. While loads or a
    publication are under way it leaves that to the one after them."""

    @dg.run_status_sensor(
        name="publish_after_pushes",
        run_status=dg.DagsterRunStatus.SUCCESS,
        monitored_jobs=[job],
        request_job=publish,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=5,
        description="Build and publish the warehouse once pushed changes are in the lake.",
    )
    def sensor(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
        run = context.instance.get_run_by_id(context.dagster_run.run_id)
        if run is None or NEWS_TAG not in run.tags:
            return dg.SkipReason("The drain changed nothing.")
        # Where pushes keep coming, a drain is always under way, and the lake is whole at any time.
        under_way = context.instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
        if {each.job_name for each in under_way} - {PUSHES, EXPORTS}:
            return dg.SkipReason("A run is under way; a publication follows it.")
        return dg.RunRequest(run_key=f"pushes-{run.run_id}")

    return sensor


async def _drain(context: dg.OpExecutionContext, loads: Sequence[str], runtime: Runtime, inbox: Inbox) -> int:
    """Drain school by school until nothing is due; how many rows changed."""
    moved, ends = 0, time.monotonic() + LONGEST
    async with connected(runtime, [spec.scopes for spec in BASE_DATA]) as client:
        while time.monotonic() < ends:
            due = inbox.schools_due()
            schools = set(due) - _being_loaded(context.instance, loads, due)
            if not schools:
                break
            for school_id in sorted(schools):
                drain = Drain(runtime, client, inbox, school_id, context.run_id, context.log.info, ends)
                moved += await drain_due(drain)
    return moved


def _being_loaded(instance: dg.DagsterInstance, loads: Sequence[str], schools: Collection[int]) -> set[int]:
    """The schools that a run is loading now. What it has read of them may be older than a push, and what it
    commits would take the place of what a drain reads meanwhile: the events wait for its end. A run that
    names no school loads all."""
    under_way = [
        run
        for job in loads
        for run in instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED]))
    ]
    return {school_id for run in under_way for school_id in schools_in(run.tags) or schools}


def _forget_old_runs(instance: dg.DagsterInstance) -> None:
    old = dg.RunsFilter(
        job_name=PUSHES,
        statuses=ENDED,
        created_before=datetime.now(UTC) - RUNS_KEPT,
    )
    for record in instance.get_run_records(old, limit=RUNS_DELETED_AT_A_TIME):
        instance.delete_run(record.dagster_run.run_id)
