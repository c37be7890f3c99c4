"""Atomic and private files: whole or absent, locked, and without permissions for others."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The permissions that no file of a home has: any for other users, and write for the group.
UMASK = 0o027
#: Prefix of the hidden folders that hold unfinished files.
UNFINISHED = ".campus-unfinished-"
#: DuckDB from this version on opens a file written here. An older storage version makes files larger; only
#: the newest DuckDB reads the newest one, which is the default.
STORAGE_VERSION = "v1.2.0"
#: DuckDB takes a process without a script, such as a Dagster run, for an interactive prompt, and would draw a
#: progress bar into the log.
NO_PROGRESS_BAR = "SET enable_progress_bar = false"
#: Why a path cannot be used, by errno.
REASONS = {
    errno.ENOENT: "a folder above it does not exist, or takes no files",
    errno.ENOTDIR: "a part of its path is a file",
    errno.EISDIR: "it is a folder",
    errno.EACCES: "its permissions do not allow it",
    errno.EPERM: "its permissions do not allow it",
    errno.EROFS: "its disk is mounted read-only",
    errno.ENAMETOOLONG: "its name is too long",
}
#: Characters that file systems refuse in names.
NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
SEE_PATH = "See that the path is right, and its disk mounted"


def without_separators(name: str) -> str:
    """A name without the characters that file systems refuse."""
    return NOT_IN_NAMES.sub("_", name)


def flush(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(file: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on a folder, or on a file, which is made if missing. A reader may hold it, too.

    Without `wait`, raises BlockingIOError if another process holds the lock."""
    is_for_reading = file.is_dir() or (file.exists() and not os.access(file, os.W_OK))
    descriptor = os.open(file, os.O_RDONLY if is_for_reading else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder for unfinished files inside `folder`, which is made if missing.

    One process at a time has it, others wait. So files already there were left by a killed process, and are
    deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for left in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as scratch:
            yield Path(scratch)


def is_open(path: Path) -> bool:
    """Whether a file or folder has a permission that UMASK forbids."""
    return bool(path.stat().st_mode & UMASK)


def make_read_only(file: Path) -> None:
    """Remove every permission except reading by the owner and the group."""
    file.chmod(file.stat().st_mode & 0o440)


def put_in_place(finished: Path, target: Path) -> None:
    """Move a finished file over `target`, on the same file system. A crash leaves the old file or the new."""
    flush(finished)
    finished.replace(target)
    flush(target.parent)


def write_text(target: Path, text: str) -> None:
    """Replace `target` by a small text, as `put_in_place` does."""
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    put_in_place(unfinished, target)


def unusable(error: OSError) -> str:
    """The message for a path that the system refuses. An error without a path already is a message."""
    if error.filename is None or error.errno is None:
        return str(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
    reason = REASONS.get(error.errno) or error.strerror
    return f"{path} cannot be used: {reason}. {SEE_PATH}."


def no_folder_above(path: Path) -> str | None:
    """The message for a path whose parent folder is missing, as on an unmounted disk; None: it exists."""
    folder = path.expanduser().absolute().parent
    if folder.is_dir():
        return None
    return f"{path}: the folder {folder} does not exist, and is not created. {SEE_PATH}."
