"""Files of a home that may name a forgotten person: deleted, since they are made again or are of the past."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from warehouse.files import UNFINISHED
from warehouse.forgetting.search import Search, Searched

#: Folders of a home whose content is made again or was left by what is over.
SCRAPS = ("build", "scratch", "trials")
#: Copies of what is elsewhere.
COPIES = (Path("cache/lake"), Path("cache/published"))
PLANS, EXPORTS, DONE = "plans", "exports", "done"


def delete_scraps(home: Path, *, apply: bool) -> int:
    """Delete unfinished builds, spools, trials, and copies of the lake and of shards. Files."""
    folders = [*(home / name for name in SCRAPS), *(home / name for name in COPIES)]
    files = [path for folder in folders if folder.is_dir() for path in folder.rglob("*") if path.is_file()]
    unfinished = [path for path in home.glob(f"{UNFINISHED}*") if path.is_dir()]
    if apply:
        for path in files:
            path.unlink(missing_ok=True)
        for folder in unfinished:
            shutil.rmtree(folder, ignore_errors=True)
    return len(files) + len(unfinished)


def delete_exports(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete all dates of the files for people of a school, and pages of all schools. Files."""
    folder = home / EXPORTS
    mine = re.compile(rf".*_(?:{school_id}|all)_\d{{4}}-\d\d-\d\d\.\w+")
    files = [path for path in folder.glob("*") if mine.fullmatch(path.name)] if folder.is_dir() else []
    left = list(folder.glob(f"{UNFINISHED}*")) if folder.is_dir() else []
    if apply:
        for path in files:
            path.unlink(missing_ok=True)
        for each in left:
            shutil.rmtree(each, ignore_errors=True)
    return len(files)


def delete_plans(home: Path, search: Search, *, apply: bool) -> int:
    """Delete plans, their sheets, results and notes that name one of the persons: a sealed plan cannot be
    mended. Files."""
    return _delete(files_that_name(home / PLANS, search), apply=apply)


def delete_plans_of_school(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the plans, results and notes of a school. Files."""
    folder = home / PLANS
    named = re.compile(rf"(?:^|[^0-9]){school_id}(?:[^0-9]|$)")
    found = (
        [path for path in folder.glob("*") if path.is_file() and named.search(path.name)]
        if folder.is_dir()
        else []
    )
    marks = (f'"school_id":{school_id},', f'"school_id": {school_id},')
    found += [
        path
        for path in folder.glob("*.json")
        if path not in found and any(mark in path.read_text("utf-8", "replace") for mark in marks)
    ]
    sheets = [path.with_suffix(".xlsx") for path in found if path.with_suffix(".xlsx").exists()]
    return _delete({*found, *sheets}, apply=apply)


def delete_arrived(folder: Path, search: Search, *, apply: bool) -> int:
    """Delete the files that were read and moved to `done` by us, where they name one of the persons.
    Files."""
    found = [path for path in files_that_name(folder, search) if DONE in path.relative_to(folder).parts[:-1]]
    return _delete(found, apply=apply)


def files_that_name(folder: Path, search: Search) -> Iterator[Path]:
    """The files below a folder that name one of the persons, or that cannot be searched."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink():
            searched = Searched()
            search.file(path, path.name, searched)
            if searched.findings or searched.unread:
                yield path


def _delete(paths: Iterator[Path] | list[Path] | set[Path], *, apply: bool) -> int:
    files = list(paths)
    if apply:
        for path in files:
            path.unlink(missing_ok=True)
    return len(files)
