"""What dagster.yaml names as `run_launcher` of a district: Dagster's own for Celery, which asks for
heartbeats.

All that is taken of dagster-celery is in this file and in worker.py; tests/house/test_dagster_celery.py says
in words what an upgrade has taken away."""

import os
import warnings
from functools import cache
from typing import Any

import dagster as dg
from amqp.exceptions import AMQPError
from celery.exceptions import DuplicateTaskNameWarning
from celery.result import denied_join_result
from dagster_celery.launcher import CeleryRunLauncher
from kombu.exceptions import OperationalError

from assets.dagster_private import CheckRunHealthResult, WorkerStatus
from pipelines.district.heartbeats import SILENT, Heartbeats, Watch
from pipelines.district.queues import QUEUE_TAG
from pipelines.instance import POSTGRES_URL

#: What a broker that is away, or has no such queue, raises.
NO_BROKER = (OperationalError, AMQPError, OSError)
#: Seconds for which the broker is asked.
PATIENCE = 5
GONE = (
    "{worker} has not been heard of for {seconds:.0f} seconds: it was killed, or its machine is down or cut "
    "off. What the run committed is kept, and another worker goes on."
)
LOST = (
    "For {seconds:.0f} seconds no worker has had this run, and it does not wait at the broker either: its "
    "message was lost, or the worker that took it was killed before it could begin. It is handed out again."
)


class WatchedCeleryLauncher(CeleryRunLauncher):
    """Each run is a task of Celery, and the process that runs it gives signs of life.

    Celery itself calls a task STARTED for ever whose worker is gone."""

    def launch_run(self, context: Any) -> None:
        """Hand a run to the broker."""
        # Nobody waits for its result: without this the daemon would subscribe to that of each run, for ever.
        with denied_join_result(), warnings.catch_warnings():
            # Dagster names the one task that there is anew with each run.
            warnings.simplefilter("ignore", DuplicateTaskNameWarning)
            super().launch_run(context)

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the process of a run is alive. Raises SQLAlchemyError where nobody can tell."""
        watch = watch_of(os.environ[POSTGRES_URL])
        silent, beat = watch.look(run.run_id)
        waits = beat is None and run.status == dg.DagsterRunStatus.STARTING
        if waits and self._may_wait(run):
            watch.look_anew(run.run_id)
        elif silent >= SILENT:
            watch.give_up(run.run_id)
            worker = f"The worker {beat.worker}" if beat else "The worker of this run"
            words = LOST if waits else GONE
            return CheckRunHealthResult(WorkerStatus.FAILED, words.format(worker=worker, seconds=silent))
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def _may_wait(self, run: dg.DagsterRun) -> bool:
        """Whether the message of a run may be at the broker still: something waits there, or nobody can
        tell."""
        queue = run.tags.get(QUEUE_TAG, self.default_queue)
        try:
            with self.celery.connection_for_read() as connection:
                connection.ensure_connection(max_retries=1, timeout=PATIENCE)
                told = connection.default_channel.queue_declare(queue, passive=True)
        except NO_BROKER:
            return True
        return bool(told.message_count)

    def terminate(self, run_id: str) -> bool:
        """Have a run end: its process looks at what is wanted of it with each beat."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        if run.status != dg.DagsterRunStatus.CANCELING:
            self._instance.report_run_canceling(run)
        return True

    def get_run_worker_debug_info(
        self, run: dg.DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """Where a run is, in words."""
        beat = watch_of(os.environ[POSTGRES_URL]).beats.all().get(run.run_id)
        return f"It was run by the worker {beat.worker}, heard of last at {beat.at}." if beat else None


@cache
def watch_of(url: str) -> Watch:
    """What this process knows of the runs in a Postgres."""
    return Watch(Heartbeats(url))
