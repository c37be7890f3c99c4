"""The run launcher of a district: Dagster's Celery launcher with heartbeats.

Only this file and worker.py use dagster-celery. tests/house/test_dagster_celery.py names what an upgrade
removes."""

import os
import warnings
from typing import Any

import dagster as dg
from amqp.exceptions import AMQPError
from celery.exceptions import DuplicateTaskNameWarning
from celery.result import denied_join_result
from dagster_celery.launcher import CeleryRunLauncher
from kombu.exceptions import OperationalError

from assets.shared.dagster_private import CheckRunHealthResult
from pipelines.district.queues import QUEUE_TAG
from pipelines.district.run_health import run_health, watch_of
from pipelines.settings.environment import POSTGRES_URL

#: The errors of a broker that is away, or has no such queue.
NO_BROKER = (OperationalError, AMQPError, OSError)
#: Seconds to wait for the broker's answer.
PATIENCE = 5
LOST = (
    "No worker has had this run for {seconds:.0f} seconds, and the broker does not queue it either: its "
    "message was lost, or its worker was killed before the start. The run is queued again."
)


class WatchedCeleryLauncher(CeleryRunLauncher):
    """Launches each run as a Celery task whose process sends heartbeats.

    Celery alone reports a task as STARTED for ever after its worker died."""

    def launch_run(self, context: Any) -> None:
        """Queue a run at the broker."""
        # Nobody reads the result: without this the daemon would subscribe to each run's result for ever.
        with denied_join_result(), warnings.catch_warnings():
            # Dagster registers the same task again with each run.
            warnings.simplefilter("ignore", DuplicateTaskNameWarning)
            super().launch_run(context)

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the process of a run is alive. Raises SQLAlchemyError if Postgres is away."""
        return run_health(run, lambda: self._may_be_queued(run), LOST)

    def _may_be_queued(self, run: dg.DagsterRun) -> bool:
        """Whether the broker may still have the message of a run: its queue has messages, or the broker is
        away."""
        queue = run.tags.get(QUEUE_TAG, self.default_queue)
        try:
            with self.celery.connection_for_read() as connection:
                connection.ensure_connection(max_retries=1, timeout=PATIENCE)
                state = connection.default_channel.queue_declare(queue, passive=True)
        except NO_BROKER:
            return True
        return bool(state.message_count)

    def terminate(self, run_id: str) -> bool:
        """Cancel a run: its process reads the run's status with each heartbeat."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        if run.status != dg.DagsterRunStatus.CANCELING:
            self._instance.report_run_canceling(run)
        return True

    def get_run_worker_debug_info(
        self, run: dg.DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """The worker of a run, and the time of its last heartbeat."""
        beat = watch_of(os.environ[POSTGRES_URL]).beats.all().get(run.run_id)
        return f"The run's worker is {beat.worker}, with a last heartbeat at {beat.at}." if beat else None
