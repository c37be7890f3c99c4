"""The doctor's findings about who else can read or replace the files of a home."""

import grp
import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.cli.doctor.findings import Finding
from pipelines.settings.settings import Settings
from warehouse.files import UMASK
from warehouse.published.audiences import group_problem


@dataclass
class OpenFiles:
    """The files and folders below a folder that others can read or the group can write."""

    #: How many there are.
    count: int = 0
    #: The uppermost of them.
    example: Path | None = None

    def look_at(self, path: Path, mode: int) -> None:
        """Count a file or folder whose mode is too wide."""
        if mode & UMASK:
            self.count += 1
            self.example = self.example or path


def examine_files(settings: Settings) -> Iterator[Finding]:
    """Whether others can read the data or the settings, or can replace the home."""
    folders = [folder for folder in _folders(settings) if folder.exists()]
    findings = [
        *(finding for folder in folders for finding in _examine_folder(folder)),
        *(finding for file in settings.read_from for finding in _examine_dotenv(file)),
        *_examine_parents(settings.home),
    ]
    if settings.home.exists():
        closed = Finding(True, f"Nobody but its owner and group can read {settings.home}.")
    else:
        closed = Finding(None, f"{settings.home} does not exist yet: campus sync makes it.")
    yield from findings or [closed]
    yield from _examine_audiences(settings)


def _folders(settings: Settings) -> list[Path]:
    """The folders that campus writes to; no folder is inside another."""
    elsewhere = [
        settings.lake_folder,
        Path(os.environ.get("DAGSTER_HOME", settings.home / "dagster")),
        # A link may lead elsewhere.
        settings.home / "exports",
        None if settings.shards is None or settings.shards.is_remote else Path(settings.shards.root),
    ]
    resolved = [settings.home, *(path.resolve() for path in elsewhere if path is not None)]
    return [
        path
        for path in dict.fromkeys(resolved)
        if not any(path != other and path.is_relative_to(other) for other in resolved)
    ]


def _examine_folder(folder: Path) -> Iterator[Finding]:
    open_files = OpenFiles()
    open_files.look_at(folder, folder.stat().st_mode)
    for path, mode in _modes_below(folder):
        open_files.look_at(path, mode)
    if open_files.count:
        others = "" if open_files.count == 1 else f" and {open_files.count - 1:,} more"
        yield Finding(
            False,
            f"Others can read or the group can write {open_files.example}{others}, which may hold data about "
            f"children: chmod -R g-w,o-rwx {shlex.quote(str(folder))}",
        )


def _modes_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Each file and folder below a folder, and its mode, without links, which have no mode of their own, and
    without files that a load deletes meanwhile."""
    folders = [folder]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except (FileNotFoundError, PermissionError):
            # A folder that its owner cannot list is closed to others, or its own mode is reported.
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISLNK(status.st_mode):
                continue
            yield Path(entry.path), status.st_mode
            if stat.S_ISDIR(status.st_mode):
                folders.append(Path(entry.path))


def _examine_dotenv(file: Path) -> Iterator[Finding]:
    """Whether others can read a .env. A .env of root that the group of the service can read is no problem."""
    status, quoted = file.stat(), shlex.quote(str(file))
    if status.st_mode & stat.S_IRWXO:
        yield Finding(False, f"Others can read {file}, which is for secrets: chmod 600 {quoted}")
    elif status.st_mode & stat.S_IRGRP and status.st_uid == os.geteuid():
        yield Finding(
            None,
            f"The group {_group(status.st_gid)} can read {file}, which is for secrets: chmod 600 {quoted}",
        )


def _examine_parents(home: Path) -> Iterator[Finding]:
    for folder in home.parents:
        mode = folder.stat().st_mode if folder.exists() else 0
        # In a sticky folder, such as /tmp, only the owner replaces what is there.
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            mend = f"chmod o-w {shlex.quote(str(folder))}"
            yield Finding(False, f"Everybody can replace {home}, as {folder} is open to all: {mend}")


def _group(group_id: int) -> str:
    try:
        return grp.getgrgid(group_id).gr_name
    except KeyError:
        return str(group_id)


def _examine_audiences(settings: Settings) -> Iterator[Finding]:
    """Whether the group of each audience can read its file."""
    for audience in settings.audiences:
        problem = group_problem(settings.home, audience)
        yield Finding(problem is None, problem or f"Audience {audience.name} reads {audience.file}.")
