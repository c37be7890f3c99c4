"""The job that drains the inbox of pushes, the sensor that starts the job, and the sensor that publishes
after the job."""

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg
import uvloop

from assets.shared.dagster_private import AssetJob
from assets.shared.load_kind import platform_runtime
from assets.shared.run_retention import ENDED
from campus.registry import BASE_DATA
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.pushes.drain import Drain, drain_due
from loading.pushes.inbox import Inbox, inbox_path, open_inbox
from loading.pushes.names import resources_named
from pipelines.runs.interrupted_runs import UNFINISHED
from pipelines.runs.jobs import EXPORTS, PUSHES, SITE_JOB
from pipelines.runs.partition_selection import schools_in
from pipelines.settings.settings import Settings

#: On a drain's run: the run changed rows of the lake.
NEWS_TAG = "campus/news"
#: Seconds after which a run stops draining. The sensor starts a new run for the remaining events.
LONGEST_DRAIN = 300.0
#: A drain is short and reads fresh changes, so it goes before queued loads.
PRIORITY = {"dagster/priority": "10"}
#: Dagster never deletes runs, and this job may run every minute: its old runs are deleted here.
KEEP_RUNS, DELETED_RUNS_PER_DRAIN = timedelta(days=7), 50


def push_definitions(settings: Settings, loads: Sequence[str], publish: AssetJob | None) -> dg.Definitions:
    """The job that drains the inbox, and its sensors. `loads`: the names of the jobs that load the resources
    of pushes."""
    job = drain_job(settings, loads)
    drain = drain_after_pushes(settings, loads)
    after = [publish_after_pushes(job, publish)] if publish else []
    return dg.Definitions(jobs=[job], sensors=[drain, *after])


def drain_job(settings: Settings, loads: Sequence[str]) -> dg.JobDefinition:
    """The job that reads the rows named by the events in the inbox."""

    @dg.op(name="drain_inbox", pool="platform", required_resource_keys={"campus"})
    def drain_inbox(context: dg.OpExecutionContext) -> None:
        runtime = platform_runtime(context)
        with open_inbox(settings.home) as inbox:
            changed_rows = uvloop.run(_drain(context, loads, runtime, inbox))
            inbox.prune(settings.options.pushes.keep_days)
        if changed_rows:
            context.instance.add_run_tags(context.run_id, {NEWS_TAG: "true"})
        old = dg.RunsFilter(job_name=PUSHES, statuses=ENDED, created_before=datetime.now(UTC) - KEEP_RUNS)
        for record in context.instance.get_run_records(old, limit=DELETED_RUNS_PER_DRAIN):
            context.instance.delete_run(record.dagster_run.run_id)

    @dg.job(
        name=PUSHES,
        description="Read the rows that pushed events name, and merge them into the lake.",
    )
    def pushes() -> None:
        drain_inbox()

    return pushes


def drain_after_pushes(settings: Settings, loads: Sequence[str]) -> dg.SensorDefinition:
    """The sensor that requests a drain when pushed events wait."""

    @dg.sensor(
        name="drain_after_pushes",
        # By name: from a job object Dagster builds the sensor again, and warns about an unset parameter.
        job_name=PUSHES,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=5,
        description="Drain the inbox as soon as it has pushes of the platform.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if not inbox_path(settings.home).exists():
            return dg.SkipReason("No push has been received yet: campus push-receiver takes them.")
        with open_inbox(settings.home) as inbox:
            resources = settings.options.pushes.resources
            inbox.recall(lambda name: resources_named(name, resources) is not None)
            schools = inbox.schools_due()
        if not schools:
            return dg.SkipReason("No event waits.")
        drains = dg.RunsFilter(job_name=PUSHES, statuses=UNFINISHED)
        if context.instance.get_run_records(drains, limit=1):
            return dg.SkipReason("The inbox is being drained.")
        if set(schools) <= _being_loaded(context.instance, loads, schools):
            return dg.SkipReason("The schools of the events are being loaded.")
        return dg.RunRequest(tags=PRIORITY)

    return sensor


def publish_after_pushes(job: dg.JobDefinition, publish: AssetJob) -> dg.SensorDefinition:
    """The sensor that requests a publication as soon as a drain has changed rows. While loads or a
    publication are under way, the publication after them includes the change."""

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
        # Other drains do not count: with many pushes a drain is always under way, and each commit is
        # complete.
        under_way = context.instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
        if {other.job_name for other in under_way} - {PUSHES, EXPORTS, SITE_JOB}:
            return dg.SkipReason("A run is under way; a publication follows it.")
        return dg.RunRequest(run_key=f"pushes-{run.run_id}")

    return sensor


async def _drain(context: dg.OpExecutionContext, loads: Sequence[str], runtime: Runtime, inbox: Inbox) -> int:
    """Drain school by school until nothing is due. Returns the number of changed rows."""
    changed_rows, deadline = 0, time.monotonic() + LONGEST_DRAIN
    async with connected(runtime, [spec.scopes for spec in BASE_DATA]) as client:
        while time.monotonic() < deadline:
            due = inbox.schools_due()
            schools = set(due) - _being_loaded(context.instance, loads, due)
            if not schools:
                break
            for school_id in sorted(schools):
                drain = Drain(runtime, client, inbox, school_id, context.run_id, context.log.info, deadline)
                changed_rows += await drain_due(drain)
    return changed_rows


def _being_loaded(instance: dg.DagsterInstance, loads: Sequence[str], schools: Collection[int]) -> set[int]:
    """The schools that a run is loading now; a run without schools in its tags loads all schools.

    The events of these schools wait: the load may have read rows before the push, and its commit would
    replace newer rows of a drain."""
    under_way = [
        run
        for job in loads
        for run in instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED]))
    ]
    return {school_id for run in under_way for school_id in schools_in(run.tags) or schools}
