"""Whether the process of a run is alive, by its heartbeats. Both launchers of a district ask here."""

import os
from collections.abc import Callable
from functools import cache

import dagster as dg

from assets.shared.dagster_private import CheckRunHealthResult, WorkerStatus
from pipelines.district.heartbeats import SILENT, Heartbeats, Watch
from pipelines.settings.environment import POSTGRES_URL

GONE = (
    "{worker} has sent no heartbeat for {seconds:.0f} seconds: it was killed, or its machine is down or cut "
    "off. What the run committed is kept, and another worker goes on."
)


def run_health(run: dg.DagsterRun, may_wait: Callable[[], bool], lost: str) -> CheckRunHealthResult:
    """Whether the process of a run is alive; a dead run is given up.

    `may_wait`: whether a run that has sent no heartbeat may still wait for its start. `lost`: the message for
    such a run that waits no longer. Raises SQLAlchemyError if Postgres is away."""
    watch = watch_of(os.environ[POSTGRES_URL])
    silent, beat = watch.look(run.run_id)
    is_waiting = beat is None and run.status == dg.DagsterRunStatus.STARTING
    if is_waiting and may_wait():
        watch.look_anew(run.run_id)
    elif silent >= SILENT:
        watch.give_up(run.run_id)
        worker = f"The worker {beat.worker}" if beat else "The worker of this run"
        message = lost if is_waiting else GONE
        return CheckRunHealthResult(WorkerStatus.FAILED, message.format(worker=worker, seconds=silent))
    return CheckRunHealthResult(WorkerStatus.RUNNING)


def give_up(run: dg.DagsterRun) -> None:
    """Declare a run dead: its process ends at its next heartbeat, if it goes on. Raises SQLAlchemyError."""
    watch_of(os.environ[POSTGRES_URL]).give_up(run.run_id)


@cache
def watch_of(url: str) -> Watch:
    """The watch of this process over the runs in a Postgres."""
    return Watch(Heartbeats(url))
