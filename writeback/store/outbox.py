"""The outbox of swipes: on disk from the moment they are handed over until the platform has them.

A swipe is known by its room, its person and its moment, so that a file which is handed over twice adds
nothing. What was sent is kept for a month, for that and to be seen.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["waiting", "sent", "rejected"]
DAY = 86_400.0
#: Days for which what was sent or rejected is kept.
KEPT = 30.0

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

    #: Its place; 0: none.
    seq: int
    school_id: int
    classroom_id: int
    #: rid or usin.
    person: str
    value: str
    #: The platform's wall clock, YYYY-MM-DD HH:MM:SS.
    created_at: str
    #: The file, and the line in it.
    source: str
    line: int

    @property
    def record(self) -> dict[str, Any]:
        """As the interface has it."""
        who = int(self.value) if self.person == "rid" else self.value
        return {self.person: who, "created_at": self.created_at}

    @property
    def key(self) -> str:
        """What it is, without names."""
        return f"classroom {self.classroom_id}, {self.created_at}, {self.person} {self.value}"


class Outbox:
    """The outbox of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, swipes: Iterable[Swipe]) -> list[Swipe]:
        """Keep swipes, on disk when this returns; those that the platform has already. One that was rejected
        waits again."""
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
        """The classrooms of a school of which swipes wait, that of the oldest first."""
        rows = self._connection.execute(
            "SELECT classroom_id FROM swipe WHERE state = 'waiting' AND school_id = ?"
            " GROUP BY 1 ORDER BY min(created_at), 1",
            (school_id,),
        )
        return [room for (room,) in rows]

    def waiting(
        self, school_id: int, most: int, classroom_id: int, after: Swipe | None = None
    ) -> list[Swipe]:
        """The swipes of a classroom that wait, in the order of their moments: `most` of them (-1: all), those
        after this one alone."""
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
        """Note what became of swipes, with the platform's words."""
        with self._connection as transaction:
            transaction.executemany(
                "UPDATE swipe SET state = ?, words = ?, ended_at = ? WHERE seq = ?",
                [(state, words, time.time(), swipe.seq) for swipe, state, words in ended],
            )

    def prune(self) -> None:
        """Forget what ended a month ago."""
        with self._connection as transaction:
            transaction.execute(
                "DELETE FROM swipe WHERE state <> 'waiting' AND ended_at < ?", (time.time() - KEPT * DAY,)
            )
