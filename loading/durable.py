"""SQLite files that outlive a crash and a power cut: what was written is on disk when the call returns."""

import sqlite3
from pathlib import Path

#: Seconds to wait while another process writes.
PATIENCE = 5.0


def durable(path: Path, schema: str) -> sqlite3.Connection:
    """The file at `path`, made where it is missing, in WAL mode with full synchronization; `schema`: the
    statements that make its tables. It is for this user alone, as it is about children.

    Raises sqlite3.Error and OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(schema)
    return connection
