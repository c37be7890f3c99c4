"""Stores the notes of a home: files that need a person, and interrupted writes."""

import sqlite3
import time
from collections.abc import Iterator

import msgspec

from writeback.kinds import ATTENDANCE, ROSTERS, SWIPES

SCHEMA = """
CREATE TABLE IF NOT EXISTS note (
    place TEXT PRIMARY KEY,
    school_id INTEGER NOT NULL,
    content TEXT NOT NULL,
    noted_at REAL NOT NULL
);
"""
DAY = 86_400.0
NOUNS = {
    ROSTERS: "roster",
    ATTENDANCE: "file of marks",
    SWIPES: "file of swipes",
    "cards": "file of cards",
    "devices": "file of displays",
}


class Note(msgspec.Struct, frozen=True):
    """A note about one file."""

    kind: str
    school_id: int
    #: The name of the file.
    name: str
    #: The path of the file's plan, or of the outcomes of its rows.
    path: str = ""
    #: The counts of a plan's steps. With a command: the counts of rows that are not written yet.
    counts: str = ""
    #: The number of refused rows.
    refused: int = 0
    #: The reason why the file could not be used at all.
    problem: str = ""
    #: The command that continues an interrupted write.
    command: str = ""

    @property
    def words(self) -> str:
        """The note as a message to a person. It names no child."""
        file = f"the {NOUNS[self.kind]} {self.name}".strip() + f" of school {self.school_id}"
        if self.command:
            return f"Writing {file} did not finish ({self.counts}): {self.command}"
        if self.problem:
            return f"Correct {file}: {self.problem}"
        if self.counts:
            return f"The plan of {file} waits ({self.counts}): see it, then campus roster apply {self.path}"
        return f"Correct the refused rows of {file}, {self.refused:,}: {self.path} has the reasons."

    @property
    def place(self) -> str:
        """The key of the note. A school has one note on all its rosters, and one on each other file."""
        reason = "begun" if self.command else "arrived"
        return f"{reason}-{self.kind}-{self.school_id}-{'' if self.kind == ROSTERS else self.name}"


class Notes:
    """The notes of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def leave(self, note: Note) -> None:
        """Store a note. It replaces an earlier note with the same place."""
        content = msgspec.json.encode(note).decode()
        with self._connection as transaction:
            transaction.execute(
                "INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)",
                (note.place, note.school_id, content, time.time()),
            )

    def forget(self, note: Note) -> None:
        """Remove the note on a file."""
        with self._connection as transaction:
            transaction.execute("DELETE FROM note WHERE place = ?", (note.place,))

    def all(self, days: float) -> Iterator[Note]:
        """All notes on rosters, and the notes on other files that are at most `days` days old."""
        rows = self._connection.execute("SELECT content, noted_at FROM note ORDER BY place").fetchall()
        for content, noted_at in rows:
            note = msgspec.json.decode(content, type=Note)
            if note.kind == ROSTERS or noted_at >= time.time() - days * DAY:
                yield note

    def prune(self, days: float) -> None:
        """Remove notes that are more than `days` days old."""
        with self._connection as transaction:
            transaction.execute("DELETE FROM note WHERE noted_at < ?", (time.time() - days * DAY,))
