"""Reads files that somebody else may write: regular files only, without following links, within limits.

A link could show every file that the warehouse's user can read, such as `.env`; a FIFO would block. So each
folder below a base is opened by its name in the folder above. The base itself may be a link: whoever set up
the home or named the folder in campus.yaml put it there, and it may lead to a network share.

    content = read_below(home / "inputs", "101", "interventions.csv", max_bytes=20_000_000).content
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from untrusted.time_limit import within

#: Timeouts in seconds: of listing a folder, and of reading, moving or removing files.
LIST_SECONDS, READ_SECONDS = 30, 120
#: O_NONBLOCK: opening a FIFO would wait for its writer. O_NOCTTY: a terminal would become ours.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
#: How systems answer O_NOFOLLOW for a link: for a file, and for a folder.
_IS_LINK = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR)
_NO_FILE = "it is a link, or no regular file"


class FileRefused(OSError):
    """A file that is not read. The message names the file and the reason, and nothing of its content."""


class FileChanged(FileRefused):
    """A file that was written while it was read. A later reading may succeed."""


@dataclass(frozen=True)
class UntrustedFile:
    """The content of a file, and its state after the reading."""

    content: bytes = field(repr=False)
    status: os.stat_result


@within(READ_SECONDS)
def read_below(base: Path, *names: str, max_bytes: int) -> UntrustedFile:
    """Read `base/names`. Follows no link below `base`, and refuses a file with a second name.

    Raises FileRefused, and OSError for a file that is absent or forbidden, or a folder that is away."""
    (*folders, name), path = names, Path(base, *names)
    with opened_folder(base, *folders) as folder_fd:
        if problem := irregular(os.stat(name, dir_fd=folder_fd, follow_symlinks=False)):
            raise _refused(path, problem)
        try:
            descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder_fd)
        except OSError as error:
            if error.errno in _IS_LINK:
                raise _refused(path, _NO_FILE) from None
            raise
        return _read(descriptor, path, max_bytes, irregular)


@within(READ_SECONDS)
def read_named(path: Path, *, max_bytes: int) -> UntrustedFile:
    """Read a regular file that the user of a command names, and so may read. Links are followed.

    Raises FileRefused and OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        # Opening a device may have an effect.
        raise _refused(path, "it is no regular file")
    return _read(os.open(path, _READ), path, max_bytes, _not_regular)


@within(LIST_SECONDS)
def files_below(base: Path, *folders: str) -> list[str]:
    """The names in a folder that are no folders, sorted. Links and irregular files are included, so that
    reading them says what is wrong; hidden files and lock files of spreadsheet programs (`.`, `~`) are not.
    An absent folder has none.

    Raises FileRefused and OSError."""
    return _names(base, folders, are_folders=False)


@within(LIST_SECONDS)
def folders_below(base: Path) -> list[str]:
    """The names of the folders in a folder, sorted; a link is none."""
    return _names(base, (), are_folders=True)


@contextmanager
def opened_folder(base: Path, *names: str) -> Iterator[int]:
    """The descriptor of the folder `base/names`. Opens each folder on the way, and follows no link below
    `base`. Raises FileRefused for a link, and OSError."""
    descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number, name in enumerate(names, 1):
            try:
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                if error.errno in _IS_LINK:
                    folder = Path(base, *names[:number])
                    raise FileRefused(
                        f"{folder} is not read: it is a link, or no folder. Put a folder there"
                    ) from None
                raise
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def irregular(status: os.stat_result) -> str:
    """The reason not to read a file; empty: it is a regular file with one name."""
    # A hard link, like a symbolic link, could show a file of another folder.
    return _not_regular(status) or ("it has a second name (a hard link)" if status.st_nlink > 1 else "")


def _not_regular(status: os.stat_result) -> str:
    return "" if stat.S_ISREG(status.st_mode) else _NO_FILE


def _read(
    descriptor: int, path: Path, max_bytes: int, problem_of: Callable[[os.stat_result], str]
) -> UntrustedFile:
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(descriptor)
        # Another file may have taken the place of the one that was looked at.
        if problem := problem_of(before):
            raise _refused(path, problem)
        content = b"" if before.st_size > max_bytes else file.read(max_bytes + 1)
        after = os.fstat(descriptor)
    if max(before.st_size, len(content)) > max_bytes:
        raise FileRefused(f"{path} has more than {max_bytes // 1_000_000} MB: is it the right file?")
    if len(content) != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise FileChanged(f"{path} was changed while it was read: it is read again later")
    return UntrustedFile(content, after)


def _names(base: Path, folders: Sequence[str], *, are_folders: bool) -> list[str]:
    try:
        with opened_folder(base, *folders) as folder_fd, os.scandir(folder_fd) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith((".", "~", "!"))
                and entry.is_dir(follow_symlinks=False) is are_folders
            )
    except (FileNotFoundError, NotADirectoryError):
        return []


def _refused(path: Path, reason: str) -> FileRefused:
    return FileRefused(f"{path} is not read: {reason}. Put the file itself there")
