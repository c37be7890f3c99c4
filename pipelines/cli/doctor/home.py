"""The doctor's findings about a home: who else can use its files, its servers and store, and old logs."""

import grp
import os
import re
import shlex
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import obstore
import pyarrow.parquet as pq
from obstore.exceptions import BaseError

from campus.decoding.withholding import withhold_in_row
from campus.identity_numbers import is_identity_field, may_hold_identity_number
from campus.registry import RESOURCES
from pipelines.cli.doctor.probes import Finding
from pipelines.runs.storage_failures import store_problem
from pipelines.settings.settings import Settings
from warehouse.files import UMASK
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, PAST_ROWS, QUARANTINE, Log
from warehouse.lake.tables import EXTRA
from warehouse.published.audiences import group_problem
from warehouse.stores import is_remote, store_of

#: Seconds to wait for an answer of the object store.
STORE_PATIENCE = 5


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


def examine_store(settings: Settings) -> Finding | None:
    """Whether the object store of the lake answers; None: the lake is in a folder."""
    root = settings.lake_root
    if not is_remote(root):
        return None
    try:
        obstore.list_with_delimiter(store_of(root, STORE_PATIENCE))
    except (BaseError, OSError) as error:
        return Finding(False, f"The object store of the lake (CAMPUS_LAKE) {store_problem(str(error))}.")
    return Finding(True, f"The object store of the lake answers (CAMPUS_LAKE {root}).")


#: The logs with values of earlier rows, and the columns of these values.
TEXTS: Mapping[Log, tuple[str, ...]] = {
    PAST_ROWS: ("row",),
    CHANGES: ("field", "before", "after"),
    QUARANTINE: ("resource", "raw"),
}
#: Names in JSON, also in JSON inside a JSON string.
_NAME = re.compile(rb'"((?:[^"\\]|\\+u[0-9A-Fa-f]{4}){1,60})\\?"\s*:')
_ESCAPED = re.compile(r"\\+u([0-9A-Fa-f]{4})")
BATCH = 10_000


def examine_identity_numbers(settings: Settings, lake: Lake) -> Finding | None:
    """The logs of the lake that have identity numbers; None: no log has any, or the settings keep them."""
    if settings.keep_id_numbers:
        return None
    counts: Counter[str] = Counter()
    for table, columns in TEXTS.items():
        for school, resource, count in _numbers_in(lake, table, columns) if lake.holds(table) else ():
            counts[f"quality.{table.name} of school {school}, {resource}"] += count
    if not counts:
        return None
    places = ", ".join(f"{place} ({count:,} rows)" for place, count in sorted(counts.items()))
    return Finding(
        False,
        f"Rows that were loaded before identity numbers were withheld still have them: {places}. Set "
        "retention.history_days in campus.yaml, so that nights delete old past rows and changes, or load "
        "into a new home. Rows leave the quarantine once they are loaded: campus sync --full.",
    )


def _numbers_in(lake: Lake, table: Log, columns: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """For each part of a table with identity numbers: the school, the resource and the number of rows."""
    for path in lake.files(table):
        parts = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
        place = {name: unquote(value) for name, value in parts.items()}
        for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=list(columns)):
            rows = batch.to_pylist()
            if not _may_have_numbers(rows):
                continue
            counts = Counter(
                resource
                for row in rows
                if _has_number(resource := row.get("resource") or place.get("resource", ""), row)
            )
            yield from ((place["_school_id"], resource, count) for resource, count in counts.items())


def _may_have_numbers(rows: list[dict[str, Any]]) -> bool:
    """Whether any row may have a number, or a field named as one: a fast check of all rows at once."""
    text = "\n".join(value for row in rows for value in row.values() if value).encode()
    names = {_unescaped(name.decode(errors="replace")) for name in set(_NAME.findall(text))}
    names |= {row["field"] for row in rows if row.get("field")}
    return may_hold_identity_number(text) or any(map(is_identity_field, names))


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(lambda letter: chr(int(letter[1], 16)), name)


def _has_number(resource: str, row: Mapping[str, Any]) -> bool:
    """Whether a row of a log has an identity number, by the name of a field or by value. Ids are none."""
    spec = RESOURCES.get(resource)
    contract = spec.contract if spec else None
    texts = [row[name] for name in ("row", "raw") if row.get(name)]
    if row.get("field"):
        texts += [
            msgspec.json.encode({row["field"]: row[name]}).decode()
            for name in ("before", "after")
            if row[name]
        ]
    for text in texts:
        if withhold_in_row(text.encode(), contract)[1]:
            return True
        extra = _extra_of(text)
        if extra and withhold_in_row(extra.encode(), None)[1]:
            return True
    return False


def _extra_of(text: str) -> str:
    """The extra fields of a past row as JSON; empty: none."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any]).get(EXTRA) or ""
    except msgspec.DecodeError:
        return ""
