"""The folders of sites: names, roles of readers, and the note of what a nightly export has written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from warehouse.files import write_text

#: The name of the export of pages.
SITE = "site"
#: The name of the export of workbooks beside the pages.
WORKBOOK = "workbook"
#: `class-teacher`: head and deputy teachers of administrative classes. `teacher`: teachers of course classes.
Role = Literal["head", "class-teacher", "teacher"]

NOTE = "nightly.json"
#: In the counts of a role: its readers, and its new and changed files. The other counts are pages.
READERS, WRITTEN = "readers", "written"


@dataclass(frozen=True)
class Note:
    """What was written."""

    #: The data, options and version that the pages are made of. Empty: the export has not finished.
    made_of: str
    #: The counts of `write_role` by role.
    roles: Mapping[str, Mapping[str, int]]


def pages_in(counts: Mapping[str, int]) -> int:
    """The pages among the counts of a role."""
    return sum(count for kind, count in counts.items() if kind not in (READERS, WRITTEN))


def site_folder(exports: Path, school_id: int) -> Path:
    """The folder of a school's site."""
    return exports / f"{SITE}_{school_id}"


def read_note(folder: Path) -> Note:
    """The note in a school's folder. A missing or damaged note is empty."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return Note(str(note["made_of"]), dict(note["roles"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Note("", {})


def write_note(folder: Path, note: Note) -> None:
    """Write the note into a school's folder, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / NOTE, json.dumps(asdict(note)))


def delete_removed_roles(exports: Path, roles: Collection[str]) -> None:
    """Delete the folders that nightly exports have written for other roles than these."""
    for path in exports.glob(f"{SITE}_*/{NOTE}"):
        folder, note = path.parent, read_note(path.parent)
        removed = note.roles.keys() - set(roles)
        for role in removed:
            shutil.rmtree(folder / role, ignore_errors=True)
        if removed:
            write_note(
                folder, Note(note.made_of, {role: note.roles[role] for role in note.roles if role in roles})
            )
