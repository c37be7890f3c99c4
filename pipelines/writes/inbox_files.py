"""The folder in which files arrive, as FOLDER/<school id>/<rosters, attendance or swipes>/FILE.

Others write into it. Each folder and file is opened below the one before, and no link is followed: a file is
always of the school and kind that its place says. What is no regular file is left alone. A file that needs
nothing more is moved to the folder `done` beside it, and removed from there after some days.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from loading.writes.table_file import READERS, FileContent, TableError, content_of

#: The folder of files that need nothing more.
DONE = "done"
DAY = 86_400.0


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


def arrived(
    folder: Path, kind: str, school_ids: Collection[int] | None, report: Callable[[str], None]
) -> list[Arrived]:
    """The files of a kind in the folder, the oldest first; nothing is read of them. school_ids: the schools
    whose files count; None: all. report: takes a line for what is left alone.

    Raises OSError where the folder itself cannot be read."""
    files: list[Arrived] = []
    for school in sorted(path.name for path in folder.iterdir()):
        if school.isdecimal() and (school_ids is None or int(school) in school_ids):
            files += _files(folder, school, kind, report)
    return sorted(files, key=lambda file: (file.changed, file.path))


def read_arrived(folder: Path, kind: str, school_id: int, name: str) -> tuple[FileContent, Arrived]:
    """The content of a file that has arrived, and the file as it was when it was opened.

    Raises TableError where there is no such regular file, or it is too long."""
    path = folder / str(school_id) / kind / name
    if not _is_name(name):
        raise TableError(f"{name!r} is not the name of a file in {path.parent}")
    try:
        with _opened(folder, str(school_id), kind) as place:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        file = _as_found(str(path), school_id, os.fstat(descriptor))
        return content_of(descriptor, path), file
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from None


def move_to_done(folder: Path, kind: str, file: Arrived) -> None:
    """Move a file that needs nothing more, and none that has come in its place meanwhile.

    Raises OSError, as where the folder can only be read."""
    with _opened(folder, str(file.school_id), kind) as place, suppress(FileNotFoundError):
        if _as_found(file.path, file.school_id, _status(place, file.name)) != file:
            return
        with suppress(FileExistsError):
            os.mkdir(DONE, 0o750, dir_fd=place)
        with _opened_below(place, DONE) as done:
            name = file.name if file.name not in _names(done) else f"{time.time_ns()}-{file.name}"
            os.rename(file.name, name, src_dir_fd=place, dst_dir_fd=done)


def remove_done(folder: Path, kind: str, days: float) -> None:
    """Remove files that were moved to `done` so many days ago: they are about children.

    Raises OSError where the folder itself cannot be read."""
    for school in folder.iterdir():
        with suppress(OSError), _opened(folder, school.name, kind, DONE) as done:
            for name in _names(done):
                # A move changes the time of the inode, and not that of the content.
                if _status(done, name).st_ctime < time.time() - days * DAY:
                    os.unlink(name, dir_fd=done)


def _files(folder: Path, school: str, kind: str, report: Callable[[str], None]) -> Iterator[Arrived]:
    place = folder / school / kind
    try:
        with _opened(folder, school, kind) as descriptor:
            for name in _names(descriptor):
                if not _is_name(name):
                    continue
                try:
                    status = _status(descriptor, name)
                except OSError as error:
                    report(f"{place / name} cannot be read: {error.strerror}")
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield _as_found(str(place / name), int(school), status)
                else:
                    report(f"{place / name} is left alone: it is a link, or no regular file")
    except FileNotFoundError:
        return
    except OSError as error:
        report(f"{place} cannot be read: {error.strerror}")


def _is_name(name: str) -> bool:
    """Whether a name is that of a table. Programs begin those of files that they are writing with . or ~."""
    return (
        Path(name).name == name
        and Path(name).suffix.lower() in READERS
        and not name.startswith((".", "~"))
        and name.isprintable()
    )


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
