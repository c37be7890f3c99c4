"""The folder in which files arrive, as FOLDER/<school id>/<rosters, attendance or swipes>/FILE.

Other programs write into the folder. Folders are opened step by step, and no link is followed, so that a file
always belongs to the school and kind in its path. Only regular files without further hard links are read.
Processed files are moved to the folder `done` beside them. Files in `done`, and files that no run reads
again, are removed after some days.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

import msgspec

from campus.files.table_file import MOST_BYTES, READERS, FileContent, TableError, unreadable
from untrusted.files import (
    LIST_SECONDS,
    READ_SECONDS,
    FileChanged,
    FileRefused,
    irregular,
    opened_folder,
    read_below,
)
from untrusted.time_limit import AWAY, FolderAway, within
from writeback.kinds import KINDS

#: The folder of processed files.
DONE = "done"
DAY = 86_400.0


class InboxFile(msgspec.Struct, frozen=True):
    """A file in the folder, as it was when it was listed or read."""

    #: For messages.
    path: str
    school_id: int
    size: int
    #: The time of its content, in nanoseconds.
    changed: int

    @property
    def name(self) -> str:
        """The name without the folder."""
        return Path(self.path).name

    @property
    def stamp(self) -> str:
        """Identifies a version of the file. Inodes would not: they change when a share is mounted again."""
        return f"{self.size}-{self.changed}"


@within(LIST_SECONDS)
def list_arrived(
    folder: Path, kind: str, school_ids: Collection[int] | None, report: Callable[[str], None]
) -> list[InboxFile]:
    """The files of a kind in the folder, the oldest first. Reads no contents.

    Args:
        school_ids: The schools whose files are listed; None: all.
        report: Called with a message for each file that is skipped.

    Raises OSError if the folder itself cannot be read."""
    files: list[InboxFile] = []
    for school_id in _schools(folder):
        if school_ids is None or school_id in school_ids:
            files += _files(folder, school_id, kind, report)
    return sorted(files, key=lambda file: (file.changed, file.path))


def read_arrived(folder: Path, kind: str, school_id: int, name: str) -> tuple[FileContent, InboxFile]:
    """The content of a file, and the file's state after the reading.

    Raises TableError if there is no such regular file, or the file is too long, and FileChanged and
    FolderAway, after which a later reading may succeed."""
    path = folder / str(school_id) / kind / name
    if not is_name(name):
        raise TableError(f"{name!r} is not the name of a file in {path.parent}")
    try:
        read = read_below(folder, str(school_id), kind, name, max_bytes=MOST_BYTES)
        return FileContent(path, read.content), _inbox_file(str(path), school_id, read.status)
    except FileChanged:
        raise
    except OSError as error:
        if error.errno in AWAY:
            raise FolderAway(error.strerror or "it does not answer") from error
        raise unreadable(path, error) from None


@within(READ_SECONDS)
def move_to_done(folder: Path, kind: str, file: InboxFile) -> None:
    """Move a processed file to `done`. A file that has replaced it meanwhile stays.

    Raises OSError, for example if the folder is read-only."""
    with opened_folder(folder, str(file.school_id), kind) as folder_fd, suppress(FileNotFoundError):
        if _inbox_file(file.path, file.school_id, _status(folder_fd, file.name)) != file:
            return
        with suppress(FileExistsError):
            os.mkdir(DONE, 0o750, dir_fd=folder_fd)
        with _opened_below(folder_fd, DONE) as done_fd:
            _move(file, folder_fd, done_fd)


def _move(file: InboxFile, folder_fd: int, done_fd: int) -> None:
    name = _reserve_name(file.name, done_fd)
    try:
        os.rename(file.name, name, src_dir_fd=folder_fd, dst_dir_fd=done_fd)
    except OSError:
        os.unlink(name, dir_fd=done_fd)
        raise
    if _inbox_file(file.path, file.school_id, _status(done_fd, name)) == file:
        return
    # A new file arrived between the check and the rename, and was moved unread. Move it back, unless another
    # new file has its name already.
    try:
        os.link(name, file.name, src_dir_fd=done_fd, dst_dir_fd=folder_fd, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError:
        # A file system without hard links.
        os.rename(name, file.name, src_dir_fd=done_fd, dst_dir_fd=folder_fd)
        return
    os.unlink(name, dir_fd=done_fd)


def _reserve_name(name: str, done_fd: int) -> str:
    """Create an empty file in `done` with an unused name, and return the name: the time, and the old name."""
    old_name, time_of_move = Path(name), f"{datetime.now():%Y%m%d-%H%M%S}"
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        # A character has up to four bytes, and a file name up to 255.
        new_name = f"{time_of_move}{suffix}-{old_name.stem[:50]}{old_name.suffix}"
        with suppress(FileExistsError):
            os.close(os.open(new_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=done_fd))
            return new_name
    raise AssertionError("there is always another number")


@within(READ_SECONDS)
def remove_old(folder: Path, kind: str, days: float, stamps: Mapping[str, str]) -> list[str]:
    """Remove files of a kind that arrived or were moved to `done` `days` ago, since files are about children.
    Returns a message for each file that cannot be removed.

    Args:
        stamps: The stamps, by path, of files outside `done` that no run reads again.

    Raises OSError if the folder itself cannot be read."""
    before, problems = time.time() - days * DAY, []
    for path in inbox_files_of(folder, (kind,)):
        is_done = path.parent.name == DONE
        if not is_done and str(path) not in stamps:
            continue
        try:
            with opened_folder(folder, *path.relative_to(folder).parts[:-1]) as folder_fd:
                status = _status(folder_fd, path.name)
                is_same = is_done or _inbox_file(str(path), 0, status).stamp == stamps[str(path)]
                # st_ctime is the time of the copy or the move. st_mtime may be any earlier time.
                if is_same and status.st_ctime < before:
                    os.unlink(path.name, dir_fd=folder_fd)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(
                f"{path} is older than {days:g} days and cannot be removed: {error.strerror or error}"
            )
    return problems


def inbox_files_of(folder: Path, kinds: Collection[str] = KINDS) -> Iterator[Path]:
    """All regular files of schools in the folder and in `done`, whatever their names.

    Raises OSError if the folder itself cannot be read."""
    for school_id in _schools(folder):
        for kind in kinds:
            for below in ((str(school_id), kind), (str(school_id), kind, DONE)):
                with suppress(OSError), opened_folder(folder, *below) as folder_fd:
                    names = [
                        name for name in _names(folder_fd) if stat.S_ISREG(_status(folder_fd, name).st_mode)
                    ]
                    yield from (Path(folder, *below, name) for name in names)


def is_name(name: str) -> bool:
    """Whether a name is the file name of a table, without a folder and without control characters."""
    return Path(name).name == name and name.isprintable() and _is_of_table(name)


def _schools(folder: Path) -> list[int]:
    """The schools that have a folder. An id with leading zeros does not count."""
    names = [path.name for path in folder.iterdir()]
    return sorted(int(name) for name in names if name.isdecimal() and name == str(int(name)))


def _files(folder: Path, school_id: int, kind: str, report: Callable[[str], None]) -> Iterator[InboxFile]:
    path = folder / str(school_id) / kind
    try:
        with opened_folder(folder, str(school_id), kind) as folder_fd:
            for name in filter(_is_of_table, _names(folder_fd)):
                if not is_name(name):
                    report(f"{name!a} in {path} is left alone: its name has characters that cannot be shown")
                    continue
                try:
                    status = _status(folder_fd, name)
                except OSError as error:
                    report(f"{path / name} cannot be read: {error.strerror}")
                    continue
                if problem := irregular(status):
                    report(f"{path / name} is left alone: {problem}")
                else:
                    yield _inbox_file(str(path / name), school_id, status)
    except FileNotFoundError:
        return
    except FileRefused as error:
        report(str(error))
    except OSError as error:
        report(f"{path} cannot be read: {error.strerror}")


def _is_of_table(name: str) -> bool:
    """Whether a name ends like that of a table. Unfinished files begin with . or ~."""
    return Path(name).suffix.lower() in READERS and not name.startswith((".", "~"))


@contextmanager
def _opened_below(folder_fd: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _names(folder_fd: int) -> list[str]:
    with os.scandir(folder_fd) as entries:
        return sorted(entry.name for entry in entries)


def _status(folder_fd: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)


def _inbox_file(path: str, school_id: int, status: os.stat_result) -> InboxFile:
    return InboxFile(path, school_id, status.st_size, status.st_mtime_ns)
