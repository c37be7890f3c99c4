"""The account of a `campus forget`: what was changed where, and what the search at its end found. Nothing
personal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec

#: Below the home: accounts, and requests that are not proven to be carried out.
FOLDER, UNPROVEN = "forgotten", "forgetting"


class Store(msgspec.Struct, frozen=True):
    """What became of one place. `rows`: changed; `removed`: rows that are gone; `files`: written anew or
    deleted."""

    name: str
    rows: int = 0
    removed: int = 0
    files: int = 0

    @property
    def words(self) -> str:
        """What became of it, in a line."""
        parts = ((self.rows, "rows changed"), (self.removed, "rows removed"), (self.files, "files"))
        return f"{self.name}: " + (
            ", ".join(f"{count:,} {what}" for count, what in parts if count) or "nothing"
        )


@dataclass
class Account:
    """What was done. `what`: what was forgotten, in words; `accounts`: persons, with guardians; `at`: China
    time. `left`: where something may stay, and what to do; `found`: what the search found; `unread`: files
    that it could not open."""

    what: str
    school_id: int
    at: str
    dry_run: bool
    accounts: int = 0
    stores: list[Store] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    searched_files: int = 0
    searched_tables: int = 0
    searched_bytes: int = 0
    found: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Whether every file was searched and none says anything of what was forgotten."""
        return not self.found and not self.unread

    def add(self, store: Store) -> Store:
        """Note what became of a place."""
        self.stores.append(store)
        return store

    def write(self, home: Path) -> Path:
        """Write the account as JSON below `home`/forgotten, under the first free number of the day."""
        folder = home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(self), indent=2)
        for path in _free_names(folder):
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            return path
        raise OSError(f"{folder} has no free name left")


def _free_names(folder: Path) -> Iterator[Path]:
    yield from (folder / f"{date.today()}-{number}.json" for number in range(1, 100_000))


def unproven(home: Path) -> list[tuple[int, str]]:
    """School and kind of each request that was begun and not proven to be carried out."""
    names = (path.stem.split("-") for path in sorted((home / UNPROVEN).glob("*-*-*.json")))
    return [(int(school), kind) for school, kind, _ in names]
