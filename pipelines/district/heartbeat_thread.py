"""The heartbeat thread of a run's process, and how the process handles an unavailable Postgres."""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import dagster as dg
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError

from pipelines.district.heartbeats import BEAT, NO_ANSWER, Heartbeats
from pipelines.district.queues import RETRY_FAILED_STEPS_TAG
from pipelines.settings.environment import POSTGRES_URL
from pipelines.shared.database import APPLICATION

#: Seconds for which a run waits for Postgres, and between two attempts.
POSTGRES_PATIENCE, RETRY_SECONDS = 90.0, 1.0
#: Beats after which a cancelled run that still goes on is killed.
BEATS_TO_KILL = 4
#: Seconds for the heartbeat thread to end.
LAST_BEAT = 10.0
#: The name of the heartbeat thread.
HEARTBEAT = "heartbeat"
CANCELED = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}

log = logging.getLogger(__name__)


@contextmanager
def watched(run_id: str, worker: str) -> Iterator[None]:
    """Execute a run of this process with heartbeats. The run waits for an unavailable Postgres, and is
    retried after a lost connection."""
    wait_for_postgres()
    beats, end = Heartbeats(os.environ[POSTGRES_URL]), threading.Event()
    thread = threading.Thread(
        target=beat_until, args=(end, beats, run_id, worker), daemon=True, name=HEARTBEAT
    )
    thread.start()
    retry_after_disconnect(run_id)
    try:
        yield
    finally:
        end.set()
        thread.join(LAST_BEAT)


def beat_until(end: threading.Event, beats: Heartbeats, run_id: str, worker: str) -> None:
    """Beat until a run has ended.

    A cancelled run is interrupted, and killed if it goes on. A run that was given up is killed at once, since
    another worker executes it now. Committed slices stay."""
    cancelled_beats = 0
    while True:
        try:
            given_up = beats.beat(run_id, worker)
            run = process_instance().get_run_by_id(run_id)
        except NO_ANSWER as error:
            log.warning("Postgres does not answer, the run goes on: %s", type(error).__name__)
        else:
            cancelled_beats += run is not None and run.status in CANCELED
            if given_up or cancelled_beats > BEATS_TO_KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            elif cancelled_beats:
                os.kill(os.getpid(), signal.SIGINT)
        if end.wait(BEAT):
            break
    try:
        beats.forget(run_id)
    except SQLAlchemyError:
        log.info("The last beat of the run %s stays, since Postgres does not answer.", run_id)


@cache
def process_instance() -> dg.DagsterInstance:
    """Dagster's instance, open until this process ends."""
    return dg.DagsterInstance.get()


@cache
def wait_for_postgres() -> None:
    """Make connections of this process wait for an unavailable Postgres, where Dagster would soon fail the
    run. Connections of `pipelines.shared` do not wait, since that state is optional."""

    @event.listens_for(Engine, "do_connect")
    def connect(dialect: Any, _record: Any, arguments: Any, parameters: Any) -> Any:
        if dialect.name != "postgresql" or parameters.get("application_name") == APPLICATION:
            return None
        deadline = time.monotonic() + POSTGRES_PATIENCE
        while True:
            try:
                return dialect.connect(*arguments, **parameters)
            except dialect.loaded_dbapi.OperationalError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(RETRY_SECONDS)


def retry_after_disconnect(run_id: str) -> None:
    """Make Dagster retry a run that fails after Postgres disconnects within a statement. The statement itself
    is not repeated here: the server may have executed it."""
    is_tagged = threading.Event()

    @event.listens_for(Engine, "handle_error")
    def on_error(context: ExceptionContext) -> None:
        is_dagsters = context.engine is not None and context.engine.logging_name != APPLICATION
        # A lost heartbeat does not fail the run.
        if not (is_dagsters and context.is_disconnect) or threading.current_thread().name == HEARTBEAT:
            return
        if not is_tagged.is_set():
            # Before the tag is written, since that statement may fail and call this function again.
            is_tagged.set()
            try:
                process_instance().add_run_tags(run_id, {RETRY_FAILED_STEPS_TAG: "true"})
            except NO_ANSWER:
                is_tagged.clear()
