"""Pauses of workers: while the disk is full, and after several runs in a row failed at once. Postgres keeps
the reasons for `campus status`."""

from dataclasses import dataclass
from functools import cached_property

import dagster as dg
from sqlalchemy import Engine, text

from assets.shared.load_kind import is_halted
from pipelines.district.heartbeat_thread import CANCELED
from pipelines.nights.failed_runs import failed_only_by_slices
from pipelines.shared.database import engine_with

#: A run that fails within these seconds failed at once. After so many such runs in a row, the worker pauses.
AT_ONCE, MOST = 20.0, 3
#: Seconds of the first pause, doubled with each further failure up to the longest pause.
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 1800.0
#: Seconds between two signs of a pausing worker, and the age at which its last sign is ignored.
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
    """The count of runs in a row that failed at once, and the pause after them."""

    in_a_row: int = 0
    #: End of the pause, in monotonic seconds.
    until: float = 0.0

    def ended(self, *, failed: bool, seconds: float, now: float) -> None:
        """Record how a run ended, and how long it took."""
        if not failed or seconds > AT_ONCE:
            self.in_a_row = 0
            return
        self.in_a_row += 1
        if self.in_a_row >= MOST:
            self.until = now + min(FIRST_PAUSE * 2.0 ** min(self.in_a_row - MOST, 10), LONGEST_PAUSE)

    def reason_to_pause(self, now: float) -> str | None:
        """Why the worker takes no run now; None: the worker takes runs."""
        if now >= self.until:
            return None
        return f"{self.in_a_row} runs in a row failed within {AT_ONCE:.0f} seconds; they say why in the UI"


class Pauses:
    """The table `campus_pauses`, with a row per pausing worker. Its methods raise SQLAlchemyError if the
    database is away."""

    def __init__(self, url: str) -> None:
        self._url = url

    def note(self, worker: str, why: str) -> None:
        """Record why a worker takes no runs."""
        with self._engine.begin() as connection:
            connection.execute(NOTE, {"worker": worker, "why": why})

    def end(self, worker: str) -> None:
        """Record that a worker takes runs."""
        with self._engine.begin() as connection:
            connection.execute(END, {"worker": worker})

    def all(self) -> dict[str, str]:
        """Why workers take no runs, by worker name."""
        with self._engine.begin() as connection:
            rows = connection.execute(ALL, {"gone_after": GONE_AFTER})
            return {str(row.worker): str(row.why) for row in rows}

    @cached_property
    def _engine(self) -> Engine:
        return engine_with(self._url, TABLE)


def may_be_this_machine(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether this machine may be the cause of a failed run. Other causes of a quick failure: the platform is
    down or refuses slices, or a person cancelled the run."""
    run = instance.get_run_by_id(run_id)
    if run is None:
        return True
    return not (is_halted(run.tags) or run.status in CANCELED or failed_only_by_slices(instance, run_id))
