"""Processes whose clock is days ahead, by libfaketime: its library stands between a process and the clock."""

import os
import time
from pathlib import Path

import pytest

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
NEEDS_FAKETIME = pytest.mark.skipif(LIBRARY is None, reason="needs libfaketime, of Debian's faketime")


def days_ahead(days: int) -> dict[str, str]:
    """The environment of a process whose clock is `days` ahead. Its waits last as long as ever."""
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME": f"+{days}d",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def age_new_files(folder: Path, since: float, days: int) -> None:
    """Give files written between a time (in seconds since 1970) and now the time that the process's clock
    had."""
    until = time.time()
    for path in folder.rglob("*"):
        written = path.lstat().st_mtime
        if since <= written <= until and path.is_file() and not path.is_symlink():
            moved = written + days * 86_400
            os.utime(path, (moved, moved))
