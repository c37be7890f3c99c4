"""The store of a home: one SQLite file with journal, outbox, unfinished lessons and notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from warehouse.durable import durable
from warehouse.files import locked
from warehouse.lake.delta import Lake
from writeback.store import journal, notes, outbox, unfinished_lessons
from writeback.store.location import LOCK, store_path

SCHEMA = journal.SCHEMA + outbox.SCHEMA + unfinished_lessons.SCHEMA + notes.SCHEMA


class Store:
    """The store of a home's writes, for one thread at a time. Methods raise sqlite3.Error if they fail."""

    def __init__(self, home: Path) -> None:
        self._connection = durable(store_path(home), SCHEMA)
        self.journal = journal.Journal(self._connection)
        self.outbox = outbox.Outbox(self._connection)
        self.notes = notes.Notes(self._connection)
        self.lessons = unfinished_lessons.UnfinishedLessons(self._connection)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


@contextmanager
def open_journal(home: Path, lake: Lake) -> Iterator[journal.Journal]:
    """The journal of a home, for one process at a time: other processes wait. All writes that have ended
    are in the lake after the block, however the block ends."""
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / LOCK), Store(home) as store:
        store.journal.file(lake)
        try:
            yield store.journal
        finally:
            store.journal.file(lake)


def file_leftover(home: Path, lake: Lake) -> None:
    """Move what a killed process left in the journal into the lake. A process that writes now files its own
    writes when it ends, and is not waited for."""
    if store_path(home).exists():
        with suppress(BlockingIOError), locked(home / LOCK, wait=False), Store(home) as store:
            store.journal.file(lake)
