"""Copies on this machine's disk of data files of a lake that is elsewhere, to be read.

A data file of Delta never changes under its name, so a copy is good for ever: an unchanged night fetches
nothing. It is written beside and then renamed, so that one that is torn is never taken for the file, whatever
ended the process or the machine.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import obstore
from obstore.store import ObjectStore

from warehouse.files import flush, locked
from warehouse.stores import told_plainly

#: Files that are fetched at a time, and how much of each by one request, which is held in memory.
AT_A_TIME, PIECE = 8, 8 << 20
#: Seconds for which whoever asked for a copy may be reading it: longer than any table takes to fill.
IN_USE = 3600.0
#: Bytes that the copies may have by default.
LIMIT = 20 << 30


@dataclass
class Copies:
    """Copies below `folder`, of `limit` bytes together or what is read at present; processes may share it."""

    folder: Path
    limit: int = LIMIT

    def __post_init__(self) -> None:
        # A part of the limit is fetched between two looks at all that there is; the first is at once.
        self._unseen = self.limit

    def fetched(self, store: ObjectStore, names: Sequence[str]) -> list[str]:
        """The paths of copies of objects (below the store's prefix), in their order. What is not here is
        fetched. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock"):
            missing = [name for name in dict.fromkeys(names) if not _touched(self.folder / name)]
        if missing:
            with told_plainly(), ThreadPoolExecutor(min(AT_A_TIME, len(missing))) as pool:
                self._unseen += sum(pool.map(partial(self._fetch, store), missing))
            if self._unseen > self.limit // 20:
                self._unseen = 0
                self._evict()
        return [str(self.folder / name) for name in names]

    def _fetch(self, store: ObjectStore, name: str) -> int:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{uuid.uuid4()}")
        try:
            first = obstore.get(store, name, options={"range": (0, PIECE)})
            size = first.meta["size"]
            with unfinished.open("wb") as file:
                file.write(first.bytes())
                for start in range(PIECE, size, PIECE):
                    file.write(obstore.get_range(store, name, start=start, length=min(PIECE, size - start)))
            if (came := unfinished.stat().st_size) != size:
                raise OSError(f"{name}: {came} of {size} bytes came. Run the same command again")
            # A power cut would keep the name and lose the bytes.
            flush(unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return size

    def _evict(self) -> None:
        """Delete what was not asked for the longest, down to the limit, and what a crash left."""
        with locked(self.folder / ".lock"):
            found = sorted(
                (state.st_mtime, state.st_size, path)
                for path in self.folder.rglob("*")
                if path.name != ".lock" and (state := _state(path)) is not None
            )
            total, free_before = sum(size for _, size, _ in found), time.time() - IN_USE
            for asked_at, size, path in found:
                if asked_at > free_before:
                    break
                if total > self.limit or path.name.startswith("."):
                    path.unlink()
                    total -= size


def _touched(path: Path) -> bool:
    """Whether there is a copy, which then counts as asked for now."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _state(path: Path) -> os.stat_result | None:
    """That of a file; None: it is a folder, or another process has just renamed or deleted it."""
    try:
        return path.stat() if path.is_file() else None
    except FileNotFoundError:
        return None
