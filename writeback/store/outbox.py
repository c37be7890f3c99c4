"""The outbox stores swipes on disk until the platform has accepted them.

A swipe is identified by room, person and time, so a file that arrives twice adds no swipe. Sent swipes stay
for a month, to detect such repetitions and to be looked up.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["waiting", "sent", "rejected"]
DAY = 86_400.0
#: Days for which sent and rejected swipes stay.
KEEP_DAYS = 30.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS swipe (
    seq INTEGER PRIMARY KEY,
    school_id INTEGER NOT NULL,
    classroom_id INTEGER NOT NULL,
    person TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at TEXT NOT NULL,
    source TEXT NOT NULL,
    line INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    words TEXT NOT NULL DEFAULT '',
    ended_at REAL,
    UNIQUE (school_id, classroom_id, person, value, created_at)
);
CREATE INDEX IF NOT EXISTS waiting_of_room ON swipe (school_id, classroom_id, created_at, seq)
    WHERE state = 'waiting';
"""
COLUMNS = "seq, school_id, classroom_id, person, value, created_at, source, line"


@dataclass(frozen=True, slots=True)
class Swipe:
    """A card held to a reader."""

    #: Its number in the outbox; 0: not stored yet.
    seq: int
    school_id: int
    classroom_id: int
    #: The name of the person's id: rid or usin.
    person: str
    #: The id.
    value: str
    #: The platform's wall clock, YYYY-MM-DD HH:MM:SS.
    created_at: str
    #: The file, and the line in it.
    source: str
    line: int

    @property
    def record(self) -> dict[str, Any]:
        """The swipe in the format of the interface."""
        id = int(self.value) if self.person == "rid" else self.value
        return {self.person: id, "created_at": self.created_at}

    @property
    def key(self) -> str:
        """Describes the swipe without names."""
        return f"classroom {self.classroom_id}, {self.created_at}, {self.person} {self.value}"


class Outbox:
    """The outbox of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, swipes: Iterable[Swipe]) -> list[Swipe]:
        """Store swipes, and return the swipes that were sent before. All are on disk then. Rejected swipes
        wait again."""
        sent = []
        with self._connection as transaction:
            for swipe in swipes:
                added = transaction.execute(
                    "INSERT INTO swipe (school_id, classroom_id, person, value, created_at, source, line)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET state = 'waiting', words = '',"
                    " source = excluded.source, line = excluded.line WHERE state <> 'sent'",
                    (
                        swipe.school_id,
                        swipe.classroom_id,
                        swipe.person,
                        swipe.value,
                        swipe.created_at,
                        swipe.source,
                        swipe.line,
                    ),
                )
                if not added.rowcount:
                    sent.append(swipe)
        return sent

    def rooms(self, school_id: int) -> list[int]:
        """The classrooms of a school with waiting swipes. The classroom with the oldest swipe comes first."""
        rows = self._connection.execute(
            "SELECT classroom_id FROM swipe WHERE state = 'waiting' AND school_id = ?"
            " GROUP BY 1 ORDER BY min(created_at), 1",
            (school_id,),
        )
        return [room for (room,) in rows]

    def waiting(
        self, school_id: int, most: int, classroom_id: int, after: Swipe | None = None
    ) -> list[Swipe]:
        """The waiting swipes of a classroom by time, at most `most` (-1: all). `after`: only later swipes."""
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM swipe WHERE state = 'waiting' AND school_id = ? AND classroom_id = ?"
            " AND (created_at, seq) > (?, ?) ORDER BY created_at, seq LIMIT ?",
            (school_id, classroom_id, *((after.created_at, after.seq) if after else ("", 0)), most),
        )
        return [Swipe(*row) for row in rows]

    def schools_waiting(self) -> dict[int, int]:
        """How many swipes wait, by school."""
        query = "SELECT school_id, count(*) FROM swipe WHERE state = 'waiting' GROUP BY 1 ORDER BY 1"
        return dict(self._connection.execute(query).fetchall())

    def end(self, ended: Sequence[tuple[Swipe, State, str]]) -> None:
        """Store the final states of swipes, with the platform's messages."""
        with self._connection as transaction:
            transaction.executemany(
                "UPDATE swipe SET state = ?, words = ?, ended_at = ? WHERE seq = ?",
                [(state, words, time.time(), swipe.seq) for swipe, state, words in ended],
            )

    def prune(self) -> None:
        """Remove sent and rejected swipes after a month."""
        with self._connection as transaction:
            oldest = time.time() - KEEP_DAYS * DAY
            transaction.execute("DELETE FROM swipe WHERE state <> 'waiting' AND ended_at < ?", (oldest,))
