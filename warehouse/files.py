"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The permissions that no file of a home has: all of other users, and the group's to write.
UMASK = 0o027
#: How the hidden folders begin in which files wait until they are finished.
UNFINISHED = ".campus-unfinished-"
#: A DuckDB file that is made here opens with any DuckDB from this version on. An older one would make it an
#: eighth larger, and the newest one, the default, is read by the newest alone.
STORAGE_VERSION = "v1.2.0"
#: For connections of DuckDB. It takes a process without a script, such as a run of Dagster, for a person at a
#: prompt, and would draw a bar into the log.
NO_PROGRESS_BAR = "SET enable_progress_bar = false"
#: Why a path cannot be used, by the number of the system's error.
REASONS = {
    errno.ENOENT: "a folder above it is not there, or takes no files",
    errno.ENOTDIR: "a part of its path is a file",
    errno.EISDIR: "it is a folder",
    errno.EACCES: "its permissions do not allow it",
    errno.EPERM: "its permissions do not allow it",
    errno.EROFS: "its disk is mounted read-only",
    errno.ENAMETOOLONG: "its name is too long",
}
SEE_PATH = "See that the path is right, and its disk mounted"


def flush(path: Path) -> None:
    """Have the disk hold what was written; of a folder, its names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(file: Path, *, wait: bool = True) -> Iterator[None]:
    """One process at a time has a file, which is made if need be, or a folder; others wait, or raise
    BlockingIOError."""
    descriptor = os.open(file, os.O_RDONLY if file.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """A hidden folder inside `folder`, which is made if need be, for files that are not finished.

    One process at a time has it, others wait; so whatever is there is what a killed one left, and is deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for left in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as scratch:
            yield Path(scratch)


def is_open(path: Path) -> bool:
    """Whether a file or folder has a permission that UMASK would have withheld."""
    return bool(path.stat().st_mode & UMASK)


def make_read_only(file: Path) -> None:
    """Leave only the owner's and the group's permission to read, where they have it."""
    file.chmod(file.stat().st_mode & 0o440)


def put_in_place(finished: Path, target: Path) -> None:
    """Move a finished file over `target`, on the same file system. A crash leaves the old one or the new."""
    flush(finished)
    finished.replace(target)
    flush(target.parent)


def write_text(target: Path, text: str) -> None:
    """Put a small text in the place of `target`, as `put_in_place` does."""
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    put_in_place(unfinished, target)


def unusable(error: OSError) -> str:
    """What to say of a path that the system refuses; an error without one is in words already."""
    if error.filename is None or error.errno is None:
        return str(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
    reason = REASONS.get(error.errno) or error.strerror
    return f"{path} cannot be used: {reason}. {SEE_PATH}."


def no_folder_above(path: Path) -> str | None:
    """What to say of a file or folder whose own folder is not there: it may be on a disk that is not mounted.
    None: it is there."""
    folder = path.expanduser().absolute().parent
    if folder.is_dir():
        return None
    return f"{path}: the folder {folder} is not there, and is not made. {SEE_PATH}."
