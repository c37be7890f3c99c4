"""When a worker takes no run: while its disk is full, and for a while after several runs that failed at once.
Postgres says why, for `campus status`."""

import os
from dataclasses import dataclass

import dagster as dg
from sqlalchemy import Engine, text

from assets.resource_assets import is_halted
from pipelines.district.signs import CANCELED
from pipelines.instance import POSTGRES_URL
from pipelines.nights.failed_runs import is_of_slices
from pipelines.settings import Settings
from pipelines.shared.database import engine_with

#: Seconds within which a run that fails has failed at once, and how many in a row make a worker pause.
AT_ONCE, MOST = 20.0, 3
#: Seconds of the first pause; each further failure doubles it, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 1800.0
#: Seconds between two signs of a worker that pauses, and after which one without a sign is gone.
SIGN, GONE_AFTER = 30.0, 120.0
TABLE = """
    CREATE UNLOGGED TABLE IF NOT EXISTS campus_pauses (
        worker text PRIMARY KEY, why text NOT NULL, since timestamptz NOT NULL, seen timestamptz NOT NULL
    )
"""
NOTE = text("""
    INSERT INTO campus_pauses VALUES (:worker, :why, clock_timestamp(), clock_timestamp())
    ON CONFLICT (worker) DO UPDATE SET why = excluded.why, seen = excluded.seen
""")
END = text("DELETE FROM campus_pauses WHERE worker = :worker")
ALL = text("""
    SELECT worker, why FROM campus_pauses
    WHERE seen > clock_timestamp() - make_interval(secs => :gone_after) ORDER BY worker
""")


@dataclass
class Failures:
    """The runs in a row that have failed at once, and until when no other is taken (monotonic seconds)."""

    in_a_row: int = 0
    until: float = 0.0

    def ended(self, *, failed: bool, seconds: float, now: float) -> None:
        """Note how a run has ended, and how long it took."""
        if not failed or seconds > AT_ONCE:
            self.in_a_row = 0
            return
        self.in_a_row += 1
        if self.in_a_row >= MOST:
            self.until = now + min(FIRST_PAUSE * 2.0 ** min(self.in_a_row - MOST, 10), LONGEST_PAUSE)

    def why_not(self, now: float) -> str | None:
        """Why no run is taken now; None: one is."""
        if now >= self.until:
            return None
        return f"{self.in_a_row} runs in a row failed within {AT_ONCE:.0f} seconds; they say why in the UI"


class Pauses:
    """The table `campus_pauses`, a row for each worker that pauses. Its methods raise SQLAlchemyError where
    the database is away."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: Engine | None = None

    def note(self, worker: str, why: str) -> None:
        """Say that a worker takes no run, and why."""
        with self._engine.begin() as connection:
            connection.execute(NOTE, {"worker": worker, "why": why})

    def end(self, worker: str) -> None:
        """Say that a worker takes runs."""
        with self._engine.begin() as connection:
            connection.execute(END, {"worker": worker})

    def all(self) -> dict[str, str]:
        """Why workers take no run, by their name."""
        with self._engine.begin() as connection:
            rows = connection.execute(ALL, {"gone_after": GONE_AFTER})
            return {str(row.worker): str(row.why) for row in rows}

    @property
    def _engine(self) -> Engine:
        if self._made is None:
            self._made = engine_with(self._url, TABLE)
        return self._made


def may_be_this_machine(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether a run may have failed for a reason of this machine. A platform that is down, slices that it
    refuses, and a person who cancels the run end it at once, too."""
    run = instance.get_run_by_id(run_id)
    if run is None:
        return True
    return not (is_halted(run.tags) or run.status in CANCELED or is_of_slices(instance, run_id))


def pausing_workers(settings: Settings) -> dict[str, str]:
    """Why workers take no run, by their name; none where there are no workers."""
    if settings.broker_url is None:
        return {}
    return Pauses(os.environ[POSTGRES_URL]).all()
