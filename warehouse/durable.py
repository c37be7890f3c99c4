"""SQLite files that survive a crash and a power cut: each write is on disk when the call returns."""

import os
import sqlite3
from pathlib import Path

#: Seconds to wait while another process writes.
PATIENCE = 5.0


def durable(path: Path, schema: str, mode: int = 0o600) -> sqlite3.Connection:
    """Open the file at `path` in WAL mode with full synchronization; a missing file is made. A file that this
    process may only read is opened as it is.

    `schema`: the statements that make its tables. `mode`: permissions of the file and of SQLite's files
    beside it; by default the owner alone, since the rows are about children.

    Raises sqlite3.Error and OSError, also if `path` is a link."""
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _for_reading(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _make(path, mode)
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    # Another user may have written the file, so functions in its views and triggers must not run.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    # Deleted rows are overwritten, since they are about children.
    connection.execute("PRAGMA secure_delete = ON")
    connection.executescript(schema)
    return connection


def _for_reading(path: Path) -> sqlite3.Connection:
    # Without a WAL beside it no process has the file open. SQLite would else make files in the folder.
    has_wal = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?{'mode=ro' if has_wal else 'immutable=1'}"
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _make(path: Path, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    except FileExistsError:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    else:
        # The umask may have removed permissions.
        os.fchmod(descriptor, mode)
    os.close(descriptor)


def compact(connection: sqlite3.Connection) -> None:
    """Remove every byte that is not in a table: free pages, and the WAL beside the file.

    Raises sqlite3.Error if another process keeps the file busy."""
    connection.execute("VACUUM")
    [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise sqlite3.OperationalError("another process reads the file; run the same command again")
