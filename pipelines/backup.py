"""A copy of a home that holds together, and a home made of one.

Nobody loads or builds while a home is copied, so that what its logs say of the lake is true of the copy. What
others may write at any time is SQLite, which is copied by its own means. A copy is whole or not there; what
the one before has in the same state is linked to and not stored again."""

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
from pipelines.instance import POSTGRES_URL, dagster_home, open_instance
from pipelines.interrupted import UNFINISHED as UNFINISHED_RUNS
from pipelines.lake import lake_without_check
from pipelines.lake_identity import NAME as LAKE_ID
from pipelines.lake_identity import check_lake
from pipelines.settings import Settings
from pipelines.storage_trouble import full_disk, is_full
from warehouse.files import SEE_PATH, UMASK, UNFINISHED, is_open, no_folder_above, workspace
from warehouse.forgetting.forgotten import NAME as LIST
from warehouse.forgetting.forgotten import Forgotten, change, merged, read, read_file, write_file
from warehouse.lake.delta import relative_files

#: What is made again by itself, or belongs to the processes of one machine or to its disk; and `.env`, which
#: has secrets.
LEFT_OUT = {
    *("audiences", "build", "cache", "exports", "forgetting", "generations", "scratch", "trials"),
    "writers",
    *("lost+found", ".env"),
}
#: What may be in a home before it is restored: it stays.
OPERATORS = {".env", "campus.yaml", "thresholds", "dagster", "lost+found"}
DAGSTER = "dagster"
#: The folder of the lake in a copy.
LAKE = Path("lake")
SQLITE = {".db", ".sqlite"}
#: What SQLite keeps beside a file while it is open; its own copy has what is in them.
BESIDE_SQLITE = ("-wal", "-shm", "-journal")
UNDER_WAY = "It was under way when the backup was made that this home was restored from."


class BackupError(Exception):
    """A backup that cannot be made or restored, and what to do about it."""


@dataclass(frozen=True)
class Backup:
    """A copy of a home. `linked`: of its files, those that the copy before has too."""

    path: Path
    files: int
    linked: int
    bytes: int
    tables: int


def check_folder(folder: Path, *, first: bool) -> None:
    """See that backups go where they are meant to: an empty folder may be a disk that is not mounted, and one
    that is not there a mistyped name. `first`: nothing is expected there.

    Raises BackupError."""
    if first:
        if problem := no_folder_above(folder):
            raise BackupError(problem)
    elif not folder.exists():
        raise BackupError(
            f"{folder} is not there. {SEE_PATH}. For a first backup give --first: it makes the folder"
        )
    elif not backups(folder):
        raise BackupError(f"{folder} holds no backup. {SEE_PATH}. For a first backup there give --first")


def back_up(settings: Settings, folder: Path, keep: int) -> Backup:
    """Copy the home into a new folder below `folder`, where the last `keep` copies stay. For whoever is alone
    in the home.

    Raises BackupError, OSError."""
    folder = folder.expanduser().resolve()
    if folder.is_relative_to(settings.home):
        raise BackupError(f"{folder} is inside of CAMPUS_HOME: name a folder elsewhere, best on another disk")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = next(iter(backups(folder)), None)
    with workspace(folder) as scratch:
        copy, linked, size, files = scratch / "home", 0, 0, 0
        # For the owner alone, also where the folder is for others too.
        copy.mkdir(mode=0o700)
        for source, name in _files_of(settings):
            try:
                is_linked = _copy(source, copy / name, before / name if before else None)
            except FileNotFoundError:
                # Replaced meanwhile, by a notice or the UI. What a table lacks shows below.
                continue
            except (OSError, sqlite3.Error) as error:
                if is_full(str(error)):
                    # It is not the home's disk that needs room.
                    raise BackupError(full_disk(folder)) from error
                raise
            files, linked = files + 1, linked + is_linked
            size += (copy / name).stat().st_size
        # Of a lake in an object store nothing is copied; the folder tells a copy by its name.
        (copy / LAKE).mkdir(exist_ok=True)
        tables = _whole_tables(copy / LAKE)
        os.sync()
        target = folder / f"{datetime.now():%Y%m%dT%H%M%S.%f}"
        copy.rename(target)
        for old in backups(folder)[keep:]:
            # Gone at once, so that none that is half deleted is ever taken for a backup.
            old.rename(scratch / old.name)
    return Backup(target, files, linked, size, tables)


def backups(folder: Path) -> list[Path]:
    """The copies in a folder, latest first."""
    return sorted((path.parent for path in folder.glob("[0-9]*T[0-9]*/lake")), reverse=True)


def restore(settings: Settings, backup: Path, forgotten: Sequence[Path] = ()) -> Backup:
    """Make the home, which must be empty, of a copy, or of the latest one in a folder of copies.

    The list of the forgotten becomes what the copy, all copies beside it, the lake in an object store and
    the files `forgotten` have together. Raises BackupError, OSError, and SettingsError where the lake is
    another than the district's."""
    lake_here = lake_without_check(settings)
    if settings.lake is not None:
        check_lake(settings, lake_here)
    given = backup
    backup = next(iter(backups(backup)), backup).resolve()
    if not backup.exists():
        raise BackupError(f"{backup} is not there. {SEE_PATH}")
    if not (backup / LAKE).is_dir():
        raise BackupError(f"{backup} is no backup, and has none: name the folder that campus backup wrote to")
    home, there = settings.home, Path(os.environ.get("DAGSTER_HOME", settings.home / DAGSTER))
    held = {path.name for path in home.iterdir()} - OPERATORS if home.exists() else set()
    # What a restore that was killed has left goes with this one.
    held = {name for name in held if not name.startswith(UNFINISHED)}
    if _is_empty(home / LAKE):
        held -= {LAKE.name}
    if held or (there / "history").exists():
        raise BackupError(
            f"{home} holds a warehouse already ({', '.join(sorted(held)) or there}): move it away, or name "
            f"another CAMPUS_HOME"
        )
    tables = _whole_tables(backup / LAKE)
    lake = _lake_to_restore(settings, backup, tables)
    lists = _lists(backup, given, forgotten)
    size = files = 0
    home.mkdir(parents=True, exist_ok=True)
    with workspace(home) as scratch:
        for source in _files_below(backup):
            name = source.relative_to(backup)
            if name == LAKE / LAKE_ID:
                # The lake that the backup was made of may still be there: two lakes have no id in common.
                continue
            _copy(source, scratch / name, None)
            files, size = files + 1, size + source.stat().st_size
        _apply_lists(settings, scratch, merged(lists))
        os.sync()
        for entry in sorted(scratch.iterdir()):
            if entry.name == DAGSTER:
                shutil.copytree(entry, there, dirs_exist_ok=True)
            elif entry.name == LAKE.name and lake is not None:
                shutil.copytree(entry, lake, dirs_exist_ok=True)
            elif entry.name == LAKE.name and (home / LAKE / LAKE_ID).exists():
                (home / LAKE / LAKE_ID).rename(entry / LAKE_ID)
                (home / LAKE).rmdir()
                entry.rename(home / LAKE)
            elif not (home / entry.name).exists():
                entry.rename(home / entry.name)
    _close_runs(settings, there)
    return Backup(backup, files, 0, size, tables)


def _lists(backup: Path, folder: Path, files: Sequence[Path]) -> list[Forgotten]:
    """The lists of the forgotten of a copy, of the copies beside it, and of some files. Raises
    BackupError."""
    beside = {path.resolve() for each in (folder, backup.parent) for path in backups(each)}
    found = [path / LAKE / LIST for path in (backup, *sorted(beside))]
    lists = []
    for path in (*(path for path in found if path.exists()), *files):
        try:
            lists.append(read_file(path))
        except (OSError, msgspec.MsgspecError) as error:
            raise BackupError(f"{path} is no list of the forgotten, as a lake has it: {error}") from error
    return lists


def _apply_lists(settings: Settings, restored: Path, forgotten: Forgotten) -> None:
    """Put the list in the lake, and note in the restored files that it was not applied yet: a restore may be
    killed before that is done."""
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
    """The folder outside of the home that the lake of a backup goes to; None: it goes to the home, or is in
    an object store. Raises BackupError where the settings name another lake than the backup was made with."""
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
        raise BackupError(f"CAMPUS_LAKE {lake} holds something already: move it away, or name another")
    return lake


def _is_empty(lake: Path) -> bool:
    """Whether a folder has nothing of a lake but the id that `campus district use-lake` gives it."""
    return lake.is_dir() and all(path.name == LAKE_ID for path in lake.iterdir())


def _files_of(settings: Settings) -> Iterator[tuple[Path, Path]]:
    """The files of a home that are copied, with their names in the copy. A lake in a folder elsewhere is
    copied as that of a home is."""
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
    """The file, or those below the folder."""
    for file in sorted(entry.rglob("*")) if entry.is_dir() else [entry]:
        unfinished = any(part.startswith(UNFINISHED) for part in file.relative_to(entry.parent).parts)
        if file.is_file() and not unfinished and not file.name.endswith(BESIDE_SQLITE):
            yield file


def _copy(source: Path, target: Path, before: Path | None) -> bool:
    """Copy a file, or link to the same in the copy `before`; whether it was linked. The copy is closed to
    other users, whatever the source is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if before is not None and before.exists() and _is_same(source, before) and not is_open(before):
        # Not every file system has links, and none has any number of them to a file.
        with suppress(OSError):
            os.link(before, target)
            return True
    if source.suffix in SQLITE:
        # From before the copy: what somebody writes meanwhile is another state, which the next backup has.
        then = source.stat()
        with closing(sqlite3.connect(source)) as held, closing(sqlite3.connect(target)) as copy:
            held.backup(copy)
        shutil.copymode(source, target)
        os.utime(target, ns=(then.st_atime_ns, then.st_mtime_ns))
    else:
        shutil.copy2(source, target)
    if is_open(target):
        target.chmod(stat.S_IMODE(target.stat().st_mode) & ~UMASK)
    return False


def _is_same(source: Path, before: Path) -> bool:
    """Whether a file is as it was: what SQLite has not put into its file yet stands beside it."""
    beside = source.with_name(f"{source.name}-wal")
    if beside.exists() and beside.stat().st_size:
        return False
    now, then = source.stat(), before.stat()
    return (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns)


def _whole_tables(lake: Path) -> int:
    """How many tables a copied lake has, each with every file that its log names. Raises BackupError."""
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


def _close_runs(settings: Settings, there: Path) -> None:
    """No process of this home goes on with what was under way. Runs in Postgres are not of the backup, and
    may be those of the home that it was made of."""
    config = there / "dagster.yaml"
    if POSTGRES_URL in os.environ or (config.exists() and POSTGRES_URL in config.read_text(encoding="utf-8")):
        return
    with open_instance(settings) as instance:
        for run in instance.get_runs(dg.RunsFilter(statuses=UNFINISHED_RUNS)):
            instance.report_run_failed(run, UNDER_WAY)
