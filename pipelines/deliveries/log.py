"""The log of mails to teachers, by ids alone: what went to whom, and that nobody gets a generation twice."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

#: In the home.
FILE = "deliveries.sqlite"
KEPT = timedelta(days=400)
PATIENCE = 30
SCHEMA = """
    CREATE TABLE IF NOT EXISTS deliveries (
        school_id INTEGER, teacher_id INTEGER, generation TEXT, begun_at TEXT, sent_at TEXT, items INTEGER,
        PRIMARY KEY (school_id, teacher_id, generation)
    )
"""


State = Literal["due", "begun", "sent"]


class DeliveryLog:
    """The log. Each method commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def state(self, school_id: int, teacher_id: int, generation: str) -> State:
        """Whether a mail was sent. `begun`: a killed process may or may not have sent it."""
        query = "SELECT sent_at FROM deliveries WHERE (school_id, teacher_id, generation) = (?, ?, ?)"
        row = self._connection.execute(query, [school_id, teacher_id, generation]).fetchone()
        return "due" if row is None else "begun" if row[0] is None else "sent"

    def begin(self, school_id: int, teacher_id: int, generation: str, items: int, at: datetime) -> bool:
        """Log that a mail is about to be sent. False: it was begun before, also by another process."""
        row = [school_id, teacher_id, generation, at.isoformat(), items]
        done = self._connection.execute("INSERT OR IGNORE INTO deliveries VALUES (?, ?, ?, ?, NULL, ?)", row)
        return done.rowcount == 1

    def finish(self, school_id: int, teacher_id: int, generation: str, at: datetime) -> None:
        """Log that the server took a mail."""
        self._connection.execute(
            "UPDATE deliveries SET sent_at = ? WHERE (school_id, teacher_id, generation) = (?, ?, ?)",
            [at.isoformat(), school_id, teacher_id, generation],
        )

    def withdraw(self, school_id: int, teacher_id: int, generation: str) -> None:
        """Delete the row of a mail that the server refused: it is due again."""
        self._connection.execute(
            "DELETE FROM deliveries WHERE (school_id, teacher_id, generation) = (?, ?, ?)",
            [school_id, teacher_id, generation],
        )


@contextmanager
def opened_log(home: Path, now: datetime, *, read_only: bool = False) -> Iterator[DeliveryLog]:
    """Open the log, and delete old rows. `read_only`: changes nothing in the home. Raises sqlite3.Error."""
    path = home / FILE
    if read_only and path.exists():
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield DeliveryLog(connection)
        return
    target = ":memory:" if read_only else path
    with closing(sqlite3.connect(target, timeout=PATIENCE, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(SCHEMA)
        connection.execute("DELETE FROM deliveries WHERE begun_at < ?", [(now - KEPT).isoformat()])
        yield DeliveryLog(connection)
