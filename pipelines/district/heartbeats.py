"""Whether the process of a run is alive, wherever it is: it says so every few seconds, in Dagster's Postgres.

A row that does not change any more is a process that is gone. What counts is how long somebody has looked in
vain: while Postgres is away nobody can look, so that its restart ends no run."""

import time
from dataclasses import dataclass
from datetime import datetime

import dagster as dg
from dagster_postgres.utils import DagsterPostgresException
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from pipelines.shared.database import engine_with

#: How a Postgres that is away shows; what Dagster raises after its own tries is no DagsterError.
NO_ANSWER = (SQLAlchemyError, dg.DagsterError, DagsterPostgresException)
#: Seconds between two beats.
BEAT = 10.0
#: Seconds without a beat after which a process is taken to be gone.
SILENT = 75.0
#: What the time between two looks counts at most.
LOOK_COUNTS = 20.0
#: Unlogged, as a crash of the database loses nothing that the next beat does not bring.
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
    """The last sign of life of a run: who gave it, and when by the database's clock."""

    worker: str
    at: datetime


class Heartbeats:
    """The table `campus_heartbeats`, a row a run that goes on. Its methods raise SQLAlchemyError where the
    database is away."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: Engine | None = None

    def beat(self, run_id: str, worker: str) -> bool:
        """Say that a run is alive. Whether it has been given up meanwhile: it must not go on then, as another
        one does."""
        with self._engine.begin() as connection:
            given_up: bool = connection.execute(BEAT_NOW, {"run_id": run_id, "worker": worker}).scalar_one()
            return given_up

    def all(self) -> dict[str, Beat]:
        """The last beats by run, of those that go on."""
        with self._engine.begin() as connection:
            rows = connection.execute(
                text("SELECT run_id, worker, at FROM campus_heartbeats WHERE NOT given_up")
            )
            return {str(row.run_id): Beat(str(row.worker), row.at) for row in rows}

    def give_up(self, run_id: str) -> None:
        """Take a run to be dead."""
        with self._engine.begin() as connection:
            connection.execute(GIVE_UP, {"run_id": run_id})

    def forget(self, run_id: str) -> None:
        """Forget a run that has ended, and those that were given up days ago."""
        with self._engine.begin() as connection:
            connection.execute(FORGET, {"run_id": run_id})

    @property
    def _engine(self) -> Engine:
        if self._made is None:
            self._made = engine_with(self._url, TABLE)
        return self._made


@dataclass
class _Sighting:
    beat: Beat | None
    looked: float
    silent: float


class Watch:
    """Whoever looks after runs: it remembers for how long each has been silent."""

    def __init__(self, beats: Heartbeats) -> None:
        self.beats = beats
        self._seen: dict[str, _Sighting] = {}

    def look(self, run_id: str, now: float | None = None) -> tuple[float, Beat | None]:
        """Seconds for which a run has been looked at in vain, and its last beat. now: monotonic seconds."""
        now = time.monotonic() if now is None else now
        beat = self.beats.all().get(run_id)
        last = self._seen.get(run_id)
        # A crash of the database empties the table: a beat that is gone is no sign of life.
        if last is None or (beat is not None and last.beat != beat):
            self._seen[run_id] = _Sighting(beat, now, 0.0)
            return 0.0, beat
        last.silent += min(now - last.looked, LOOK_COUNTS)
        last.looked = now
        return last.silent, last.beat

    def look_anew(self, run_id: str) -> None:
        """What a run was silent so far does not count."""
        self._seen.pop(run_id, None)

    def give_up(self, run_id: str) -> None:
        """Take a run to be dead, and look after it no longer."""
        self._seen.pop(run_id, None)
        self.beats.give_up(run_id)
