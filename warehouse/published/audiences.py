"""Audiences and their files: campus.duckdb without the columns that an audience must not see."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: The folder of the home for audiences without a folder elsewhere.
FOLDER = "audiences"
FILE = "campus.duckdb"
GENERATIONS = "generations"


@dataclass(frozen=True)
class Audience:
    """A group of readers with a published file of their own."""

    name: str
    #: The folder of the file and its generations.
    folder: Path
    #: The schemas in the file; None: everything, as campus.duckdb has it.
    schemas: tuple[str, ...] | None = None
    #: The privacy classes of columns that are left out. Unless it is empty, columns without a class and
    #: columns that may hold anything are left out too.
    without: frozenset[str] = frozenset()
    #: The system group that may read the file; None: the group of the publishing user.
    group: str | None = None

    @property
    def file(self) -> Path:
        """The published file."""
        return self.folder / FILE

    @property
    def definition(self) -> str:
        """The schemas of the file and the classes left out, as the file itself records them."""
        schemas = "all" if self.schemas is None else ", ".join(sorted(self.schemas))
        return f"schemas: {schemas}; without: {', '.join(sorted(self.without)) or 'nothing'}"

    @property
    def generations(self) -> list[Path]:
        """The files that are kept, the latest first."""
        return sorted((self.folder / GENERATIONS).glob("*.duckdb"), reverse=True)


def audience_files(home: Path, audiences: Iterable[Audience]) -> Iterator[Path]:
    """All files of `audiences`, and files in the home of audiences that the settings no longer name."""
    folders = {audience.folder for audience in audiences}
    folders |= {folder for folder in (home / FOLDER).glob("*") if folder.is_dir()}
    for folder in sorted(folders):
        yield from sorted({*folder.glob(FILE), *(folder / GENERATIONS).glob("*.duckdb")})


def group_problem(home: Path, audience: Audience) -> str | None:
    """Why the group of an audience cannot read its file; None: nothing is wrong."""
    if audience.group is None:
        return None
    who = f"audience {audience.name}"
    try:
        group = grp.getgrnam(audience.group).gr_gid
    except KeyError:
        return f"{who}: there is no group {audience.group} on this machine: make it (groupadd)"
    if os.geteuid() != 0 and group not in {os.getegid(), *os.getgroups()}:
        return (
            f"{who}: the user that runs campus is not in the group {audience.group}, and cannot give files "
            "to it: add that user to the group (usermod -aG), then log in again or restart the services"
        )
    if home in audience.folder.parents and not _lets_in(home, group):
        return (
            f"{who}: the group {audience.group} cannot enter {home}: name a folder elsewhere in "
            f"publish.audiences.{audience.name}.to"
        )
    return None


def _lets_in(folder: Path, group: int) -> bool:
    """Whether members of a group can pass through a folder."""
    status = folder.stat()
    return bool(status.st_mode & stat.S_IXOTH or (status.st_gid == group and status.st_mode & stat.S_IXGRP))
