"""Changes and deletes rows of SQLite files without leaving traces of the old values."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from warehouse.durable import compact

PATIENCE = 30.0


def forget_school_in(path: Path, school_id: int, *, apply: bool) -> int:
    """Delete all rows of a school from a file; returns their number. Without `apply`, only counts.

    Raises sqlite3.Error."""
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


def change_rows(
    path: Path,
    table: str,
    school: str,
    school_id: int,
    clean: Callable[[dict[str, Any]], dict[str, Any] | None],
    *,
    apply: bool,
) -> int:
    """Change or delete a school's rows; returns their number. Without `apply`, only counts.

    `clean`: returns a row's new values by column; None: the row is deleted. The file is always compacted,
    since its free pages may still have rows that were deleted before."""
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
    # Another user may share the inbox's folder: follow no link, and run no function of the file.
    os.close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW))
    connection = sqlite3.connect(path, timeout=PATIENCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA secure_delete = ON")
    return connection
