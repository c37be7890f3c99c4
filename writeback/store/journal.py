"""The journal has each write on disk before it is sent, and then its outcome.

The journal fills the lake's table `writes`. If a process dies before the response, the write is recorded as
interrupted: only a look shows whether the write took effect.
"""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from campus.decoding.withholding import withhold_in_row
from campus.identity_numbers import without_identity_numbers
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import WRITES
from warehouse.load.logs.load_log import now
from warehouse.load.logs.write_log import append_writes
from writeback.operations import Write

#: Outcomes of a write. The comment of the column `outcome` defines them.
DONE, FOUND, REFUSED, UNSENT, UNCONFIRMED, INTERRUPTED = (
    "done",
    "found",
    "refused",
    "unsent",
    "unconfirmed",
    "interrupted",
)
#: The most rows that one commit moves into the lake.
MOST_FILED = 50_000

SCHEMA = """
CREATE TABLE IF NOT EXISTS write (
    seq INTEGER PRIMARY KEY,
    write_id TEXT NOT NULL,
    _school_id INTEGER NOT NULL,
    operation TEXT NOT NULL,
    target TEXT NOT NULL,
    source TEXT NOT NULL,
    row TEXT NOT NULL,
    sent TEXT,
    asked_by TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    process TEXT NOT NULL,
    outcome TEXT,
    status INTEGER,
    answer TEXT,
    answered_at TEXT
);
CREATE INDEX IF NOT EXISTS by_process ON write (process) WHERE outcome IS NULL;
CREATE TABLE IF NOT EXISTS ended_plan (name TEXT PRIMARY KEY, ended_at TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Provenance:
    """The person and the file behind a write."""

    #: The person and command, or the run.
    asked_by: str
    #: The plan or file with the rows to write.
    source: str
    #: The id of the Dagster run; empty: a command writes.
    run_id: str = ""


class Journal:
    """The journal of a home."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._process = uuid.uuid4().hex

    def begin(self, write: Write, provenance: Provenance, row: str) -> int:
        """Store a write before it is sent. Returns its number. row: the row of the source, in words."""
        with self._connection as transaction:
            added = transaction.execute(
                "INSERT INTO write (write_id, _school_id, operation, target, source, row, sent, asked_by,"
                " asked_at, process) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    uuid.uuid4().hex,
                    write.school_id,
                    write.operation.name,
                    without_identity_numbers(_target(write)),
                    provenance.source,
                    without_identity_numbers(row),
                    storable(write.content),
                    provenance.asked_by,
                    now().isoformat(),
                    self._process,
                ),
            )
        assert added.lastrowid is not None
        return added.lastrowid

    def end(self, number: int, outcome: str, status: int, answer: str | None) -> None:
        """Store the outcome of a write. answer: JSON, or the platform's message."""
        answer = answer and without_identity_numbers(answer)
        with self._connection as transaction:
            transaction.execute(
                "UPDATE write SET outcome = ?, status = ?, answer = ?, answered_at = ? WHERE seq = ?",
                (outcome, status, answer, now().isoformat(), number),
            )

    def file(self, lake: Lake) -> int:
        """Move finished writes into the lake's table. Returns the number of rows.

        If the process dies meanwhile, rows may be in both. The next call recognizes them by their ids."""
        with self._connection as transaction:
            transaction.execute(
                "UPDATE write SET outcome = ? WHERE outcome IS NULL AND process <> ?",
                (INTERRUPTED, self._process),
            )
        filed = 0
        while rows := self._ended():
            append_writes(lake, [_filed(row) for row in rows])
            with self._connection as transaction:
                transaction.executemany("DELETE FROM write WHERE seq = ?", [(row["seq"],) for row in rows])
            filed += len(rows)
        return filed

    def note_end_of_plan(self, name: str) -> None:
        """Record that a plan is completed, so that it is never applied again."""
        with self._connection as transaction:
            transaction.execute(
                "INSERT OR IGNORE INTO ended_plan VALUES (?, ?)", (name, f"{now():%Y-%m-%d %H:%M:%S}")
            )

    def end_of_plan(self, name: str) -> str:
        """The time at which a plan was completed, in China time; empty: it was not completed."""
        row = self._connection.execute("SELECT ended_at FROM ended_plan WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def _ended(self) -> list[dict[str, Any]]:
        cursor = self._connection.execute(
            "SELECT * FROM write WHERE outcome IS NOT NULL ORDER BY seq LIMIT ?", (MOST_FILED,)
        )
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


def _target(write: Write) -> str:
    """The object that a write changes: the id in the path, and the parameters."""
    named = [] if write.id is None else [str(write.id)]
    return " ".join([*named, *(f"{name}={value}" for name, value in write.params.items())])


def storable(content: Any) -> str | None:
    """The content as JSON, with a mark in place of passwords and national id numbers."""
    if content is None:
        return None
    return withhold_in_row(msgspec.json.encode(content), None, named=True)[0].decode()


def _filed(row: dict[str, Any]) -> dict[str, Any]:
    moments = {name: row[name] and datetime.fromisoformat(row[name]) for name in ("asked_at", "answered_at")}
    return {column.name: row.get(column.name) for column in WRITES.columns} | moments
