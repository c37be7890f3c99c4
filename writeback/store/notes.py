"""The notes of a home: what a person has to do about a file, and which writing did not come to its end."""

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
    #: Of the file.
    name: str
    #: Of the file's plan, or of the result of its rows.
    path: str = ""
    #: Of the steps of a waiting plan; with a command, of the rows that are still open.
    counts: str = ""
    refused: int = 0
    #: Why nothing came of the file.
    problem: str = ""
    #: Goes on with writing that was begun.
    command: str = ""

    @property
    def words(self) -> str:
        """What there is to do, without a name of a child."""
        file = f"the {NOUNS[self.kind]} {self.name}".strip() + f" of school {self.school_id}"
        if self.command:
            return f"Writing {file} did not come to its end ({self.counts}): {self.command}"
        if self.problem:
            return f"Mend {file}: {self.problem}"
        if self.counts:
            return f"The plan of {file} waits ({self.counts}): see it, then campus roster apply {self.path}"
        return f"Mend the refused rows of {file}, {self.refused:,}: {self.path} says why."

    @property
    def place(self) -> str:
        """What the note replaces: a school has one note on its rosters, and one on each other file."""
        what = "begun" if self.command else "arrived"
        return f"{what}-{self.kind}-{self.school_id}-{'' if self.kind == ROSTERS else self.name}"


class Notes:
    """The notes of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def leave(self, note: Note) -> None:
        """Leave a note in the place of an earlier note."""
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
        """The notes on rosters, and the notes on other files that are at most so many days old."""
        rows = self._connection.execute("SELECT content, noted_at FROM note ORDER BY place").fetchall()
        for content, noted_at in rows:
            note = msgspec.json.decode(content, type=Note)
            if note.kind == ROSTERS or noted_at >= time.time() - days * DAY:
                yield note

    def prune(self, days: float) -> None:
        """Remove notes that are older."""
        with self._connection as transaction:
            transaction.execute("DELETE FROM note WHERE noted_at < ?", (time.time() - days * DAY,))
