"""Files that arrive in a folder, as FOLDER/<school id>/<rosters, attendance or swipes>/FILE: which are read.

A file is read once two looks have found the same of it: one that is still being copied grows. One with the
content that was read last is not read again, whatever its time. Of rosters only a school's newest counts. Of
rosters and marks none is read that is older than one that was read: it would undo what that one did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from loading.writes.roster.plan_file import digest
from loading.writes.table_file import READERS

ROSTERS, ATTENDANCE, SWIPES = "rosters", "attendance", "swipes"
#: Of these the order counts.
ORDERED = (ROSTERS, ATTENDANCE)
#: Files that are gone and still remembered: a share that goes and comes back shows them again.
REMEMBERED = 2000
#: Seconds after which a file is tried again whose run has failed for another reason than the file, and for
#: how long.
AGAIN_AFTER, AGAIN_WITHIN = 600.0, 86_400.0


class Arrived(msgspec.Struct, frozen=True):
    """A file as it was seen. `changed`: its time, in nanoseconds."""

    path: str
    school_id: int
    size: int
    changed: int

    @property
    def stamp(self) -> tuple[int, int]:
        """Another one makes it another file, as far as a look can tell."""
        return self.size, self.changed


class Asked(msgspec.Struct):
    """A file for which a run was asked for: its `content` then, and when, in seconds since the epoch, for the
    first and the last of so many times. `ended`: it needs no further run."""

    stamp: tuple[int, int]
    content: str
    first: float
    last: float
    times: int = 1
    ended: bool = False

    @property
    def key(self) -> str:
        """What the runs for it are known by."""
        return f"{self.content[:16]}-{self.first:.0f}"


class Memory(msgspec.Struct):
    """What a sensor remembers. `seen`: the stamps at its last look, by path; `asked`: by path; `youngest`:
    the time of the youngest file that was asked for, by school."""

    seen: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    asked: dict[str, Asked] = msgspec.field(default_factory=dict)
    youngest: dict[int, int] = msgspec.field(default_factory=dict)


def memory_of(cursor: str | None) -> Memory:
    """What a sensor has written down; nothing at first."""
    return msgspec.json.decode(cursor, type=Memory) if cursor else Memory()


def cursor_of(memory: Memory) -> str:
    """The same, to be written down, without files that are long gone."""
    gone = sorted(memory.asked.keys() - memory.seen.keys(), key=lambda path: memory.asked[path].last)
    kept = {path: memory.asked[path] for path in memory.asked.keys() - set(gone[:-REMEMBERED])}
    return msgspec.json.encode(Memory(memory.seen, kept, memory.youngest)).decode()


def arrived(
    folder: Path, kind: str, school_ids: Collection[int] | None, tell: Callable[[str], None]
) -> list[Arrived]:
    """The files of a kind in the folder, the oldest first. school_ids: the schools whose files count; None:
    all. tell: is told of what cannot be read; the rest is not held up by it.

    Raises OSError where the folder itself cannot be read."""
    found: list[Arrived] = []
    for school in sorted(folder.iterdir()):
        if school.name.isdecimal() and (school_ids is None or int(school.name) in school_ids):
            found += _files(school / kind, int(school.name), tell)
    return sorted(found, key=lambda one: (one.changed, one.path))


def _files(place: Path, school_id: int, tell: Callable[[str], None]) -> Iterator[Arrived]:
    try:
        files = sorted(place.iterdir()) if place.is_dir() else []
    except OSError as error:
        tell(f"{place} cannot be read: {error.strerror}")
        return
    for file in files:
        # Spreadsheet programs and copying ones begin the names of their own files so.
        if file.suffix.lower() not in READERS or file.name.startswith((".", "~")):
            continue
        try:
            stat = file.stat()
        except OSError as error:
            tell(f"{file} cannot be read: {error.strerror}")
        else:
            yield Arrived(str(file), school_id, stat.st_size, stat.st_mtime_ns)


def to_read(
    kind: str,
    found: Iterable[Arrived],
    memory: Memory,
    has_ended: Callable[[Asked], bool | None],
    tell: Callable[[str], None],
    now: float | None = None,
) -> list[Arrived]:
    """The files to ask a run for; the memory is brought up to date with that. has_ended: whether the last run
    for a file was enough for it; None: it goes on. tell: is told of files that are passed by."""
    at, found = time.time() if now is None else now, list(found)
    settled = [one for one in found if memory.seen.get(one.path) == one.stamp]
    due = []
    for one in _newest(settled, memory, tell) if kind == ROSTERS else settled:
        late = kind in ORDERED and one.changed < memory.youngest.get(one.school_id, 0)
        asked = memory.asked.get(one.path)
        if asked is not None and asked.stamp == one.stamp:
            if not late and _is_due_again(asked, has_ended, at):
                asked.last, asked.times = at, asked.times + 1
                due.append(one)
        elif not late and _is_new(one, memory, at):
            due.append(one)
    for one in due:
        memory.youngest[one.school_id] = max(one.changed, memory.youngest.get(one.school_id, 0))
    memory.seen = {one.path: one.stamp for one in found}
    return due


def _newest(settled: Iterable[Arrived], memory: Memory, tell: Callable[[str], None]) -> Iterable[Arrived]:
    """The newest file of each school. tell: is told of those that came with it and are passed by."""
    newest = {one.school_id: one for one in settled}
    for one in settled:
        younger = newest[one.school_id]
        if one is not younger and one.changed > memory.youngest.get(one.school_id, younger.changed):
            tell(f"{one.path} is passed by: of a school's rosters only the newest counts, {younger.path}")
    return newest.values()


def _is_new(one: Arrived, memory: Memory, at: float) -> bool:
    """Whether the content is another one than what was read of this path; it is asked for then."""
    before = memory.asked.get(one.path)
    content = content_of(Path(one.path))
    if before is not None and before.content == content:
        before.stamp = one.stamp
        return False
    memory.asked[one.path] = Asked(one.stamp, content, at, at)
    return True


def _is_due_again(asked: Asked, has_ended: Callable[[Asked], bool | None], at: float) -> bool:
    if asked.ended or at - asked.first >= AGAIN_WITHIN:
        return False
    ended = has_ended(asked)
    asked.ended = ended is True
    return ended is False and at - asked.last >= AGAIN_AFTER


def content_of(file: Path) -> str:
    """What a file's content is known by; empty where it cannot be read."""
    try:
        return digest(file.read_bytes())
    except OSError:
        return ""
