"""The account of a `campus forget`: the changes by place, and the findings of the final search. It has no
personal data."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import msgspec

#: Below the home: accounts, and requests without a proof.
FOLDER, UNPROVEN = "forgotten", "forgetting"
#: In UNPROVEN: the home was restored from a backup, and the list is not applied yet.
RESTORED = "restored"
#: The kinds of requests about no single person: a school, and everybody of a school who is on the list.
SCHOOL, SEVERAL = "school", "several"


class StoreChange(msgspec.Struct, frozen=True):
    """The changes in one place."""

    name: str
    #: Changed rows.
    rows: int = 0
    #: Removed rows.
    removed: int = 0
    #: Rewritten or deleted files.
    files: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether anything changed."""
        return bool(self.rows or self.removed or self.files)

    @property
    def words(self) -> str:
        """The changes in a line."""
        parts = ((self.rows, "row", " changed"), (self.removed, "row", " removed"), (self.files, "file", ""))
        changes = [f"{count:,} {noun}{'s' * (count != 1)}{what}" for count, noun, what in parts if count]
        return f"{self.name}: {', '.join(changes) or 'nothing'}"


class Account(msgspec.Struct):
    """The record of a request, as written to the home."""

    #: The request, in words.
    what: str
    school_id: int
    #: China time.
    at: str
    dry_run: bool
    #: Persons, guardians included.
    accounts: int = 0
    stores: list[StoreChange] = []
    #: Places that may keep data, and what to do about them.
    left: list[str] = []
    searched_files: int = 0
    searched_tables: int = 0
    searched_bytes: int = 0
    #: What the search found.
    findings: list[str] = msgspec.field(name="found", default_factory=list)
    #: Files that the search could not open.
    unread: list[str] = []

    @property
    def is_proven(self) -> bool:
        """Whether the search read every file and found nothing."""
        return not self.findings and not self.unread

    def write(self, home: Path) -> Path:
        """Write the account as JSON below `home`/forgotten, under the first free number of the day."""
        folder = home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(self), indent=2)
        for number in range(1, 100_000):
            path = folder / f"{date.today()}-{number}.json"
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            return path
        raise OSError(f"{folder} has no free name left")


def unproven(home: Path) -> list[str]:
    """A line for each unfinished `campus forget` or restore, with what to do."""
    folder = home / UNPROVEN
    lines = []
    for path in sorted(folder.glob("*-*-*.json")):
        school_id, kind, _ = path.stem.split("-", 2)
        if kind == SEVERAL:
            lines.append(
                f"This home still has people of school {school_id} who are on the list of the forgotten: run "
                f"campus forget --again."
            )
        else:
            who = f"school {school_id}" if kind == SCHOOL else f"a {kind} of school {school_id}"
            lines.append(
                f"A campus forget of {who} has not come to its end: run the same command again. Until then a "
                f"file in {folder} names the persons."
            )
    if (folder / RESTORED).exists():
        lines.append(
            "This home was restored from a backup, which may name people who were forgotten since: run "
            "campus forget --again."
        )
    return lines
