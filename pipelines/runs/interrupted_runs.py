"""Ends unfinished runs: cancelled at the terminal, or left by a process that is gone."""

import time
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.shared.dagster_private import WorkerStatus, show_on_timeline
from pipelines.district.queues import TASK_TAG
from pipelines.runs.writer_locks import Writer, is_of_this_machine, live_writers
from pipelines.settings.settings import Settings

#: Tag of a run: the lock file of its process (see writer_locks); empty: it has none yet.
PROCESS_TAG = "campus/process"
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
#: Seconds after which a run still without a process is taken for gone.
SURE_AFTER = 2.0
GONE = "The process of this run is gone: it was killed, or the machine went down. What it committed is kept."
GONE_CLOSED = "{job}: a run whose process is gone was closed."
#: Tag of a run that never started. No run follows it, unlike a discovery that ran and failed.
NEVER_STARTED_TAG = "campus/never_started"
#: The longest time between the creation and the queueing of a run.
LAUNCHED_WITHIN = timedelta(minutes=2)
#: The same for a command of another machine, whose process cannot be checked here.
LAUNCHED_ELSEWHERE_WITHIN = timedelta(hours=1)
NEVER_STARTED = (
    "This run never started: its launch was interrupted, for example by a database outage. It has loaded "
    "nothing. Launch it again."
)
INTERRUPTED = "Interrupted at the terminal. What it committed is kept."


def runs_under_way(instance: dg.DagsterInstance) -> str:
    """Say which runs read and write the lake, on this machine or on a worker; empty: none."""
    statuses = [status for status in UNFINISHED if status is not dg.DagsterRunStatus.QUEUED]
    runs = instance.get_runs(dg.RunsFilter(statuses=statuses))
    if not runs:
        return ""
    return (
        f"{len(runs)} runs are under way, such as {runs[0].job_name} "
        f"({runs[0].run_id[:8]}): wait for them to finish, or stop them"
    )


def close_gone_runs(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Fail the runs whose process is gone, and the runs that never started: they would block other runs and
    the publication. Returns a sentence for each such run."""
    closed = []
    suspects = _without_process(instance, settings)
    if suspects:
        # A process may have started, or ended, just now.
        time.sleep(SURE_AFTER)
    for run in _without_process(instance, settings) if suspects else ():
        if run.run_id in {suspect.run_id for suspect in suspects}:
            instance.report_run_failed(run, GONE)
            show_on_timeline(instance, run.run_id)
            closed.append(GONE_CLOSED.format(job=run.job_name))
    return closed + _close_silent_starts(instance) + _close_never_started(instance, settings)


def _close_never_started(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Fail the runs that were created and never queued, since their launch was interrupted."""
    closed = []
    now = datetime.now(UTC)
    not_started = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.NOT_STARTED], created_before=now - LAUNCHED_WITHIN
    )
    alive = {writer.name for writer in live_writers(settings)}
    for record in instance.get_run_records(not_started):
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
    """Fail the runs that died with their worker before they began; Dagster itself checks only later ones."""
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])):
        if run.tags.get(TASK_TAG):
            health = instance.run_launcher.check_run_worker_health(run)
            if health.status == WorkerStatus.FAILED:
                instance.report_run_failed(run, health.msg)
                closed.append(GONE_CLOSED.format(job=run.job_name))
    return closed


def _without_process(instance: dg.DagsterInstance, settings: Settings) -> list[dg.DagsterRun]:
    """The unfinished runs of this machine whose process is gone. Runs of workers have heartbeats instead, and
    the lock files of other machines are not visible here."""
    # Runs first: a process has its lock file before its run has the tag.
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    alive = {writer.name for writer in live_writers(settings)}
    return [
        run
        for run in runs
        if not run.tags.get(TASK_TAG)
        and is_of_this_machine(process := run.tags.get(PROCESS_TAG, ""))
        and process not in alive
    ]


def cancel_runs(instance: dg.DagsterInstance, writer: Writer) -> None:
    """Report the unfinished runs of this process as cancelled."""
    for run in instance.get_runs(dg.RunsFilter(tags={PROCESS_TAG: writer.name}, statuses=UNFINISHED)):
        instance.report_run_canceled(run, message=INTERRUPTED)
        show_on_timeline(instance, run.run_id)
