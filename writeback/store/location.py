"""The path of a home's store of writes, and the lock of the process that writes to the platform."""

from pathlib import Path

from warehouse.files import locked

#: The lock of the one process that may write to the platform, beside the store.
LOCK = "writes.lock"


def store_path(home: Path) -> Path:
    """The SQLite file of a home that has journal, outbox, unfinished lessons and notes."""
    return home / "writes.sqlite"


def is_writing(home: Path) -> bool:
    """Whether a process writes to the platform now."""
    if not (store_path(home).exists() and (home / LOCK).exists()):
        return False
    try:
        with locked(home / LOCK, wait=False):
            return False
    except BlockingIOError:
        return True
