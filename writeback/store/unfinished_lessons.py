"""Stores the marks of a lesson before a write, until a reading after the write shows the lesson's marks.

A platform may delete marks that a write leaves out. If the reading after the write fails, or the process dies
first, the next run sends the stored marks again.
"""

import sqlite3
from collections.abc import Mapping
from datetime import date

import msgspec

from campus.attendance.calendar import Session

SCHEMA = """
CREATE TABLE IF NOT EXISTS lesson (
    school_id INTEGER NOT NULL,
    class_id INTEGER NOT NULL,
    day TEXT NOT NULL,
    lesson INTEGER NOT NULL,
    marks TEXT NOT NULL,
    PRIMARY KEY (school_id, class_id, day, lesson)
);
"""
KEY_MATCHES = "school_id = ? AND class_id = ? AND day = ? AND lesson = ?"
_MARKS = msgspec.json.Decoder(dict[int, str])


class UnfinishedLessons:
    """The lessons that were written but not read since, with their marks before the write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def keep(self, school_id: int, session: Session, marks: Mapping[int, str]) -> dict[int, str]:
        """Add marks to the stored marks of a lesson. Returns all its stored marks, once they are on disk."""
        row = self._connection.execute(
            f"SELECT marks FROM lesson WHERE {KEY_MATCHES}", (school_id, *_key(session))
        ).fetchone()
        stored = {**(_MARKS.decode(row[0]) if row else {}), **marks}
        if stored:
            with self._connection as transaction:
                transaction.execute(
                    "INSERT OR REPLACE INTO lesson VALUES (?, ?, ?, ?, ?)",
                    (school_id, *_key(session), msgspec.json.encode(stored).decode()),
                )
        return stored

    def of(self, school_id: int) -> dict[Session, dict[int, str]]:
        """The unfinished lessons of a school, with their stored marks."""
        rows = self._connection.execute(
            "SELECT class_id, day, lesson, marks FROM lesson WHERE school_id = ?", (school_id,)
        )
        return {
            Session(class_id, date.fromisoformat(day), lesson): _MARKS.decode(marks)
            for class_id, day, lesson, marks in rows
        }

    def forget(self, school_id: int, session: Session) -> None:
        """Delete the stored marks of a lesson: all marks are there, or the lost marks are reported."""
        with self._connection as transaction:
            transaction.execute(f"DELETE FROM lesson WHERE {KEY_MATCHES}", (school_id, *_key(session)))


def _key(session: Session) -> tuple[int, str, int]:
    return session.class_id, session.day.isoformat(), session.lesson
