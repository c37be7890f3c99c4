"""Deletes the files of a home that may name a forgotten person: they are made again, or are of the past."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from exports.extracts.write import SUFFIX, is_extract
from loading.outage import NOTE
from pipelines.notices.notice import TOLD
from pipelines.ui.supervisor import FOLDER as UI
from warehouse.files import UNFINISHED
from warehouse.forgetting.search import Search, Searched
from warehouse.published.audiences import Audience, audience_files
from warehouse.published.problem import OF_AUDIENCES, PROBLEM
from writeback.inbox.folder import DONE, inbox_files_of
from writeback.roster.plan_file import PLANS
from writeback.store.forgetting import forget_notes
from writeback.store.location import store_path

#: Folders of a home whose content is made again or was left by what is over.
SCRAPS = ("build", "scratch", "trials")
#: Copies of what is elsewhere.
COPIES = (Path("cache/lake"), Path("cache/published"))
#: Notes and logs in the words of the platform or of a program.
WORDS = (UI, TOLD, NOTE, PROBLEM, OF_AUDIENCES)
EXPORTS = "exports"


def delete_scraps(home: Path, *, apply: bool) -> int:
    """Delete unfinished builds, spools, trials, and copies of the lake and of shards. Files."""
    folders = [*(home / name for name in SCRAPS), *(home / name for name in COPIES)]
    files = [path for folder in folders for path in files_below(folder)]
    unfinished = [path for path in home.glob(f"{UNFINISHED}*") if path.is_dir()]
    if apply:
        for folder in unfinished:
            shutil.rmtree(folder, ignore_errors=True)
    return _delete(files, apply=apply) + len(unfinished)


def delete_exports(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete all dates of the files for people of a school, and pages of all schools. Files."""
    folder = home / EXPORTS
    of_school = re.compile(rf".*_(?:{school_id}|all)_\d{{4}}-\d\d-\d\d\.\w+")
    if apply:
        for unfinished in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
    return _delete([path for path in folder.glob("*") if of_school.fullmatch(path.name)], apply=apply)


def delete_extracts(home: Path, *, apply: bool) -> int:
    """Delete the pseudonymous extracts that were written inside the home. Files."""
    files = [
        path
        for path in files_below(home, linked=True)
        if path.suffix == SUFFIX and not path.is_symlink() and is_extract(path)
    ]
    return _delete(files, apply=apply)


def delete_audience_files(home: Path, audiences: Iterable[Audience], *, apply: bool) -> int:
    """Delete the files of audiences, all generations: the next build makes them anew. Files."""
    return _delete(list(audience_files(home, audiences)), apply=apply)


def delete_words(home: Path, search: Search, *, apply: bool) -> int:
    """Delete the notes and logs of programs that name one of the persons. Files."""
    return _delete(list(naming(_words(home), search)), apply=apply)


def delete_words_of_school(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the notes and logs of programs that name a school. Files."""
    named = _number(school_id)
    files = [path for path in _words(home) if named.search(path.read_text("utf-8", "replace"))]
    return _delete(files, apply=apply)


def _number(school_id: int) -> re.Pattern[str]:
    """What finds the id of a school in a text, and in no longer number."""
    return re.compile(rf"(?<![0-9]){school_id}(?![0-9])")


def _words(home: Path) -> list[Path]:
    return [path for name in WORDS for path in (*files_below(home / name), home / name) if path.is_file()]


def delete_plans(home: Path, school_id: int, search: Search, *, apply: bool) -> int:
    """Delete plans, their sheets and results that name one of the persons, since a sealed plan cannot be
    changed, and the notes about them. Files."""
    files = list(naming(files_below(home / PLANS), search))
    forget_notes(store_path(home), school_id, {path.name for path in files}, apply=apply)
    return _delete(files, apply=apply)


def delete_plans_of_school(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the plans and results of a school. Files."""
    folder = home / PLANS
    named = _number(school_id)
    stated = re.compile(rf'"school_id": ?{school_id}\b')
    files = [
        path
        for path in files_below(folder)
        if named.search(path.name)
        or (path.suffix == ".json" and stated.search(path.read_text("utf-8", "replace")))
    ]
    files += [sheet for path in files if (sheet := path.with_suffix(".xlsx")) not in files and sheet.exists()]
    return _delete(files, apply=apply)


def arrived_files(folder: Path, school_id: int, *, done: bool) -> list[Path]:
    """The files of a school in the folder where files arrive: those in `done`, which campus has read and
    moved, or the others. Raises OSError where the folder cannot be read."""
    return [
        path
        for path in inbox_files_of(folder)
        if path.relative_to(folder).parts[0] == str(school_id) and (path.parent.name == DONE) is done
    ]


def delete_arrived(paths: Iterable[Path], *, apply: bool) -> int:
    """Delete files that have arrived and were read. Files."""
    return _delete(list(paths), apply=apply)


def naming(paths: Iterable[Path], search: Search) -> Iterator[Path]:
    """Those of some files that name one of the persons, or that cannot be searched."""
    for path in paths:
        searched = Searched()
        search.file(path, path.name, searched)
        if searched.findings or searched.unread:
            yield path


def files_below(folder: Path, *, linked: bool = False) -> list[Path]:
    """All regular files below a folder. linked: also those to which it links, and those below folders to
    which it links, each once."""
    paths, links, seen, waiting = list[Path](), list[Path](), set[Path](), [folder]
    while waiting:
        for name, folders, files in os.walk(waiting.pop(0)):
            parent = Path(name)
            if parent.resolve() in seen:
                folders.clear()
                continue
            seen.add(parent.resolve())
            for path in (parent / each for each in files):
                if path.is_file():
                    (links if path.is_symlink() else paths).append(path)
            if linked:
                waiting += [path for each in sorted(folders) if (path := parent / each).is_symlink()]
    targets = {path.resolve(): path for path in links if path.resolve().parent not in seen}
    return sorted([*paths, *(targets.values() if linked else ())])


def _delete(paths: list[Path], *, apply: bool) -> int:
    if apply:
        for path in paths:
            path.unlink(missing_ok=True)
    return len(paths)
