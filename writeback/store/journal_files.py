"""Where the journal of writes is, and whether a process writes to the platform now."""

from pathlib import Path

from warehouse.files import locked

#: Which one process at a time has that writes to the platform, beside the journal.
LOCK = "writes.lock"


def journal_path(home: Path) -> Path:
    """Where the journal of a home is."""
    return home / "writes.sqlite"


def is_writing(home: Path) -> bool:
    """Whether a process writes to the platform now."""
    if not journal_path(home).exists():
        return False
    try:
        with locked(home / LOCK, wait=False):
            return False
    except BlockingIOError:
        return True
