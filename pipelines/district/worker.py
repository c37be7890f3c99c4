"""A worker: what `celery -A pipelines.district.worker worker` runs, as `campus district worker` starts it.

A Celery worker would keep one message more than it works at, so that a run could wait behind another one
while the next worker is idle. Ours listens again only when its run has ended. Messages are acknowledged when
a run begins: RabbitMQ closes the channel that leaves one unacknowledged for half an hour."""

import os
import threading
from contextlib import suppress
from typing import Any

from celery import Task, bootsteps
from celery.worker import state
from celery.worker.request import Request
from dagster_celery.tasks import create_execute_job_task
from dagster_shared.serdes import unpack_value

# So that the process of each run, which is forked, has it from the beginning: three CPU seconds a run.
import pipelines.definitions  # noqa: F401
from pipelines.district.heartbeats import Heartbeats
from pipelines.district.launcher import WatchedCeleryLauncher
from pipelines.district.signs import HEARTBEAT, beat_until, try_again_where_cut_off, wait_for_postgres
from pipelines.instance import POSTGRES_URL, open_instance
from pipelines.settings import SettingsError, load_settings

#: Seconds between two looks whether the run has ended.
LOOK = 0.2
#: Seconds that the process of a run waits for its last beat to be forgotten.
LAST_BEAT = 10.0


class RunRequest(Request):  # type: ignore[misc]
    """A message that asks for a run, in the process that has received it."""

    def on_accepted(self, pid: Any, time_accepted: Any) -> None:
        """A process begins with the run: listen no longer, before the message is acknowledged."""
        Listening.pause(pid)
        super().on_accepted(pid, time_accepted)


class Listening(bootsteps.StartStopStep):  # type: ignore[misc]
    """Whether the worker takes messages. It leaves and takes up its queues by name: Celery remembers that and
    begins the next connection so, also in the middle of a run."""

    requires = frozenset({"celery.worker.consumer.tasks:Tasks"})
    consumer: Any = None
    #: The queues that this worker takes runs of.
    queues: tuple[str, ...] = ()
    #: The process that is at a run; None: we listen.
    at_work: int | None = None

    def start(self, parent: Any) -> None:
        """There is a connection."""
        Listening.consumer = parent
        Listening.queues = Listening.queues or tuple(parent.app.amqp.queues.consume_from)
        self.looks = parent.timer.call_repeatedly(LOOK, self.resume)

    def stop(self, parent: Any) -> None:
        """The connection is gone."""
        self.looks.cancel()

    @classmethod
    def pause(cls, pid: int) -> None:
        """Take no message while a process is there. Until the last one is acknowledged, the broker sends none
        either."""
        cls.at_work = pid
        for queue in cls.queues:
            # Without a connection nobody listens, and the next one begins without the queue.
            with suppress(*cls.consumer.connection_errors):
                cls.consumer.cancel_task_queue(queue)

    @classmethod
    def resume(cls) -> None:
        """Listen again once the run has ended, whatever ended it, and another process stands ready: a message
        that is given to one that is about to end waits for up to five seconds."""
        if cls.at_work is None or state.reserved_requests:
            return
        cls.consumer.pool.maintain_pool()
        if cls.at_work not in cls.consumer.pool.info["processes"]:
            with suppress(*cls.consumer.connection_errors):
                for queue in cls.queues:
                    cls.consumer.add_task_queue(queue)
                # Only now: what the broker refuses is tried again.
                cls.at_work = None


class RunTask(Task):  # type: ignore[misc]
    """A run, in a process of its own; Celery gives it the function of dagster-celery."""

    Request = RunRequest

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """Give signs of life from now on."""
        wait_for_postgres()
        told: Any = unpack_value(kwargs["execute_job_args_packed"])
        beats, end, worker = Heartbeats(os.environ[POSTGRES_URL]), threading.Event(), self.request.hostname
        thread = threading.Thread(
            target=beat_until, args=(end, beats, told.run_id, worker), daemon=True, name=HEARTBEAT
        )
        thread.start()
        try_again_where_cut_off(told.run_id)
        self._beating = end, thread

    def after_return(
        self, status: Any, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any
    ) -> None:
        """The run has ended, and with it its signs of life."""
        end, thread = self._beating
        end.set()
        thread.join(LAST_BEAT)


def _app() -> Any:
    """The application of Celery that dagster.yaml has of the settings."""
    with open_instance(load_settings()) as instance:
        launcher = instance.run_launcher
    if not isinstance(launcher, WatchedCeleryLauncher):
        raise SettingsError(["dagster.yaml names no broker: set CAMPUS_BROKER_URL"])
    options: Any = {"base": RunTask}
    create_execute_job_task(launcher.celery, **options)
    launcher.celery.steps["consumer"].add(Listening)
    return launcher.celery


app = _app()
