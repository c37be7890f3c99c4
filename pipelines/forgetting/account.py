"""The account of a `campus forget`: what changed where, and what the search at its end found. It has nothing
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
#: Among the latter: the home was made of a backup, and the list has not been applied to it.
RESTORED = "restored"
#: The kinds of requests that are about no single person: a school, and all of a school who are on the list.
SCHOOL, SEVERAL = "school", "several"


class Store(msgspec.Struct, frozen=True):
    """What changed in one place."""

    name: str
    #: Rows that are others than before.
    rows: int = 0
    #: Rows that are gone.
    removed: int = 0
    #: Files that were written anew or deleted.
    files: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether anything changed there."""
        return bool(self.rows or self.removed or self.files)

    @property
    def words(self) -> str:
        """What changed there, in a line."""
        parts = ((self.rows, "row", " changed"), (self.removed, "row", " removed"), (self.files, "file", ""))
        changes = [f"{count:,} {noun}{'s' * (count != 1)}{what}" for count, noun, what in parts if count]
        return f"{self.name}: {', '.join(changes) or 'nothing'}"


@dataclass
class Account:
    """What was done."""

    #: What was forgotten, in words.
    what: str
    school_id: int
    #: China time.
    at: str
    dry_run: bool
    #: Persons, guardians included.
    accounts: int = 0
    stores: list[Store] = field(default_factory=list)
    #: Where something may stay, and what to do about it.
    left: list[str] = field(default_factory=list)
    searched_files: int = 0
    searched_tables: int = 0
    searched_bytes: int = 0
    #: What the search found.
    found: list[str] = field(default_factory=list)
    #: Files that the search could not open.
    unread: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Whether every file was searched and none says anything of what was forgotten."""
        return not self.found and not self.unread

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


def unproven(home: Path) -> list[str]:
    """What a `campus forget`, or a restore, has begun and not brought to its end: a line each, with what to
    do."""
    folder = home / UNPROVEN
    lines = []
    for path in sorted(folder.glob("*-*-*.json")):
        school_id, kind, _ = path.stem.split("-", 2)
        if kind == SEVERAL:
            lines.append(
                f"Not everybody of school {school_id} who is on the list of the forgotten is out of this "
                f"home yet: run campus forget --again."
            )
        else:
            who = f"school {school_id}" if kind == SCHOOL else f"a {kind} of school {school_id}"
            lines.append(
                f"A campus forget of {who} has not come to its end: run the same command again. {folder} has "
                f"a file with whom it is about until then."
            )
    if (folder / RESTORED).exists():
        lines.append(
            "This home was restored from a backup, which may name people who were forgotten since: run "
            "campus forget --again."
        )
    return lines
