"""The inbox: pushed events on disk, from the response to the platform until their rows are in the lake.

SQLite in WAL mode with full synchronization, so that an acknowledged push survives a crash and a power cut.
The receiver adds events while the drain reads them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from campus.decoding.withholding import withhold_in_row
from campus.push.message import Push
from warehouse.durable import durable

#: `unknown`: waits until some resource has the name. `given_up`: left to the nightly load.
State = Literal["waiting", "done", "unknown", "given_up"]

COLUMNS = "seq, school_id, resource, op, keys, sent_at, received_at, attempts"
#: Attempts of an event, and seconds before the second attempt. Each pause is twice the last pause.
ATTEMPTS, FIRST_PAUSE = 8, 60.0
DAY = 86_400.0
#: The file, and the folder that the daemon shares by its group with a receiver that has its own user.
INBOX, SHARED_FOLDER = "pushes.sqlite", "pushes"
#: Days for which undrained events stay visible.
UNDRAINED_DAYS = 365.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS push (
    school_id INTEGER NOT NULL,
    id TEXT NOT NULL,
    received_at REAL NOT NULL,
    PRIMARY KEY (school_id, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event (
    seq INTEGER PRIMARY KEY,
    school_id INTEGER NOT NULL,
    push_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    op TEXT NOT NULL,
    keys TEXT NOT NULL,
    sent_at REAL NOT NULL,
    received_at REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '',
    ended_at REAL
);
CREATE TABLE IF NOT EXISTS slice_read (
    school_id INTEGER NOT NULL,
    resource TEXT NOT NULL,
    read_at REAL NOT NULL,
    PRIMARY KEY (school_id, resource)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS misses (
    school_id INTEGER NOT NULL,
    resource TEXT NOT NULL,
    slice TEXT NOT NULL,
    until REAL NOT NULL,
    measured_at REAL NOT NULL,
    changed INTEGER NOT NULL,
    missed INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS of_slice ON misses (school_id, resource, slice, until);
CREATE INDEX IF NOT EXISTS undrained ON event (state, due_at) WHERE state <> 'done';
CREATE INDEX IF NOT EXISTS by_arrival ON event (received_at);
"""


class InboxFull(Exception):
    """Too many events wait. No more are taken."""


@dataclass(frozen=True)
class Event:
    """One change of some rows of a resource, as pushed. Times in Unix seconds."""

    seq: int
    school_id: int
    #: By the platform's name.
    resource: str
    #: created, updated or deleted.
    op: str
    keys: tuple[Any, ...]
    sent_at: float
    received_at: float
    attempts: int


@dataclass(frozen=True)
class EventCount:
    """How many events of a resource of a school are in a state."""

    school_id: int
    resource: str
    state: State
    events: int
    #: The problem of one of the events.
    problem: str


@dataclass(frozen=True)
class Misses:
    """The changes of a slice between two loads that no push announced. Times in Unix seconds."""

    school_id: int
    resource: str
    slice: str
    #: Start of the later load.
    until: float
    measured_at: float
    #: Rows that changed since the earlier load.
    changed: int
    #: Changed rows without a push.
    missed: int


class Inbox:
    """The inbox of a home, for one thread at a time. Raises sqlite3.Error where it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._connection = durable(path, SCHEMA, 0o660 if path.parent.name == SHARED_FOLDER else 0o600)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, school_id: int, push: Push, most_waiting: int) -> bool:
        """Store a push on disk. False: the inbox has it already.

        Raises InboxFull."""
        now, pushed = time.time(), (school_id, push.id, push.resource)
        with self._connection as transaction:
            added = transaction.execute(
                "INSERT INTO push VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (school_id, push.id, now)
            )
            if not added.rowcount:
                return False
            waiting = "SELECT count(*) FROM event WHERE state = 'waiting'"
            if transaction.execute(waiting).fetchone()[0] >= most_waiting:
                raise InboxFull
            transaction.executemany(
                "INSERT INTO event (school_id, push_id, resource, op, keys, sent_at, received_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (*pushed, event.op, _storable(event.keys), push.sent_at.timestamp(), now)
                    for event in push.events
                ],
            )
        return True

    def due(self, school_id: int, most: int) -> list[Event]:
        """The due events of a school, in the order of their arrival."""
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM event"
            " WHERE school_id = ? AND state = 'waiting' AND due_at <= ? ORDER BY seq LIMIT ?",
            (school_id, time.time(), most),
        )
        return [_event(row) for row in rows]

    def slice_read_at(self, school_id: int, resource: str) -> float:
        """When pushes last had a whole slice of a resource read. 0: never."""
        query = "SELECT read_at FROM slice_read WHERE school_id = ? AND resource = ?"
        row = self._connection.execute(query, (school_id, resource)).fetchone()
        return float(row[0]) if row else 0.0

    def slice_read(self, school_id: int, resource: str, began: float) -> None:
        """Record when the reading of a whole slice of a resource began."""
        statement = (
            "INSERT INTO slice_read VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET read_at = excluded.read_at"
        )
        self._write(statement, [(school_id, resource, began)])

    def schools_due(self) -> list[int]:
        """The schools with due events."""
        query = "SELECT DISTINCT school_id FROM event WHERE state = 'waiting' AND due_at <= ? ORDER BY 1"
        return [school_id for (school_id,) in self._connection.execute(query, (time.time(),))]

    def done(self, events: Iterable[Event]) -> None:
        """Record that the lake has the rows that the events name."""
        self._end(events, "done", "")

    def unknown(self, events: Iterable[Event], problem: str) -> None:
        """Set events of unknown resources aside until `recall`."""
        self._end(events, "unknown", problem)

    def recall(self, is_known: Callable[[str], bool]) -> None:
        """Let the events wait again whose resource has become known."""
        names = self._connection.execute("SELECT DISTINCT resource FROM event WHERE state = 'unknown'")
        recalled = [name for name in names if is_known(*name)]
        self._write("UPDATE event SET state = 'waiting' WHERE state = 'unknown' AND resource = ?", recalled)

    def failed(self, events: Iterable[Event], problem: str) -> None:
        """Record a failed attempt: retry later, or give the event up after the last attempt."""
        now, rows = time.time(), []
        for event in events:
            attempts, due_at = event.attempts + 1, now + FIRST_PAUSE * 2**event.attempts
            state, ended_at = ("given_up", now) if attempts >= ATTEMPTS else ("waiting", None)
            rows.append((attempts, due_at, problem, state, ended_at, event.seq))
        self._write(
            "UPDATE event SET attempts = ?, due_at = ?, problem = ?, state = ?, ended_at = ? WHERE seq = ?",
            rows,
        )

    def postpone(self, events: Iterable[Event], seconds: float) -> None:
        """Let events wait without counting an attempt."""
        due_at = time.time() + seconds
        self._write("UPDATE event SET due_at = ? WHERE seq = ?", [(due_at, event.seq) for event in events])

    def prune(self, days: float) -> None:
        """Delete drained events after so many days, and all events after a year."""
        oldest, oldest_undrained = time.time() - days * DAY, time.time() - UNDRAINED_DAYS * DAY
        with self._connection as transaction:
            transaction.execute("DELETE FROM event WHERE state = 'done' AND received_at < ?", (oldest,))
            transaction.execute("DELETE FROM event WHERE received_at < ?", (oldest_undrained,))
            transaction.execute("DELETE FROM push WHERE received_at < ?", (oldest,))
            transaction.execute("DELETE FROM misses WHERE measured_at < ?", (oldest_undrained,))

    def last_received(self) -> float | None:
        """When the last push came. None: the inbox has no push."""
        [latest] = self._connection.execute("SELECT max(received_at) FROM push").fetchone()
        return None if latest is None else float(latest)

    def event_counts(self) -> list[EventCount]:
        """The counts of events by school, resource and state."""
        rows = self._connection.execute(
            "SELECT school_id, resource, state, count(*), coalesce(max(nullif(problem, '')), '') FROM event"
            " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        return [EventCount(*row) for row in rows]

    def received_since(self, school_id: int, moment: float) -> list[Event]:
        """All events of a school that came at that moment or later, in any state."""
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM event WHERE school_id = ? AND received_at >= ? ORDER BY seq",
            (school_id, moment),
        )
        return [_event(row) for row in rows]

    def measured(self, misses: Misses) -> None:
        """Record the misses that a load showed."""
        self._write("INSERT INTO misses VALUES (?, ?, ?, ?, ?, ?, ?)", [astuple(misses)])

    def measured_until(self, school_id: int, resource: str, slice: str) -> float | None:
        """Start of the last load by which the misses of a slice were measured. None: never."""
        query = "SELECT max(until) FROM misses WHERE school_id = ? AND resource = ? AND slice = ?"
        [until] = self._connection.execute(query, (school_id, resource, slice)).fetchone()
        return None if until is None else float(until)

    def misses_since(self, moment: float) -> list[tuple[str, int, int]]:
        """By resource: the rows that later loads found changed, and the changed rows without a push."""
        return self._connection.execute(
            "SELECT resource, sum(changed), sum(missed) FROM misses WHERE measured_at >= ?"
            " GROUP BY 1 HAVING sum(changed) > 0 ORDER BY 3 DESC, 1",
            (moment,),
        ).fetchall()

    def misses_by_load(self) -> list[tuple[int, str, float, int, int]]:
        """By school, resource and start of the load: the changed rows, and the changed rows without a
        push."""
        return self._connection.execute(
            "SELECT school_id, resource, until, sum(changed), sum(missed) FROM misses"
            " GROUP BY 1, 2, 3 HAVING sum(changed) > 0 ORDER BY 1, 2, 3"
        ).fetchall()

    def change_keys(
        self, events: Iterable[Event], changed: Callable[[str, Sequence[Any]], Sequence[Any]]
    ) -> None:
        """Replace keys of events. The file keeps no copy of the old keys.

        Args:
            changed: Takes a resource and its keys, and returns the new keys."""
        pairs = [(event, list(changed(event.resource, event.keys))) for event in events]
        rows = [(json.dumps(keys), event.seq) for event, keys in pairs if keys != list(event.keys)]
        self._write("UPDATE event SET keys = ? WHERE seq = ?", rows)
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _end(self, events: Iterable[Event], state: State, problem: str) -> None:
        rows = [(state, problem, time.time(), event.seq) for event in events]
        self._write("UPDATE event SET state = ?, problem = ?, ended_at = ? WHERE seq = ?", rows)

    def _write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection as transaction:
            transaction.executemany(statement, rows)


def inbox_path(home: Path) -> Path:
    """The file of a home's inbox. It is in the shared folder if an operator has made that folder."""
    return (home / SHARED_FOLDER if is_shared(home) else home) / INBOX


def is_shared(home: Path) -> bool:
    """Whether a receiver with its own user shares the inbox with the daemon."""
    return (home / SHARED_FOLDER).is_dir()


def left_behind(home: Path) -> Path | None:
    """The inbox from before the folder `pushes` was made. Nothing reads it any more."""
    before = home / INBOX
    return before if before.exists() and inbox_path(home) != before else None


@contextmanager
def open_inbox(home: Path) -> Iterator[Inbox]:
    """Open the inbox of a home. Makes it where it is missing."""
    inbox = Inbox(inbox_path(home))
    try:
        yield inbox
    finally:
        inbox.close()


def _storable(keys: Sequence[Any]) -> str:
    """Keys as JSON, with null for an identity number, so that the whole slice is read. Integers are ids."""
    parts = [json.dumps(key) for key in keys]
    plain = [part if part.isdecimal() else withhold_in_row(part.encode(), None)[0].decode() for part in parts]
    return f"[{', '.join(plain)}]"


def _event(row: Sequence[Any]) -> Event:
    seq, school_id, resource, op, keys, sent_at, received_at, attempts = row
    return Event(seq, school_id, resource, op, tuple(json.loads(keys)), sent_at, received_at, attempts)
