"""Heartbeats of runs on any machine: each process of a run updates a row in Postgres every few seconds.

A process whose row stops changing is gone. Only time spent looking counts: nobody can look while Postgres is
away, so its restart ends no run."""

import time
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import dagster as dg
from dagster_postgres.utils import DagsterPostgresException
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from pipelines.shared.database import engine_with

#: The errors of an unavailable Postgres. Dagster's own retries end in an error that is no DagsterError.
NO_ANSWER = (SQLAlchemyError, dg.DagsterError, DagsterPostgresException)
#: Seconds between two beats.
BEAT = 10.0
#: Seconds of silence after which a process counts as gone.
SILENT = 75.0
#: The most seconds of silence that count between two looks.
LOOK_COUNTS = 20.0
#: Unlogged: after a crash of the database the next beats fill the table again.
TABLE = """
    CREATE UNLOGGED TABLE IF NOT EXISTS campus_heartbeats (
        run_id text PRIMARY KEY, worker text NOT NULL, at timestamptz NOT NULL, given_up boolean NOT NULL
    )
"""
BEAT_NOW = text("""
    INSERT INTO campus_heartbeats VALUES (:run_id, :worker, clock_timestamp(), false)
    ON CONFLICT (run_id) DO UPDATE SET worker = excluded.worker, at = excluded.at
    RETURNING given_up
""")
GIVE_UP = text("UPDATE campus_heartbeats SET given_up = true WHERE run_id = :run_id")
FORGET = text(
    "DELETE FROM campus_heartbeats WHERE run_id = :run_id OR at < clock_timestamp() - interval '1 day'"
)


@dataclass(frozen=True)
class Beat:
    """The last heartbeat of a run: its worker, and when by the database's clock."""

    worker: str
    at: datetime


class Heartbeats:
    """The table `campus_heartbeats`, with a row per active run. Its methods raise SQLAlchemyError if the
    database is away."""

    def __init__(self, url: str) -> None:
        self._url = url

    def beat(self, run_id: str, worker: str) -> bool:
        """Record that a run is alive. Returns whether the run was given up meanwhile; it must then end, since
        a retry is under way."""
        with self._engine.begin() as connection:
            given_up: bool = connection.execute(BEAT_NOW, {"run_id": run_id, "worker": worker}).scalar_one()
            return given_up

    def all(self) -> dict[str, Beat]:
        """The last heartbeat of each run that was not given up, by run id."""
        with self._engine.begin() as connection:
            rows = connection.execute(
                text("SELECT run_id, worker, at FROM campus_heartbeats WHERE NOT given_up")
            )
            return {str(row.run_id): Beat(str(row.worker), row.at) for row in rows}

    def give_up(self, run_id: str) -> None:
        """Declare a run dead."""
        with self._engine.begin() as connection:
            connection.execute(GIVE_UP, {"run_id": run_id})

    def forget(self, run_id: str) -> None:
        """Delete the row of an ended run, and rows older than a day."""
        with self._engine.begin() as connection:
            connection.execute(FORGET, {"run_id": run_id})

    @cached_property
    def _engine(self) -> Engine:
        return engine_with(self._url, TABLE)


@dataclass
class _Sighting:
    beat: Beat | None
    looked: float
    silent: float


class Watch:
    """Watches runs, and remembers how long each run has been silent."""

    def __init__(self, beats: Heartbeats) -> None:
        self.beats = beats
        self._seen: dict[str, _Sighting] = {}

    def look(self, run_id: str, now: float | None = None) -> tuple[float, Beat | None]:
        """The seconds of silence of a run, and its last heartbeat. `now`: monotonic seconds."""
        now = time.monotonic() if now is None else now
        beat = self.beats.all().get(run_id)
        last = self._seen.get(run_id)
        # A crash of the database empties the table: a missing beat is no new beat.
        if last is None or (beat is not None and last.beat != beat):
            self._seen[run_id] = _Sighting(beat, now, 0.0)
            return 0.0, beat
        last.silent += min(now - last.looked, LOOK_COUNTS)
        last.looked = now
        return last.silent, last.beat

    def look_anew(self, run_id: str) -> None:
        """Reset the silence of a run."""
        self._seen.pop(run_id, None)

    def give_up(self, run_id: str) -> None:
        """Declare a run dead, and stop watching it."""
        self._seen.pop(run_id, None)
        self.beats.give_up(run_id)
