"""What lessons had before they were written: on disk until a reading has shown what they have since.

A platform may forget the marks that a request leaves out. Where the reading after the request fails, or the
process dies before it, the next run knows from here what has to be sent again.
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
ONE = "school_id = ? AND class_id = ? AND day = ? AND lesson = ?"
_MARKS = msgspec.json.Decoder(dict[int, str])


class UnfinishedLessons:
    """The lessons of a home that were written and not read since, with the marks that they had."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def keep(self, school_id: int, session: Session, marks: Mapping[int, str]) -> dict[int, str]:
        """Keep what a lesson has, on disk when this returns; with what is kept of it already."""
        row = self._connection.execute(
            f"SELECT marks FROM lesson WHERE {ONE}", (school_id, *_key(session))
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
        """The unfinished lessons of a school."""
        rows = self._connection.execute(
            "SELECT class_id, day, lesson, marks FROM lesson WHERE school_id = ?", (school_id,)
        )
        return {
            Session(class_id, date.fromisoformat(day), lesson): _MARKS.decode(marks)
            for class_id, day, lesson, marks in rows
        }

    def forget(self, school_id: int, session: Session) -> None:
        """A lesson has what it should, or what it lost is known."""
        with self._connection as transaction:
            transaction.execute(f"DELETE FROM lesson WHERE {ONE}", (school_id, *_key(session)))


def _key(session: Session) -> tuple[int, str, int]:
    return session.class_id, session.day.isoformat(), session.lesson
