"""Backs up a home consistently, and restores a home from a backup.

Nobody loads or builds during a backup, so the logs match the lake. Other processes may still write SQLite
files, which are copied by SQLite's own backup. A backup is complete or not there. Files that are unchanged
since the last backup are hard links to it."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import dagster as dg
import msgspec
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipelines.forgetting.account import RESTORED, UNPROVEN
from pipelines.lake.identity import NAME as LAKE_ID
from pipelines.lake.identity import check_lake
from pipelines.lake.opening import lake_without_check
from pipelines.runs.instance import dagster_home, open_instance
from pipelines.runs.interrupted_runs import UNFINISHED as UNFINISHED_RUNS
from pipelines.runs.interrupted_runs import closed_run
from pipelines.runs.storage_failures import full_disk, is_full
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings
from warehouse.files import SEE_PATH, UMASK, UNFINISHED, is_open, no_folder_above, workspace
from warehouse.forgetting.forgotten import NAME as LIST
from warehouse.forgetting.forgotten import Forgotten, change, merged, read, read_file, write_file
from warehouse.lake.delta import relative_files

#: Entries of a home that are not backed up: caches, files of one machine's processes or disk, and secrets.
LEFT_OUT = {
    *("audiences", "build", "cache", "exports", "forgetting", "generations", "scratch", "trials"),
    "writers",
    *("lost+found", ".env"),
}
#: Entries that may be in a home before it is restored. They stay.
OPERATORS = {".env", "campus.yaml", "inputs", "thresholds", "dagster", "lost+found"}
DAGSTER = "dagster"
#: The folder of the lake in a backup.
LAKE = Path("lake")
SQLITE = {".db", ".sqlite"}
#: Files that SQLite has beside an open file; its backup includes their content.
BESIDE_SQLITE = ("-wal", "-shm", "-journal")
UNDER_WAY = "it was under way when the backup of this home was made"


class BackupError(Exception):
    """A backup cannot be made or restored; the message says what to do."""


@dataclass(frozen=True)
class Backup:
    """A backup of a home."""

    path: Path
    #: The number of files, and how many of them are links to the last backup.
    files: int
    linked: int
    bytes: int
    #: The number of tables of the lake.
    tables: int
    #: A sentence for each run that was under way, and that a restore has closed.
    closed: tuple[str, ...] = ()


def check_folder(folder: Path, *, first: bool) -> None:
    """Check the folder of backups: an empty folder may be a disk that is not mounted, and a missing folder
    may be mistyped. `first`: expect no backup there.

    Raises BackupError."""
    if first:
        if problem := no_folder_above(folder):
            raise BackupError(problem)
    elif not folder.exists():
        raise BackupError(
            f"{folder} does not exist. {SEE_PATH}. For a first backup give --first, which makes the folder"
        )
    elif not backups(folder):
        raise BackupError(f"{folder} holds no backup. {SEE_PATH}. For a first backup there give --first")


def back_up(settings: Settings, folder: Path, keep: int) -> Backup:
    """Copy the home into a new folder below `folder`, and keep the last `keep` backups. The caller must be
    the only writer of the home.

    Raises BackupError, OSError."""
    folder = folder.expanduser().resolve()
    if folder.is_relative_to(settings.home):
        raise BackupError(f"{folder} is inside CAMPUS_HOME: name a folder elsewhere, best on another disk")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    last = next(iter(backups(folder)), None)
    with workspace(folder) as scratch:
        copy, linked, size, files = scratch / "home", 0, 0, 0
        # For the owner alone, even if others can read the folder.
        copy.mkdir(mode=0o700)
        for source, name in _files_of(settings):
            try:
                is_linked = _copy(source, copy / name, last / name if last else None)
            except FileNotFoundError:
                # A notice or the UI replaced the file meanwhile. Missing files of tables are found below.
                continue
            except (OSError, sqlite3.Error) as error:
                if is_full(str(error)):
                    # The disk of the backups is full, not the home's.
                    raise BackupError(full_disk(folder)) from error
                raise
            files, linked = files + 1, linked + is_linked
            size += (copy / name).stat().st_size
        # A lake in an object store is not copied, but each backup has the folder: `backups` looks for it.
        (copy / LAKE).mkdir(exist_ok=True)
        tables = _check_tables(copy / LAKE)
        os.sync()
        target = folder / f"{datetime.now():%Y%m%dT%H%M%S.%f}"
        copy.rename(target)
        for old in backups(folder)[keep:]:
            # Moved first, so that a half-deleted backup is never taken for a backup.
            old.rename(scratch / old.name)
    return Backup(target, files, linked, size, tables)


def backups(folder: Path) -> list[Path]:
    """The backups in a folder, the latest first."""
    return sorted((path.parent for path in folder.glob("[0-9]*T[0-9]*/lake")), reverse=True)


def restore(settings: Settings, backup: Path, forgotten: Sequence[Path] = ()) -> Backup:
    """Restore the home, which must be empty, from a backup, or from the latest in a folder of backups.

    The new list of the forgotten merges the lists of the backup, of all backups beside it, of a lake in an
    object store and of the files `forgotten`. Raises BackupError, OSError, and SettingsError where the lake
    is not the district's."""
    if settings.lake is not None:
        check_lake(settings, lake_without_check(settings))
    folder = backup
    backup = next(iter(backups(backup)), backup).resolve()
    if not backup.exists():
        raise BackupError(f"{backup} does not exist. {SEE_PATH}")
    if not (backup / LAKE).is_dir():
        raise BackupError(
            f"{backup} is no backup and has no backups: name the folder that campus backup wrote to"
        )
    home, dagster = settings.home, Path(os.environ.get("DAGSTER_HOME", settings.home / DAGSTER))
    existing = {path.name for path in home.iterdir()} - OPERATORS if home.exists() else set()
    # `workspace` deletes the rest of a restore that was killed.
    existing = {name for name in existing if not name.startswith(UNFINISHED)}
    if _is_empty(home / LAKE):
        existing -= {LAKE.name}
    if existing or (dagster / "history").exists():
        raise BackupError(
            f"{home} holds a warehouse already ({', '.join(sorted(existing)) or dagster}): move it away, or "
            "name another CAMPUS_HOME"
        )
    tables = _check_tables(backup / LAKE)
    lake = _lake_to_restore(settings, backup, tables)
    lists = _forgotten_lists(backup, folder, forgotten)
    size = files = 0
    home.mkdir(parents=True, exist_ok=True)
    with workspace(home) as scratch:
        for source in _files_below(backup):
            name = source.relative_to(backup)
            if name == LAKE / LAKE_ID:
                # The original lake may still exist, and two lakes must not share an id.
                continue
            _copy(source, scratch / name, None)
            files, size = files + 1, size + source.stat().st_size
        _apply_lists(settings, scratch, merged(lists))
        os.sync()
        for entry in sorted(scratch.iterdir()):
            if entry.name == DAGSTER:
                shutil.copytree(entry, dagster, dirs_exist_ok=True)
            elif entry.name == LAKE.name and lake is not None:
                shutil.copytree(entry, lake, dirs_exist_ok=True)
            elif entry.name == LAKE.name and (home / LAKE / LAKE_ID).exists():
                (home / LAKE / LAKE_ID).rename(entry / LAKE_ID)
                (home / LAKE).rmdir()
                entry.rename(home / LAKE)
            elif not (home / entry.name).exists():
                entry.rename(home / entry.name)
    return Backup(backup, files, 0, size, tables, _close_runs(settings, dagster))


def _forgotten_lists(backup: Path, folder: Path, files: Sequence[Path]) -> list[Forgotten]:
    """The lists of the forgotten of a backup, its siblings and some files. Raises BackupError."""
    siblings = {path.resolve() for parent in (folder, backup.parent) for path in backups(parent)}
    in_backups = [path / LAKE / LIST for path in (backup, *sorted(siblings))]
    lists = []
    for path in (*(path for path in in_backups if path.exists()), *files):
        try:
            lists.append(read_file(path))
        except (OSError, msgspec.MsgspecError) as error:
            raise BackupError(f"{path} is no list of the forgotten (lake/forgotten.json): {error}") from error
    return lists


def _apply_lists(settings: Settings, restored: Path, forgotten: Forgotten) -> None:
    """Put the list into the lake, and note in the home to apply it: a restore may be killed before that."""
    if settings.lake_folder is None:
        lake = lake_without_check(settings)
        if not forgotten.is_empty:
            change(lake, lambda stored: merged([stored, forgotten]))
        forgotten = read(lake)
    elif not forgotten.is_empty:
        write_file(restored / LAKE / LIST, forgotten)
    if not forgotten.is_empty:
        (restored / UNPROVEN).mkdir(mode=0o700)
        (restored / UNPROVEN / RESTORED).touch(mode=0o600)


def _lake_to_restore(settings: Settings, backup: Path, tables: int) -> Path | None:
    """The folder outside the home for the lake of a backup; None: the lake goes to the home, or is in an
    object store. Raises BackupError where the settings name another lake than that of the backup."""
    lake = settings.lake_folder
    if lake is None and tables:
        raise BackupError(
            f"{backup} holds a lake of {tables} tables, and CAMPUS_LAKE names {settings.lake_root}: unset it "
            "to restore the lake to the home"
        )
    if lake is not None and not tables:
        raise BackupError(
            f"{backup} holds no lake: it was made with CAMPUS_LAKE in an object store. Set CAMPUS_LAKE to it"
        )
    if lake is None or lake.parent == settings.home:
        return None
    if lake.exists() and not _is_empty(lake):
        raise BackupError(f"CAMPUS_LAKE {lake} is not empty: move its content away, or name another folder")
    return lake


def _is_empty(lake: Path) -> bool:
    """Whether a folder has no part of a lake except the id from `campus district use-lake`."""
    return lake.is_dir() and all(path.name == LAKE_ID for path in lake.iterdir())


def _files_of(settings: Settings) -> Iterator[tuple[Path, Path]]:
    """The files of a home to back up, and their names in the backup. A lake in another folder is included."""
    dagster, lake = dagster_home(settings), settings.lake_folder
    for entry in sorted(settings.home.iterdir()):
        if entry.name not in LEFT_OUT and entry not in (dagster, lake):
            for file in _files_below(entry):
                yield file, file.relative_to(settings.home)
    if lake is not None and lake.exists():
        for file in _files_below(lake):
            yield file, LAKE / file.relative_to(lake)
    for file in _files_below(dagster):
        yield file, DAGSTER / file.relative_to(dagster)


def _files_below(entry: Path) -> Iterator[Path]:
    """The file, or the files below the folder, without unfinished files and links: a link in `inputs` would
    copy whatever the user of this process can read."""
    for file in sorted(entry.rglob("*")) if entry.is_dir() else [entry]:
        is_unfinished = any(part.startswith(UNFINISHED) for part in file.relative_to(entry.parent).parts)
        is_link = file.is_symlink() and file != entry
        if file.is_file() and not is_link and not is_unfinished and not file.name.endswith(BESIDE_SQLITE):
            yield file


def _copy(source: Path, target: Path, last: Path | None) -> bool:
    """Copy a file, or link to the same file of the last backup. Other users cannot read the copy, whatever
    the mode of the source. Returns whether it was linked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if last is not None and last.exists() and _is_same(source, last) and not is_open(last):
        # A file system may have no links, and limits the links to a file.
        with suppress(OSError):
            os.link(last, target)
            return True
    if source.suffix in SQLITE:
        # The times from before the copy, so that the next backup copies what is written meanwhile.
        times = source.stat()
        with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(target)) as copy:
            original.backup(copy)
        shutil.copymode(source, target)
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        shutil.copy2(source, target)
    if is_open(target):
        target.chmod(stat.S_IMODE(target.stat().st_mode) & ~UMASK)
    return False


def _is_same(source: Path, last: Path) -> bool:
    """Whether a file is unchanged. SQLite writes to a log beside its file first."""
    log = source.with_name(f"{source.name}-wal")
    if log.exists() and log.stat().st_size:
        return False
    now, then = source.stat(), last.stat()
    return (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns)


def _check_tables(lake: Path) -> int:
    """Check that each table has every file of its log. Returns the number of tables. Raises BackupError."""
    logs = sorted(lake.glob("**/_delta_log"))
    for log in logs:
        try:
            paths = relative_files(DeltaTable(log.parent))
        except DeltaError as error:
            raise BackupError(f"{log.parent} cannot be read: {error}") from error
        missing = [path for path in paths if not (log.parent / path).exists()]
        if missing:
            raise BackupError(f"{log.parent} lacks {len(missing)} of its files, such as {missing[0]}")
    return len(logs)


def _close_runs(settings: Settings, dagster: Path) -> tuple[str, ...]:
    """Fail the unfinished runs of the backup: no process continues them. Runs in Postgres are not in the
    backup, and may belong to the original home. Returns a sentence for each run."""
    config = dagster / "dagster.yaml"
    in_postgres = config.exists() and POSTGRES_URL in config.read_text(encoding="utf-8")
    if os.environ.get(POSTGRES_URL) or in_postgres:
        return ()
    with open_instance(settings) as instance:
        runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED_RUNS))
        for run in runs:
            instance.report_run_failed(run, f"{UNDER_WAY.capitalize()}.")
    return tuple(closed_run(run, UNDER_WAY) for run in runs)
