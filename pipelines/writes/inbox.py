"""Files that arrive in a folder, as FOLDER/<school id>/<rosters, attendance or swipes>/FILE: which are read.

A file is read once it was seen twice with the same size and time: one that is still being copied grows. Of a
school's rosters only the newest is ever read, since an older one would undo what it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from loading.writes.table_file import READERS

ROSTERS, ATTENDANCE, SWIPES = "rosters", "attendance", "swipes"
#: Files that are remembered: a share that goes and comes back shows them again.
REMEMBERED = 2000
#: Seconds after which a file is tried again whose run could ask nothing of the platform, and for how long.
AGAIN_AFTER, AGAIN_WITHIN = 600.0, 86_400.0


class Arrived(msgspec.Struct, frozen=True):
    """A file as it was seen. `changed`: its time, in nanoseconds."""

    path: str
    school_id: int
    size: int
    changed: int

    @property
    def key(self) -> str:
        """What it is known by: another content makes it another file."""
        return f"{self.path}|{self.size}|{self.changed}"


class Asked(msgspec.Struct):
    """When a run was asked for a file, in seconds since the epoch, for the last time of `times`; `first`: for
    the first one."""

    first: float
    last: float
    times: int = 1


class Memory(msgspec.Struct):
    """What a sensor remembers. `seen`: keys of files at its last look; `asked`: by key."""

    seen: set[str] = msgspec.field(default_factory=set)
    asked: dict[str, Asked] = msgspec.field(default_factory=dict)


def memory_of(cursor: str | None) -> Memory:
    """What a sensor has written down; nothing at first."""
    return msgspec.json.decode(cursor, type=Memory) if cursor else Memory()


def cursor_of(memory: Memory) -> str:
    """The same, to be written down: the files that were asked for last."""
    latest = sorted(memory.asked.items(), key=lambda entry: entry[1].last)[-REMEMBERED:]
    return msgspec.json.encode(Memory(memory.seen, dict(latest))).decode()


def arrived(folder: Path, kind: str, school_ids: Collection[int] | None) -> list[Arrived]:
    """The files of a kind in the folder, the oldest first. school_ids: the schools whose files count; None:
    all.

    Raises OSError where the folder cannot be read."""
    found = sorted(_files(folder, kind, school_ids), key=lambda one: (one.changed, one.path))
    if kind != ROSTERS:
        return found
    return list({one.school_id: one for one in found}.values())


def _files(folder: Path, kind: str, school_ids: Collection[int] | None) -> Iterator[Arrived]:
    for school in sorted(folder.iterdir()):
        wanted = school.name.isdecimal() and (school_ids is None or int(school.name) in school_ids)
        place = school / kind
        for file in sorted(place.iterdir()) if wanted and place.is_dir() else ():
            # Spreadsheet programs and copying ones begin the names of their own files so.
            if file.suffix.lower() in READERS and not file.name.startswith((".", "~")):
                stat = file.stat()
                yield Arrived(str(file), int(school.name), stat.st_size, stat.st_mtime_ns)


def to_read(
    found: Iterable[Arrived], memory: Memory, wants_again: Callable[[Arrived], bool], now: float | None = None
) -> list[Arrived]:
    """The files to ask a run for; the memory is brought up to date with that. wants_again: whether the last
    run for a file could ask nothing of the platform."""
    at, found = time.time() if now is None else now, list(found)
    due = [one for one in found if one.key in memory.seen and _is_due(one, memory, wants_again, at)]
    for one in due:
        before = memory.asked.get(one.key)
        memory.asked[one.key] = Asked(before.first, at, before.times + 1) if before else Asked(at, at)
    memory.seen = {one.key for one in found}
    return due


def _is_due(one: Arrived, memory: Memory, wants_again: Callable[[Arrived], bool], at: float) -> bool:
    asked = memory.asked.get(one.key)
    if asked is None:
        return True
    is_time = at - asked.last >= AGAIN_AFTER and at - asked.first < AGAIN_WITHIN
    return is_time and wants_again(one)
