"""The Celery application of a worker: `campus district worker` runs `celery -A pipelines.district.worker`.

A plain Celery worker reserves one message more than it executes, so a run could wait while another worker is
idle. This worker listens again only after its run has ended. It acknowledges a message when the run begins:
RabbitMQ closes a channel that leaves a message unacknowledged for half an hour."""

import logging
import os
import time
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any

from celery import Task, bootsteps
from celery.exceptions import WorkerLostError
from celery.worker import state
from celery.worker.request import Request
from dagster_celery.tasks import create_execute_job_task
from dagster_shared.serdes import unpack_value
from sqlalchemy.exc import SQLAlchemyError

# Imported before the fork of each run's process, which saves three CPU seconds per run.
import pipelines.definitions  # noqa: F401
from pipelines.district.heartbeat_thread import CANCELED, process_instance, watched
from pipelines.district.heartbeats import NO_ANSWER, Heartbeats
from pipelines.district.launcher import WatchedCeleryLauncher
from pipelines.district.pauses import SIGN, Failures, Pauses, may_be_this_machine
from pipelines.runs.instance import open_instance
from pipelines.runs.storage_failures import full_disk, has_room
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError, load_settings

#: Seconds between two checks whether the run has ended and whether the worker may take another run.
CHECK_SECONDS = 0.2
KILLED = (
    "The process of this run on {worker} was killed, perhaps for lack of memory. What the run committed is "
    "kept, and another process goes on."
)

log = logging.getLogger(__name__)


class RunFailed(Exception):
    """A run has failed with this exit status."""


class RunRequest(Request):  # type: ignore[misc]
    """A message that requests a run, in the process that received the message."""

    def on_accepted(self, pid: Any, time_accepted: Any) -> None:
        """Stop listening when a process begins the run, before the message is acknowledged."""
        Listening.pause(pid)
        super().on_accepted(pid, time_accepted)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """Record that the run failed or its process died."""
        arguments: Any = unpack_value(self.kwargs["execute_job_args_packed"])
        try:
            if issubclass(exc_info.type, WorkerLostError | SystemExit):
                _report_killed(arguments.run_id, self.hostname)
            Listening.failed = may_be_this_machine(process_instance(), arguments.run_id)
        except NO_ANSWER:
            # The daemon finds a killed run by its missing heartbeats.
            Listening.failed = True
        super().on_failure(exc_info, send_failed_event, return_ok)


class Listening(bootsteps.StartStopStep):  # type: ignore[misc]
    """Whether the worker takes messages.

    The worker leaves and joins its queues by name. Celery remembers the queues for the next connection, even
    in the middle of a run."""

    requires = frozenset({"celery.worker.consumer.tasks:Tasks"})
    consumer: Any = None
    #: The queues of this worker.
    queues: tuple[str, ...] = ()
    #: The process of the current run; None: no run.
    run_pid: int | None = None
    #: When the run began (monotonic seconds), and whether it has failed.
    begun = 0.0
    failed = False
    listens = True
    failures = Failures()
    #: Why the worker takes no runs, and when that was last reported (monotonic seconds).
    reason: str | None = None
    reported_at = 0.0

    def start(self, parent: Any) -> None:
        """Begin the checks on a new connection."""
        Listening.consumer = parent
        Listening.queues = Listening.queues or tuple(parent.app.amqp.queues.consume_from)
        # Before the first message, since a run would fail on a full disk.
        self.check()
        self.checks = parent.timer.call_repeatedly(CHECK_SECONDS, self.check)

    def stop(self, parent: Any) -> None:
        """End the checks on a lost connection."""
        self.checks.cancel()

    @classmethod
    def pause(cls, pid: int) -> None:
        """Take no messages while a process executes a run. The broker sends none either, until the last
        message is acknowledged."""
        cls.run_pid, cls.begun, cls.failed = pid, time.monotonic(), False
        cls._leave_queues()

    @classmethod
    def check(cls) -> None:
        """Listen if no run goes on and nothing forbids another run.

        After a run, a new process must be ready first: a message for an ending process waits for up to five
        seconds."""
        now = time.monotonic()
        if cls.run_pid is not None:
            if state.reserved_requests:
                return
            cls.consumer.pool.maintain_pool()
            if cls.run_pid in cls.consumer.pool.info["processes"]:
                return
            cls.run_pid = None
            cls.failures.ended(failed=cls.failed, seconds=now - cls.begun, now=now)
        reason = _full_disk() or cls.failures.reason_to_pause(now)
        if reason is not None and cls.listens:
            cls._leave_queues()
        if reason is not None or cls.reason is not None:
            cls._report(reason, now)
        if reason is None and not cls.listens:
            with suppress(*cls.consumer.connection_errors):
                for queue in cls.queues:
                    cls.consumer.add_task_queue(queue)
                # Only after all queues: a refused queue is tried again at the next check.
                cls.listens = True

    @classmethod
    def _leave_queues(cls) -> None:
        cls.listens = False
        for queue in cls.queues:
            # Without a connection the worker takes nothing, and the next connection begins without the queue.
            with suppress(*cls.consumer.connection_errors):
                cls.consumer.cancel_task_queue(queue)

    @classmethod
    def _report(cls, reason: str | None, now: float) -> None:
        """Log a change, and record a lasting pause in Postgres now and then."""
        if (reason is None) != (cls.reason is None):
            if reason:
                log.warning("Takes no runs: %s.", reason.rstrip("."))
            else:
                log.warning("Takes runs again.")
        elif now - cls.reported_at < SIGN:
            return
        cls.reason, cls.reported_at = reason, now
        pauses, worker = _pauses(), cls.consumer.hostname
        try:
            if reason:
                pauses.note(worker, reason)
            else:
                pauses.end(worker)
        except SQLAlchemyError as error:
            log.warning("Postgres does not answer: %s", type(error).__name__)


class RunTask(Task):  # type: ignore[misc]
    """The Celery task of a run, in a process of its own. dagster-celery provides the function."""

    Request = RunRequest
    # Celery logs this error in a line, since the run's own log has the reason.
    throws = (RunFailed,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Execute the run. Raises RunFailed, since only an error reaches the listening process."""
        status = super().__call__(*args, **kwargs)
        if status:
            raise RunFailed(status)
        return status

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """Start the heartbeats."""
        arguments: Any = unpack_value(kwargs["execute_job_args_packed"])
        self._heartbeats = ExitStack()
        self._heartbeats.enter_context(watched(arguments.run_id, self.request.hostname))

    def after_return(
        self, status: Any, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any
    ) -> None:
        """Stop the heartbeats."""
        self._heartbeats.close()


def _report_killed(run_id: str, worker: str) -> None:
    """Report the end of a run whose process was killed, without waiting for missing heartbeats. Dagster then
    retries the run, unless it was cancelled: a cancelled run that goes on is killed."""
    instance = process_instance()
    run = instance.get_run_by_id(run_id)
    if run is None or run.is_finished:
        return
    Heartbeats(os.environ[POSTGRES_URL]).give_up(run_id)
    if run.status in CANCELED:
        instance.report_run_canceled(run)
    else:
        instance.report_run_failed(run, KILLED.format(worker=worker))


def _full_disk() -> str | None:
    """A message about a full disk of this machine; None: no disk is full."""
    settings = _settings()
    folders = filter(None, [settings.home, settings.lake_folder])
    return next((full_disk(folder) for folder in folders if not has_room(folder)), None)


@cache
def _settings() -> Settings:
    return load_settings()


@cache
def _pauses() -> Pauses:
    return Pauses(os.environ[POSTGRES_URL])


def _app() -> Any:
    """The Celery application of the launcher in dagster.yaml, with this module's task and step."""
    with open_instance(_settings()) as instance:
        launcher = instance.run_launcher
    if not isinstance(launcher, WatchedCeleryLauncher):
        raise SettingsError(["dagster.yaml names no broker: set CAMPUS_BROKER_URL"])
    options: Any = {"base": RunTask}
    create_execute_job_task(launcher.celery, **options)
    launcher.celery.steps["consumer"].add(Listening)
    return launcher.celery


app = _app()
