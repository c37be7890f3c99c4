"""The folder in which files arrive, as FOLDER/<school id>/<rosters, attendance or swipes>/FILE.

Others write into it. Each folder and file is opened below the one before, and no link is followed: a file is
always of the school and kind that its place says. Only a regular file with one name is read. A file that
needs nothing more is moved to the folder `done` beside it. Files in `done`, and those that no run reads
again, are removed after some days.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

import msgspec

from writeback.files.table_file import READERS, FileContent, TableError, content_of
from writeback.inbox.time_limit import AWAY, FolderAway, within
from writeback.kinds import KINDS

#: The folder of files that need nothing more.
DONE = "done"
DAY = 86_400.0
#: Seconds that a look at the folder may take, and the reading of a file or work on many.
LOOK, WORK = 30, 120


class Arrived(msgspec.Struct, frozen=True):
    """A file as a look found it. `path`: for messages. `changed`: its time, in nanoseconds. `inode`: another
    file of the same name has another one."""

    path: str
    school_id: int
    size: int
    changed: int
    inode: int

    @property
    def name(self) -> str:
        """Its name in its folder."""
        return Path(self.path).name

    @property
    def stamp(self) -> str:
        """Another stamp makes it another file, also after a share has come back with other inodes."""
        return f"{self.size}-{self.changed}"


@within(LOOK)
def arrived(
    folder: Path, kind: str, school_ids: Collection[int] | None, report: Callable[[str], None]
) -> list[Arrived]:
    """The files of a kind in the folder, the oldest first; nothing is read of them. school_ids: the schools
    whose files count; None: all. report: takes a line for what is left alone.

    Raises OSError where the folder itself cannot be read."""
    files: list[Arrived] = []
    for school_id in _schools(folder):
        if school_ids is None or school_id in school_ids:
            files += _files(folder, school_id, kind, report)
    return sorted(files, key=lambda file: (file.changed, file.path))


@within(WORK)
def read_arrived(folder: Path, kind: str, school_id: int, name: str) -> tuple[FileContent, Arrived]:
    """The content of a file that has arrived, and the file as it was when all of it had been read: a file
    that changed meanwhile has another stamp than before.

    Raises TableError where there is no such regular file, or it is too long, and FolderAway."""
    path = folder / str(school_id) / kind / name
    if not is_name(name):
        raise TableError(f"{name!r} is not the name of a file in {path.parent}")
    try:
        with _opened(folder, str(school_id), kind) as place:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        try:
            if problem := _irregular(os.fstat(descriptor)):
                raise TableError(f"{path} cannot be read: {problem}")
            content = content_of(os.dup(descriptor), path)
            return content, _as_found(str(path), school_id, os.fstat(descriptor))
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in AWAY:
            raise FolderAway(error.strerror or "it does not answer") from error
        raise TableError(f"{path} cannot be read: {error.strerror}") from None


@within(WORK)
def move_to_done(folder: Path, kind: str, file: Arrived) -> None:
    """Move a file that needs nothing more, and none that has come in its place meanwhile.

    Raises OSError, as where the folder can only be read."""
    with _opened(folder, str(file.school_id), kind) as place, suppress(FileNotFoundError):
        if _as_found(file.path, file.school_id, _status(place, file.name)) != file:
            return
        with suppress(FileExistsError):
            os.mkdir(DONE, 0o750, dir_fd=place)
        with _opened_below(place, DONE) as done:
            _move(file, place, done)


def _move(file: Arrived, place: int, done: int) -> None:
    name = _reserved_name(file.name, done)
    try:
        os.rename(file.name, name, src_dir_fd=place, dst_dir_fd=done)
    except OSError:
        os.unlink(name, dir_fd=done)
        raise
    if _as_found(file.path, file.school_id, _status(done, name)) == file:
        return
    # Another file came just now, and nobody has read it: it goes back, unless one more has come.
    try:
        os.link(name, file.name, src_dir_fd=done, dst_dir_fd=place, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError:
        # A file system without hard links.
        os.rename(name, file.name, src_dir_fd=done, dst_dir_fd=place)
        return
    os.unlink(name, dir_fd=done)


def _reserved_name(name: str, done: int) -> str:
    """A name that nothing in `done` has, held by an empty file: the time of the move, and the file's own."""
    own, time_of_move = Path(name), f"{datetime.now():%Y%m%d-%H%M%S}"
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        # A letter has up to four bytes, and a name 255.
        reserved = f"{time_of_move}{again}-{own.stem[:50]}{own.suffix}"
        with suppress(FileExistsError):
            os.close(os.open(reserved, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=done))
            return reserved
    raise AssertionError("there is always another number")


@within(WORK)
def remove_old(folder: Path, kind: str, days: float, stamps: Mapping[str, str]) -> list[str]:
    """Remove files of a kind that came, or were moved to `done`, so many days ago: they are about children.
    stamps: of the files beside `done` that no run reads again, by path. What cannot be removed, in words.

    Raises OSError where the folder itself cannot be read."""
    before, problems = time.time() - days * DAY, []
    for path in inbox_files_of(folder, (kind,)):
        is_done = path.parent.name == DONE
        if not is_done and str(path) not in stamps:
            continue
        try:
            with _opened(folder, *path.relative_to(folder).parts[:-1]) as place:
                status = _status(place, path.name)
                is_same = is_done or _as_found(str(path), 0, status).stamp == stamps[str(path)]
                # The time of the inode: of the copy or the move, whatever time the content has.
                if is_same and status.st_ctime < before:
                    os.unlink(path.name, dir_fd=place)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{path} is older than {days:g} days and cannot be removed: {error.strerror}")
    return problems


def inbox_files_of(folder: Path, kinds: Collection[str] = KINDS) -> Iterator[Path]:
    """All regular files of schools in the folder, whatever their names, those in `done` too.

    Raises OSError where the folder itself cannot be read."""
    for school_id in _schools(folder):
        for kind in kinds:
            for below in ((str(school_id), kind), (str(school_id), kind, DONE)):
                with suppress(OSError), _opened(folder, *below) as place:
                    names = [name for name in _names(place) if stat.S_ISREG(_status(place, name).st_mode)]
                    yield from (Path(folder, *below, name) for name in names)


def is_name(name: str) -> bool:
    """Whether a name is one of a table, without a folder, that a terminal can show."""
    return Path(name).name == name and name.isprintable() and _is_of_table(name)


def _schools(folder: Path) -> list[int]:
    """The schools that have a folder. An id has one spelling."""
    names = [path.name for path in folder.iterdir()]
    return sorted(int(name) for name in names if name.isdecimal() and name == str(int(name)))


def _files(folder: Path, school_id: int, kind: str, report: Callable[[str], None]) -> Iterator[Arrived]:
    place = folder / str(school_id) / kind
    try:
        with _opened(folder, str(school_id), kind) as descriptor:
            for name in filter(_is_of_table, _names(descriptor)):
                if not is_name(name):
                    report(f"{name!a} is left alone: its name cannot be shown, in {place}")
                    continue
                try:
                    status = _status(descriptor, name)
                except OSError as error:
                    report(f"{place / name} cannot be read: {error.strerror}")
                    continue
                if problem := _irregular(status):
                    report(f"{place / name} is left alone: {problem}")
                else:
                    yield _as_found(str(place / name), school_id, status)
    except FileNotFoundError:
        return
    except OSError as error:
        is_link = error.errno in (errno.ENOTDIR, errno.ELOOP)
        report(f"{place} cannot be read: {'it is a link, or no folder' if is_link else error.strerror}")


def _is_of_table(name: str) -> bool:
    """Whether a name ends like that of a table. Unfinished files begin with . or ~."""
    return Path(name).suffix.lower() in READERS and not name.startswith((".", "~"))


def _irregular(status: os.stat_result) -> str:
    """The reason not to read a file; empty: it is a regular file with one name."""
    if not stat.S_ISREG(status.st_mode):
        return "it is a link, or no regular file"
    # A hard link brings another school's file as well as a symbolic one does.
    return "it has a second name (a hard link)" if status.st_nlink > 1 else ""


@contextmanager
def _opened(folder: Path, *below: str) -> Iterator[int]:
    """A folder below this one, opened step by step; no link is followed. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in below:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _opened_below(place: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _names(place: int) -> list[str]:
    with os.scandir(place) as entries:
        return sorted(entry.name for entry in entries)


def _status(place: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=place, follow_symlinks=False)


def _as_found(path: str, school_id: int, status: os.stat_result) -> Arrived:
    return Arrived(path, school_id, status.st_size, status.st_mtime_ns, status.st_ino)
