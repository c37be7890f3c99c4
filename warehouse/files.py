"""Files that are there as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: How the hidden folders begin in which files wait until they are finished.
UNFINISHED = ".campus-unfinished-"


def flush(path: Path) -> None:
    """Have the disk hold what was written; of a folder, its names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """A hidden folder inside `folder`, which is made if need be, for files that are not finished.

    One process at a time has it, others wait; so whatever is there is what a killed one left, and is deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for left in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as scratch:
            yield Path(scratch)
    finally:
        os.close(descriptor)


def put_in_place(finished: Path, target: Path) -> None:
    """Move a finished file over `target`, on the same file system. A crash leaves the old one or the new."""
    flush(finished)
    finished.replace(target)
    flush(target.parent)
