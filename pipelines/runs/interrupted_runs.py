"""Ends unfinished runs: cancelled at the terminal, or left by a process that is gone.

How it shows that the process of a run is gone:

- Of a command, and of the UI or its daemon: the run's tag names a file in the home that the process keeps
  locked (see writer_locks and executor). Only files of this machine count.
- Of a worker or of Kubernetes: the heartbeats of the run stop. Dagster's daemon asks the launcher for them.
- Of a run that no process has tagged: Dagster's limit for a start is over. Dagster lets a process that
  starts later execute nothing.
"""

import time
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.shared.dagster_private import WorkerStatus, show_on_timeline
from pipelines.district.queues import TASK_TAG
from pipelines.runs.launchers import LAUNCHER_TAG, NEVER_STARTED_TAG, PROCESS_TAG
from pipelines.runs.writer_locks import Writer, is_of_this_machine, live_processes
from pipelines.settings.settings import Settings

UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
BEFORE_LAUNCH = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]
#: Seconds after which a run still without a process is taken for gone.
SURE_AFTER = 2.0
GONE = "The process of this run is gone: it was killed, or the machine went down. What it committed is kept."
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
    count, them = ("1 run is", "it") if len(runs) == 1 else (f"{len(runs)} runs are", "them")
    return (
        f"{count} under way, such as {runs[0].job_name} ({runs[0].run_id[:8]}): wait for {them} to finish, "
        f"or stop {them}"
    )


def closed_run(run: dg.DagsterRun, reason: str = "its process is gone") -> str:
    """Say that a run was closed, who launched it, and why it was closed."""
    launcher = run.tags.get(LAUNCHER_TAG)
    launched = f", launched by {launcher}" if launcher else ""
    return f"Closed run {run.run_id[:8]} ({run.job_name}){launched}: {reason}."


def close_gone_runs(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Fail the runs whose process is gone, and the runs that never started: they would block other runs and
    the publication. Returns a sentence for each such run."""
    closed = []
    suspects = _without_process(instance, settings)
    if suspects:
        # A process may have started, or ended, just now.
        time.sleep(SURE_AFTER)
    gone = [
        run
        for run in (_without_process(instance, settings) if suspects else ())
        if run.run_id in {suspect.run_id for suspect in suspects}
    ]
    for run in [*gone, *_lost_starts(instance)]:
        instance.report_run_failed(run, GONE)
        show_on_timeline(instance, run.run_id)
        closed.append(closed_run(run))
    return closed + _close_silent_starts(instance) + _close_never_started(instance, settings)


def _close_never_started(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Fail the runs that were created and never queued, since their launch was interrupted."""
    closed = []
    now = datetime.now(UTC)
    not_started = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.NOT_STARTED], created_before=now - LAUNCHED_WITHIN
    )
    alive = live_processes(settings)
    for record in instance.get_run_records(not_started):
        run = record.dagster_run
        process = run.tags.get(PROCESS_TAG, "")
        is_elsewhere = process and not is_of_this_machine(process)
        if process in alive or (is_elsewhere and record.create_timestamp > now - LAUNCHED_ELSEWHERE_WITHIN):
            continue
        instance.add_run_tags(run.run_id, {NEVER_STARTED_TAG: "true"})
        instance.report_run_failed(run, NEVER_STARTED)
        closed.append(closed_run(run, "it never started; launch it again"))
    return closed


def _close_silent_starts(instance: dg.DagsterInstance) -> list[str]:
    """Fail the runs that died with their worker before they began; Dagster itself checks only later ones."""
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])):
        if run.tags.get(TASK_TAG):
            health = instance.run_launcher.check_run_worker_health(run)
            if health.status == WorkerStatus.FAILED:
                instance.report_run_failed(run, health.msg)
                closed.append(closed_run(run))
    return closed


def _without_process(instance: dg.DagsterInstance, settings: Settings) -> list[dg.DagsterRun]:
    """The unfinished runs of this machine whose process is gone. Runs of workers have heartbeats instead, and
    the lock files of other machines are not visible here."""
    # Runs first: a process has its lock file before its run has the tag.
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    alive = live_processes(settings)
    return [
        run
        for run in runs
        if not run.tags.get(TASK_TAG)
        and is_of_this_machine(process := run.tags.get(PROCESS_TAG, ""))
        and process not in alive
    ]


def _lost_starts(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """The launched runs that no process has tagged within Dagster's limit for a start."""
    if instance.run_launcher.supports_check_run_worker_health:
        return []
    limit = timedelta(seconds=instance.run_monitoring_start_timeout_seconds)
    launched = [status for status in UNFINISHED if status not in BEFORE_LAUNCH]
    waiting = dg.RunsFilter(statuses=launched, updated_before=datetime.now(UTC) - limit)
    runs = instance.get_runs(waiting)
    return [run for run in runs if not (run.tags.get(PROCESS_TAG) or run.tags.get(TASK_TAG))]


def cancel_runs(instance: dg.DagsterInstance, writer: Writer) -> None:
    """Report the unfinished runs of this process as cancelled."""
    for run in instance.get_runs(dg.RunsFilter(tags={PROCESS_TAG: writer.name}, statuses=UNFINISHED)):
        instance.report_run_canceled(run, message=INTERRUPTED)
        show_on_timeline(instance, run.run_id)
