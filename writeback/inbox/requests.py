"""Decides which of the files in the folder (folder.py) need a run.

A file is read after two looks in a row have seen it unchanged, since a file that is still being copied grows.
Only a school's newest roster counts. A roster or a file of marks that is older than the last one is never
read, since it would undo the newer file. A look reads only names, sizes and times. A run reads the file, and
skips content that was read before.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from writeback.inbox.folder import InboxFile
from writeback.kinds import ATTENDANCE, ROSTERS

#: Kinds of files that must be read in the order of their times.
ORDERED = (ROSTERS, ATTENDANCE)
#: The most deleted files that are remembered, since a share that is mounted again shows them again.
REMEMBERED = 2000
#: If a run fails for another reason than its file, the file is tried again: seconds between two attempts, and
#: seconds after which no further attempt follows.
AGAIN_AFTER, AGAIN_WITHIN = 600.0, 86_400.0


class Request(msgspec.Struct):
    """The runs that were requested for a file."""

    #: The stamp of the file at the first request.
    stamp: str
    #: A digest of the file's path.
    place: str
    #: The times of the first and the last request, in seconds since the epoch.
    first: float
    last: float
    #: The number of requests.
    times: int = 1
    #: Whether the file needs no further run.
    ended: bool = False

    @property
    def key(self) -> str:
        """The tag of the runs for the file."""
        return f"{self.place}-{self.stamp}-{self.first:.0f}"


class Memory(msgspec.Struct):
    """The memory of a sensor."""

    #: The stamps at the last look, by path.
    seen: dict[str, str] = msgspec.field(default_factory=dict)
    #: Requested runs, by path.
    requests: dict[str, Request] = msgspec.field(default_factory=dict)
    #: The time of the youngest file that a run was requested for, by school.
    youngest: dict[int, int] = msgspec.field(default_factory=dict)
    #: When old files were last removed, in seconds since the epoch.
    cleaned: float = 0.0


def memory_of(cursor: str | None) -> Memory:
    """Decode the memory from a cursor. An unreadable cursor is an empty memory."""
    if not cursor:
        return Memory()
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(cursor, type=Memory)
    return Memory()


def _place(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]


def cursor_of(memory: Memory) -> str:
    """Encode the memory as a cursor, without files that are long gone."""
    gone = sorted(memory.requests.keys() - memory.seen.keys(), key=lambda path: memory.requests[path].last)
    remembered = memory.requests.keys() - set(gone[:-REMEMBERED])
    requests = {path: memory.requests[path] for path in remembered}
    return msgspec.json.encode(Memory(memory.seen, requests, memory.youngest, memory.cleaned)).decode()


def to_read(
    kind: str,
    files: Iterable[InboxFile],
    memory: Memory,
    has_ended: Callable[[Request], bool | None],
    report: Callable[[str], None],
    now: float | None = None,
) -> list[InboxFile]:
    """The files to request a run for. Updates the memory.

    Args:
        has_ended: Returns whether the last run for a file has finished the file; None: the run still runs.
        report: Called with a message for each roster that is skipped."""
    at, files = time.time() if now is None else now, list(files)
    settled = [file for file in files if memory.seen.get(file.path) == file.stamp]
    due = []
    for file in _newest(settled, memory, report) if kind == ROSTERS else settled:
        request = memory.requests.get(file.path)
        if _is_late(kind, file, memory):
            continue
        if request is None or request.stamp != file.stamp:
            memory.requests[file.path] = Request(file.stamp, _place(file.path), at, at)
            due.append(file)
        elif _is_due_again(request, has_ended, at):
            request.last, request.times = at, request.times + 1
            due.append(file)
    for file in due:
        memory.youngest[file.school_id] = max(file.changed, memory.youngest.get(file.school_id, 0))
    memory.seen = {file.path: file.stamp for file in files}
    return due


def without_further_run(kind: str, files: Iterable[InboxFile], memory: Memory, now: float) -> dict[str, str]:
    """The stamps of the files that no run reads again, by path."""
    stamps = {}
    for file in files:
        request = memory.requests.get(file.path)
        is_over = request is not None and request.stamp == file.stamp and _is_over(request, now)
        if is_over or _is_late(kind, file, memory):
            stamps[file.path] = file.stamp
    return stamps


def _is_late(kind: str, file: InboxFile, memory: Memory) -> bool:
    return kind in ORDERED and file.changed < memory.youngest.get(file.school_id, 0)


def _is_over(request: Request, at: float) -> bool:
    return request.ended or at - request.first >= AGAIN_WITHIN


def _newest(
    settled: Iterable[InboxFile], memory: Memory, report: Callable[[str], None]
) -> Iterable[InboxFile]:
    """The newest file of each school. Older files that arrived with it are reported."""
    newest = {file.school_id: file for file in settled}
    for file in settled:
        younger = newest[file.school_id]
        if file is not younger and file.changed > memory.youngest.get(file.school_id, younger.changed):
            report(f"{file.path} is skipped: only a school's newest roster counts, {younger.path}")
    return newest.values()


def _is_due_again(request: Request, has_ended: Callable[[Request], bool | None], at: float) -> bool:
    if _is_over(request, at):
        return False
    ended = has_ended(request)
    request.ended = ended is True
    return ended is False and at - request.last >= AGAIN_AFTER
