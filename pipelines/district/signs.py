"""The signs of life of a run, given by a thread of its process; and what that does while Postgres is away."""

import logging
import os
import signal
import threading
import time
from functools import cache
from typing import Any

import dagster as dg
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError

from pipelines.district.heartbeats import BEAT, NO_ANSWER, Heartbeats
from pipelines.district.queues import AGAIN_TAG
from pipelines.shared.database import APPLICATION

#: Seconds for which a run waits for Postgres, and between two tries.
POSTGRES_PATIENCE, TRY = 90.0, 1.0
#: Beats after which a run that is asked to end, and does not, is killed.
POLITE = 4
#: The thread that gives the signs.
HEARTBEAT = "heartbeat"
CANCELED = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}

log = logging.getLogger(__name__)


def beat_until(end: threading.Event, beats: Heartbeats, run_id: str, worker: str) -> None:
    """Beat until a run has ended. One that was cancelled is ended, and one that was given up, so that another
    worker is at it now, at once: what it committed is kept."""
    asked = 0
    while True:
        try:
            given_up = beats.beat(run_id, worker)
            run = _instance().get_run_by_id(run_id)
        except NO_ANSWER as error:
            log.warning("Postgres does not answer, the run goes on: %s", type(error).__name__)
        else:
            asked += run is not None and run.status in CANCELED
            if given_up or asked > POLITE:
                os.kill(os.getpid(), signal.SIGKILL)
            elif asked:
                os.kill(os.getpid(), signal.SIGINT)
        if end.wait(BEAT):
            break
    try:
        beats.forget(run_id)
    except SQLAlchemyError:
        log.info("The last beat of the run %s stays, since Postgres does not answer.", run_id)


@cache
def _instance() -> dg.DagsterInstance:
    """Dagster's records, open as long as this process."""
    return dg.DagsterInstance.get()


@cache
def wait_for_postgres() -> None:
    """Have this process wait for a Postgres that is away or starts anew, where Dagster would give up after
    seconds and fail the run. What workers share does without it, and waits for nothing."""

    @event.listens_for(Engine, "do_connect")
    def connect(dialect: Any, _record: Any, arguments: Any, parameters: Any) -> Any:
        if dialect.name != "postgresql" or parameters.get("application_name") == APPLICATION:
            return None
        ends = time.monotonic() + POSTGRES_PATIENCE
        while True:
            try:
                return dialect.connect(*arguments, **parameters)
            except dialect.loaded_dbapi.OperationalError:
                if time.monotonic() >= ends:
                    raise
                time.sleep(TRY)


def try_again_where_cut_off(run_id: str) -> None:
    """Have Dagster try the run again once it has failed, where Postgres cuts off one of its statements: that
    is not its fault. Whether the statement was carried out nobody knows, so it is not repeated here."""
    told = threading.Event()

    @event.listens_for(Engine, "handle_error")
    def cut_off(context: ExceptionContext) -> None:
        of_dagster = context.engine is not None and context.engine.logging_name != APPLICATION
        # A beat that does not come through fails nothing.
        if not (of_dagster and context.is_disconnect) or threading.current_thread().name == HEARTBEAT:
            return
        if not told.is_set():
            # To tell it is a statement, too.
            told.set()
            try:
                _instance().add_run_tags(run_id, {AGAIN_TAG: "true"})
            except NO_ANSWER:
                told.clear()
