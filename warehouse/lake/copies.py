"""Local copies of the data files of a lake in an object store.

A Delta data file never changes under its name, so a copy never expires, and an unchanged night fetches
nothing. A copy is written under another name and then renamed, so a crash leaves no torn copy.
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
from warehouse.stores import store_errors_as_os_errors

#: Files fetched at a time, and bytes fetched per request, which are held in memory.
AT_A_TIME, PIECE = 8, 8 << 20
#: Seconds for which a fetched copy may still be read: longer than filling any table takes.
IN_USE = 3600.0
#: Bytes of all copies by default.
LIMIT = 20 << 30


@dataclass
class Copies:
    """A cache of copies below `folder`, which processes may share.

    Copies beyond `limit` bytes are evicted, except those that may be in use."""

    folder: Path
    limit: int = LIMIT

    def __post_init__(self) -> None:
        # Bytes fetched since the last eviction; the full limit, so that the first fetch evicts.
        self._fetched_bytes = self.limit

    def fetched(self, store: ObjectStore, names: Sequence[str]) -> list[str]:
        """Local paths of objects (named below the store's prefix), in the order of `names`.

        Missing copies are fetched. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock"):
            missing = [name for name in dict.fromkeys(names) if not _touched(self.folder / name)]
        if missing:
            with store_errors_as_os_errors(), ThreadPoolExecutor(min(AT_A_TIME, len(missing))) as pool:
                self._fetched_bytes += sum(pool.map(partial(self._fetch, store), missing))
            if self._fetched_bytes > self.limit // 20:
                self._fetched_bytes = 0
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
            if (received := unfinished.stat().st_size) != size:
                raise OSError(f"{name}: received {received} of {size} bytes. Run the same command again")
            # Without the flush, a power cut could keep the name and lose the bytes.
            flush(unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return size

    def _evict(self) -> None:
        """Delete the least recently used copies beyond the limit, and unfinished files of crashes."""
        with locked(self.folder / ".lock"):
            files = sorted(
                (state.st_mtime, state.st_size, path)
                for path in self.folder.rglob("*")
                if path.name != ".lock" and (state := _state(path)) is not None
            )
            total, unused_before = sum(size for _, size, _ in files), time.time() - IN_USE
            for used_at, size, path in files:
                if used_at > unused_before:
                    break
                if total > self.limit or path.name.startswith("."):
                    path.unlink()
                    total -= size


def _touched(path: Path) -> bool:
    """Whether the copy exists; marks it as just used."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _state(path: Path) -> os.stat_result | None:
    """The stat of a file; None: it is a folder, or another process has just renamed or deleted it."""
    try:
        return path.stat() if path.is_file() else None
    except FileNotFoundError:
        return None
