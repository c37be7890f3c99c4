"""SQLite files that outlive a crash and a power cut: what was written is on disk when the call returns."""

import os
import sqlite3
from pathlib import Path

#: Seconds to wait while another process writes.
PATIENCE = 5.0


def durable(path: Path, schema: str, mode: int = 0o600) -> sqlite3.Connection:
    """The file at `path`, made where it is missing, in WAL mode with full synchronization; `schema`: the
    statements that make its tables. It is for this user alone, as it is about children, unless `mode` says
    otherwise; SQLite gives the files beside it the same mode.

    Raises sqlite3.Error and OSError, also where a link stands in the place of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _make(path, mode)
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    # Functions of a file's own views and triggers are not run: another user may have written it.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    # What is deleted is overwritten: it is about children.
    connection.execute("PRAGMA secure_delete = ON")
    connection.executescript(schema)
    return connection


def _make(path: Path, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    except FileExistsError:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    else:
        # Whatever the umask is.
        os.fchmod(descriptor, mode)
    os.close(descriptor)


def compact(connection: sqlite3.Connection) -> None:
    """Have the file hold nothing that is not in its tables: no free page, and no page in the WAL beside it.

    Raises sqlite3.Error where another process keeps the file busy."""
    connection.execute("VACUUM")
    [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise sqlite3.OperationalError("another process reads the file; run the same command again")
