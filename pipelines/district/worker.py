"""A worker: what `celery -A pipelines.district.worker worker` runs, as `campus district worker` starts it.

A Celery worker would keep one message more than it works at, so that a run could wait behind another one
while the next worker is idle. Ours listens again only when its run has ended. Messages are acknowledged when
a run begins: RabbitMQ closes the channel that leaves one unacknowledged for half an hour."""

import logging
import os
import threading
import time
from contextlib import suppress
from functools import cache
from typing import Any

import dagster as dg
from celery import Task, bootsteps
from celery.worker import state
from celery.worker.request import Request
from dagster_celery.tasks import create_execute_job_task
from dagster_shared.serdes import unpack_value
from sqlalchemy.exc import SQLAlchemyError

# So that the process of each run, which is forked, has it from the beginning: three CPU seconds a run.
import pipelines.definitions  # noqa: F401
from pipelines.district.heartbeats import NO_ANSWER, Heartbeats
from pipelines.district.launcher import WatchedCeleryLauncher
from pipelines.district.pauses import SIGN, Failures, Pauses, may_be_this_machine
from pipelines.district.signs import (
    HEARTBEAT,
    beat_until,
    try_again_where_cut_off,
    wait_for_postgres,
)
from pipelines.instance import POSTGRES_URL, open_instance
from pipelines.settings import Settings, SettingsError, load_settings
from pipelines.storage_trouble import full_disk, has_room

#: Seconds between two looks whether the run has ended, and whether anything speaks against the next one.
LOOK = 0.2
#: Seconds that the process of a run waits for its last beat to be forgotten.
LAST_BEAT = 10.0

log = logging.getLogger(__name__)


class RunFailed(Exception):
    """A run has failed, with this exit status."""


class RunRequest(Request):  # type: ignore[misc]
    """A message that asks for a run, in the process that has received it."""

    def on_accepted(self, pid: Any, time_accepted: Any) -> None:
        """A process begins with the run: listen no longer, before the message is acknowledged."""
        Listening.pause(pid)
        super().on_accepted(pid, time_accepted)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """The run has failed, or its process has died."""
        Listening.failed = self._may_be_this_machine()
        super().on_failure(exc_info, send_failed_event, return_ok)

    def _may_be_this_machine(self) -> bool:
        """Whether the run may have failed for a reason of this machine."""
        told: Any = unpack_value(self.kwargs["execute_job_args_packed"])
        try:
            return may_be_this_machine(_instance(), told.run_id)
        except NO_ANSWER:
            return True


class Listening(bootsteps.StartStopStep):  # type: ignore[misc]
    """Whether the worker takes messages. It leaves and takes up its queues by name: Celery remembers that and
    begins the next connection so, also in the middle of a run."""

    requires = frozenset({"celery.worker.consumer.tasks:Tasks"})
    consumer: Any = None
    #: The queues that this worker takes runs of.
    queues: tuple[str, ...] = ()
    #: The process that is at a run; None: none is.
    at_work: int | None = None
    #: When that began (monotonic seconds), and whether it has failed.
    begun = 0.0
    failed = False
    listens = True
    failures = Failures()
    #: Why no run is taken, and when that was said last (monotonic seconds).
    why: str | None = None
    said_at = 0.0

    def start(self, parent: Any) -> None:
        """There is a connection."""
        Listening.consumer = parent
        Listening.queues = Listening.queues or tuple(parent.app.amqp.queues.consume_from)
        # Before the first message comes: a worker whose disk is full would fail it.
        self.look()
        self.looks = parent.timer.call_repeatedly(LOOK, self.look)

    def stop(self, parent: Any) -> None:
        """The connection is gone."""
        self.looks.cancel()

    @classmethod
    def pause(cls, pid: int) -> None:
        """Take no message while a process is there. Until the last one is acknowledged, the broker sends none
        either."""
        cls.at_work, cls.begun, cls.failed = pid, time.monotonic(), False
        cls._leave()

    @classmethod
    def look(cls) -> None:
        """Listen where nothing speaks against it. After a run, whatever ended it, another process must stand
        ready: a message that is given to one that is about to end waits for up to five seconds."""
        now = time.monotonic()
        if cls.at_work is not None:
            if state.reserved_requests:
                return
            cls.consumer.pool.maintain_pool()
            if cls.at_work in cls.consumer.pool.info["processes"]:
                return
            cls.at_work = None
            cls.failures.ended(failed=cls.failed, seconds=now - cls.begun, now=now)
        why = _no_room() or cls.failures.why_not(now)
        if why is not None and cls.listens:
            cls._leave()
        if why is not None or cls.why is not None:
            cls._say(why, now)
        if why is None and not cls.listens:
            with suppress(*cls.consumer.connection_errors):
                for queue in cls.queues:
                    cls.consumer.add_task_queue(queue)
                # Only now: what the broker refuses is tried again.
                cls.listens = True

    @classmethod
    def _leave(cls) -> None:
        cls.listens = False
        for queue in cls.queues:
            # Without a connection nobody listens, and the next one begins without the queue.
            with suppress(*cls.consumer.connection_errors):
                cls.consumer.cancel_task_queue(queue)

    @classmethod
    def _say(cls, why: str | None, now: float) -> None:
        """Tell the log of a change, and Postgres now and then as long as it lasts."""
        if (why is None) != (cls.why is None):
            log.warning("Takes no runs: %s.", why.rstrip(".")) if why else log.warning("Takes runs again.")
        elif now - cls.said_at < SIGN:
            return
        cls.why, cls.said_at = why, now
        pauses, worker = _pauses(), cls.consumer.hostname
        try:
            pauses.note(worker, why) if why else pauses.end(worker)
        except SQLAlchemyError as error:
            log.warning("Postgres does not answer: %s", type(error).__name__)


class RunTask(Task):  # type: ignore[misc]
    """A run, in a process of its own; Celery gives it the function of dagster-celery."""

    Request = RunRequest
    # Celery logs it in a line, since the run's own log says why.
    throws = (RunFailed,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises RunFailed where it fails, which alone reaches the process that listens."""
        status = super().__call__(*args, **kwargs)
        if status:
            raise RunFailed(status)
        return status

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


def _no_room() -> str | None:
    """Why nothing can be written on this machine; None: it can."""
    settings = _settings()
    folders = filter(None, [settings.home, settings.lake_folder])
    return next((full_disk(folder) for folder in folders if not has_room(folder)), None)


@cache
def _settings() -> Settings:
    return load_settings()


@cache
def _pauses() -> Pauses:
    return Pauses(os.environ[POSTGRES_URL])


@cache
def _instance() -> dg.DagsterInstance:
    """Dagster's records, open as long as this process."""
    return dg.DagsterInstance.get()


def _app() -> Any:
    """The application of Celery that dagster.yaml has of the settings."""
    with open_instance(_settings()) as instance:
        launcher = instance.run_launcher
    if not isinstance(launcher, WatchedCeleryLauncher):
        raise SettingsError(["dagster.yaml names no broker: set CAMPUS_BROKER_URL"])
    options: Any = {"base": RunTask}
    create_execute_job_task(launcher.celery, **options)
    launcher.celery.steps["consumer"].add(Listening)
    return launcher.celery


app = _app()
