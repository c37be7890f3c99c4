"""Runs that have not ended by themselves: cancelled at the terminal, or left by a process that is gone."""

import dagster as dg

from assets.dagster_private import show_on_timeline
from pipelines.settings import Settings
from pipelines.writers import Writer, living

#: On a run: the file of the process that runs it, see writers.
PROCESS_TAG = "campus/process"
#: On a run of a command: who has launched it. Nothing follows it by itself: the command does what does.
LAUNCHER_TAG = "campus/launched_by"
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
GONE = "The process of this run is gone: it was killed, or the machine went down. What it committed is kept."
INTERRUPTED = "Interrupted at the terminal. What it committed is kept."


def close_gone_runs(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Report the runs as failed that seem to go on though their process is gone: they would hold up others
    and the publication. The names of their jobs."""
    alive = {writer.name for writer in living(settings)}
    closed = []
    for run in instance.get_runs(dg.RunsFilter(statuses=UNFINISHED)):
        name = run.tags.get(PROCESS_TAG)
        if name is not None and name not in alive:
            instance.report_run_failed(run, GONE)
            show_on_timeline(instance, run.run_id)
            closed.append(run.job_name)
    return closed


def cancel_runs(instance: dg.DagsterInstance, writer: Writer) -> None:
    """Report the runs of this process that have not ended as cancelled."""
    for run in instance.get_runs(dg.RunsFilter(tags={PROCESS_TAG: writer.name}, statuses=UNFINISHED)):
        instance.report_run_canceled(run, message=INTERRUPTED)
        show_on_timeline(instance, run.run_id)
