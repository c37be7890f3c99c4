"""Takes the forgotten out of what a home keeps in SQLite: the inbox of pushes, the outbox of swipes, the
journal of writes, and the lessons that were written and not read since."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from loading.durable import compact
from loading.pushes.forgotten_keys import keys_without
from loading.writes.journal_files import LOCK
from warehouse.files import locked
from warehouse.forgetting.columns import NUMBER, V1
from warehouse.forgetting.forgotten import NUMBER as NUMBER_MARK
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.surgery import written

PATIENCE = 30.0


def forget_in_inbox(
    path: Path, school_id: int, matcher: Matcher, resources: Mapping[str, tuple[str, ...]], *, apply: bool
) -> int:
    """Give events of the inbox the ids that stand for the forgotten. Events changed. resources: as in
    `pushes.resources`. Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any]:
        keys = keys_without(matcher, row["resource"], json.loads(row["keys"]), resources)
        return {"keys": json.dumps(keys), "problem": row["problem"] and matcher.cleaned_words(row["problem"])}

    return _changed(path, "event", "school_id", school_id, clean, apply=apply)


def forget_in_outbox(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Delete swipes of the forgotten, those that wait too. How many. Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any] | None:
        kind = NUMBER_MARK if row["person"] == NUMBER else V1
        return None if matcher.find(kind, row["value"].strip()) is not None else {}

    return _changed(path, "swipe", "school_id", school_id, clean, apply=apply)


def forget_in_lessons(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Take the marks of the forgotten out of lessons that were written and not read since. Lessons changed.
    Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any] | None:
        marks = json.loads(row["marks"])
        others = {student: mark for student, mark in marks.items() if matcher.find(V1, student) is None}
        if others == marks:
            return {}
        return {"marks": json.dumps(others)} if others else None

    return _changed(path, "lesson", "school_id", school_id, clean, apply=apply)


def forget_in_journal(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Take the forgotten out of records of writes that are not filed yet. Records changed. Raises
    sqlite3.Error."""
    with locked(path.with_name(LOCK)):
        return _changed(
            path, "write", "_school_id", school_id, lambda row: written(matcher, row), apply=apply
        )


def forget_school_in(path: Path, school_id: int, *, apply: bool) -> int:
    """Delete all rows of a school from a file. How many. Raises sqlite3.Error."""
    if not path.exists():
        return 0
    removed = 0
    with closing(_opened(path)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            columns = {column[1] for column in connection.execute(f'PRAGMA table_info("{table}")')}
            for column in columns.intersection(("school_id", "_school_id")):
                rows = connection.execute(
                    f'SELECT count(*) FROM "{table}" WHERE "{column}" = ?', (school_id,)
                ).fetchone()
                removed += rows[0]
                if apply:
                    with connection:
                        connection.execute(f'DELETE FROM "{table}" WHERE "{column}" = ?', (school_id,))
        if apply:
            compact(connection)
    return removed


def _changed(
    path: Path,
    table: str,
    school: str,
    school_id: int,
    clean: Callable[[dict[str, Any]], dict[str, Any] | None],
    *,
    apply: bool,
) -> int:
    """Change the rows of a school: `clean` has the columns that are to be otherwise; None: the row goes. The
    file is compacted whether or not anything was changed, since what was deleted before may be in its free
    pages."""
    if not path.exists():
        return 0
    changed = 0
    with closing(_opened(path)) as connection:
        cursor = connection.execute(
            f'SELECT rowid AS _rowid, * FROM "{table}" WHERE "{school}" = ?', (school_id,)
        )
        names = [column[0] for column in cursor.description]
        with connection:
            for values in cursor.fetchall():
                row = dict(zip(names, values, strict=True))
                new = clean(row)
                if new is not None and all(row[name] == value for name, value in new.items()):
                    continue
                changed += 1
                if not apply:
                    continue
                if new is None:
                    connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row["_rowid"],))
                else:
                    assignments = ", ".join(f'"{name}" = ?' for name in new)
                    connection.execute(
                        f'UPDATE "{table}" SET {assignments} WHERE rowid = ?', (*new.values(), row["_rowid"])
                    )
        if apply:
            compact(connection)
    return changed


def _opened(path: Path) -> sqlite3.Connection:
    # Another user may share the folder of the inbox: follow no link, and run no function of the file.
    os.close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW))
    connection = sqlite3.connect(path, timeout=PATIENCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA secure_delete = ON")
    return connection
