"""Runs that have not ended by themselves: cancelled at the terminal, or left by a process that is gone."""

import time

import dagster as dg

from assets.dagster_private import show_on_timeline
from pipelines.settings import Settings
from pipelines.writers import Writer, living

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
INTERRUPTED = "Interrupted at the terminal. What it committed is kept."


def close_gone_runs(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Report the runs as failed that seem to go on though their process is gone: they would hold up others
    and the publication. The names of their jobs."""
    closed = []
    suspects = _without_process(instance, settings)
    if suspects:
        # Its process may just have begun, or have ended and not said so yet.
        time.sleep(SURE_AFTER)
    for run in _without_process(instance, settings) if suspects else ():
        if run.run_id in {suspect.run_id for suspect in suspects}:
            instance.report_run_failed(run, GONE)
            show_on_timeline(instance, run.run_id)
            closed.append(run.job_name)
    return closed


def _without_process(instance: dg.DagsterInstance, settings: Settings) -> list[dg.DagsterRun]:
    """The runs that have not ended and whose process is not there."""
    # In this order, since a process is there before its run says so.
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    alive = {writer.name for writer in living(settings)}
    return [run for run in runs if run.tags.get(PROCESS_TAG) and run.tags[PROCESS_TAG] not in alive]


def cancel_runs(instance: dg.DagsterInstance, writer: Writer) -> None:
    """Report the runs of this process that have not ended as cancelled."""
    for run in instance.get_runs(dg.RunsFilter(tags={PROCESS_TAG: writer.name}, statuses=UNFINISHED)):
        instance.report_run_canceled(run, message=INTERRUPTED)
        show_on_timeline(instance, run.run_id)
