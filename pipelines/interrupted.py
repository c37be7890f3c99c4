"""Runs that have not ended by themselves: cancelled at the terminal, or left by a process that is gone."""

import time
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.dagster_private import WorkerStatus, show_on_timeline
from pipelines.district.queues import TASK_TAG
from pipelines.settings import Settings
from pipelines.writers import Writer, is_of_this_machine, living

#: On a run: the file of the process that runs it, see writers; empty: it has none yet.
PROCESS_TAG = "campus/process"
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
#: Seconds between two looks.
SURE_AFTER = 2.0
GONE = "The process of this run is gone: it was killed, or the machine went down. What it committed is kept."
GONE_CLOSED = "{job}: a run whose process is gone was closed."
#: On a run that never started: nothing follows it, as does a discovery that has failed by itself.
NEVER_STARTED_TAG = "campus/never_started"
#: How long a launch may take between making a run and queueing it.
LAUNCHED_WITHIN = timedelta(minutes=2)
#: How long a command of another machine may take: whether its process is alive is not seen here.
LAUNCHED_ELSEWHERE_WITHIN = timedelta(hours=1)
NEVER_STARTED = (
    "This run never started: its launch was cut off, as by a database that went away. It has loaded "
    "nothing. Launch it again."
)
INTERRUPTED = "Interrupted at the terminal. What it committed is kept."


def runs_under_way(instance: dg.DagsterInstance) -> str:
    """Which runs read and write the lake, on this machine or on a worker, in words; empty: none."""
    statuses = [status for status in UNFINISHED if status is not dg.DagsterRunStatus.QUEUED]
    runs = instance.get_runs(dg.RunsFilter(statuses=statuses))
    if not runs:
        return ""
    return (
        f"{len(runs)} runs are under way, such as {runs[0].job_name} "
        f"({runs[0].run_id[:8]}): wait for their end, or end them"
    )


def close_gone_runs(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Report the runs as failed whose process is gone, and those that never started: they would hold up
    others and the publication. What was closed, a sentence each."""
    closed = []
    suspects = _without_process(instance, settings)
    if suspects:
        # Its process may just have begun, or have ended and not said so yet.
        time.sleep(SURE_AFTER)
    for run in _without_process(instance, settings) if suspects else ():
        if run.run_id in {suspect.run_id for suspect in suspects}:
            instance.report_run_failed(run, GONE)
            show_on_timeline(instance, run.run_id)
            closed.append(GONE_CLOSED.format(job=run.job_name))
    return closed + _close_silent_starts(instance) + _close_never_started(instance, settings)


def _close_never_started(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Report the runs as failed that were made and never got into the queue: who launched them was cut off in
    between, as by a database that went away."""
    closed = []
    now = datetime.now(UTC)
    made = dg.RunsFilter(statuses=[dg.DagsterRunStatus.NOT_STARTED], created_before=now - LAUNCHED_WITHIN)
    alive = {writer.name for writer in living(settings)}
    for record in instance.get_run_records(made):
        run = record.dagster_run
        process = run.tags.get(PROCESS_TAG, "")
        is_elsewhere = process and not is_of_this_machine(process)
        if process in alive or (is_elsewhere and record.create_timestamp > now - LAUNCHED_ELSEWHERE_WITHIN):
            continue
        instance.add_run_tags(run.run_id, {NEVER_STARTED_TAG: "true"})
        instance.report_run_failed(run, NEVER_STARTED)
        closed.append(f"{run.job_name}: a run that never started was closed; launch it again.")
    return closed


def _close_silent_starts(instance: dg.DagsterInstance) -> list[str]:
    """Report the runs as failed that a worker took and that died with it before they had begun: Dagster asks
    for the health of those that have."""
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])):
        if run.tags.get(TASK_TAG):
            health = instance.run_launcher.check_run_worker_health(run)
            if health.status == WorkerStatus.FAILED:
                instance.report_run_failed(run, health.msg)
                closed.append(GONE_CLOSED.format(job=run.job_name))
    return closed


def _without_process(instance: dg.DagsterInstance, settings: Settings) -> list[dg.DagsterRun]:
    """The runs of this machine that have not ended and whose process is not there. Those that a worker has
    got are left to their heartbeats, and other machines to themselves: their files are not seen here."""
    # In this order, since a process is there before its run says so.
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    alive = {writer.name for writer in living(settings)}
    return [
        run
        for run in runs
        if not run.tags.get(TASK_TAG)
        and is_of_this_machine(process := run.tags.get(PROCESS_TAG, ""))
        and process not in alive
    ]


def cancel_runs(instance: dg.DagsterInstance, writer: Writer) -> None:
    """Report the runs of this process that have not ended as cancelled."""
    for run in instance.get_runs(dg.RunsFilter(tags={PROCESS_TAG: writer.name}, statuses=UNFINISHED)):
        instance.report_run_canceled(run, message=INTERRUPTED)
        show_on_timeline(instance, run.run_id)
