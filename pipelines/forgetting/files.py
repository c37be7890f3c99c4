"""Deletes files of a home that may name a forgotten person. All can be made again, or are not needed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from exports.extracts.write import SUFFIX, is_extract
from exports.site.folders import site_folder
from loading.connection.connected import NOTE
from pipelines.assistant.log import FOLDER as ASSISTANT
from pipelines.notices.notice import SENT_FILE
from pipelines.ui.supervisor import FOLDER as UI
from warehouse.files import UNFINISHED
from warehouse.forgetting.search import Search, Searched
from warehouse.published.problem import AUDIENCE_PROBLEM, PROBLEM
from writeback.inbox.folder import DONE, inbox_files_of
from writeback.roster.plan_file import PLANS
from writeback.store.forgetting import forget_notes
from writeback.store.location import store_path

#: Folders of a home with temporary content.
SCRAPS = ("build", "scratch", "trials")
#: Folders of a home with copies of the lake's and the shards' files.
COPIES = (Path("cache/lake"), Path("cache/published"))
#: Notes and logs, which may quote the platform or a program.
NOTES_AND_LOGS = (ASSISTANT, UI, SENT_FILE, NOTE, PROBLEM, AUDIENCE_PROBLEM)
EXPORTS = "exports"


def delete_scraps(home: Path, *, apply: bool) -> int:
    """Delete unfinished builds, spools, trials, and copies of the lake and of shards. Returns the files."""
    folders = [*(home / name for name in SCRAPS), *(home / name for name in COPIES)]
    files = [path for folder in folders for path in files_below(folder)]
    unfinished = [path for path in home.glob(f"{UNFINISHED}*") if path.is_dir()]
    if apply:
        for folder in unfinished:
            shutil.rmtree(folder, ignore_errors=True)
    return delete_files(files, apply=apply) + len(unfinished)


def delete_exports(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the exports of a school, of every date, its site, and the files of several schools. Returns the
    files."""
    folder = home / EXPORTS
    of_school = re.compile(rf".*_(?:(?:\d+-)*{school_id}(?:-\d+)*|\d+-schools|all)_\d{{4}}-\d\d-\d\d\.\w+")
    site = site_folder(folder, school_id)
    files = [path for path in folder.glob("*") if of_school.fullmatch(path.name)] + files_below(site)
    deleted = delete_files(files, apply=apply)
    if apply:
        for unfinished in (*folder.glob(f"{UNFINISHED}*"), site):
            shutil.rmtree(unfinished, ignore_errors=True)
    return deleted


def delete_extracts(home: Path, *, apply: bool) -> int:
    """Delete the pseudonymous extracts inside the home. Returns the files."""
    files = [
        path
        for path in files_below(home, linked=True)
        if path.suffix == SUFFIX and not path.is_symlink() and is_extract(path)
    ]
    return delete_files(files, apply=apply)


def delete_logs(home: Path, search: Search, *, apply: bool) -> int:
    """Delete the notes and logs that name a person. Returns the files."""
    return delete_files(naming(_notes_and_logs(home), search), apply=apply)


def delete_logs_of_school(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the notes and logs that name a school. Returns the files."""
    whole_id = _whole_number(school_id)
    files = [path for path in _notes_and_logs(home) if whole_id.search(path.read_text("utf-8", "replace"))]
    return delete_files(files, apply=apply)


def _whole_number(number: int) -> re.Pattern[str]:
    """Matches a number, but not as part of a longer number."""
    return re.compile(rf"(?<![0-9]){number}(?![0-9])")


def _notes_and_logs(home: Path) -> list[Path]:
    return [
        path for name in NOTES_AND_LOGS for path in (*files_below(home / name), home / name) if path.is_file()
    ]


def delete_plans(home: Path, school_id: int, search: Search, *, apply: bool) -> int:
    """Delete the plans, with their sheets, results and notes, that name a person: a sealed plan cannot be
    changed. Returns the files."""
    files = list(naming(files_below(home / PLANS), search))
    forget_notes(store_path(home), school_id, {path.name for path in files}, apply=apply)
    return delete_files(files, apply=apply)


def delete_plans_of_school(home: Path, school_id: int, *, apply: bool) -> int:
    """Delete the plans and results of a school. Returns the files."""
    whole_id = _whole_number(school_id)
    id_in_json = re.compile(rf'"school_id": ?{school_id}\b')
    files = [
        path
        for path in files_below(home / PLANS)
        if whole_id.search(path.name)
        or (path.suffix == ".json" and id_in_json.search(path.read_text("utf-8", "replace")))
    ]
    files += [sheet for path in files if (sheet := path.with_suffix(".xlsx")) not in files and sheet.exists()]
    return delete_files(files, apply=apply)


def arrived_files(folder: Path, school_id: int, *, done: bool) -> list[Path]:
    """The files of a school in the folder of arriving files. `done`: the files that campus has read and moved
    to `done`; else the unread files. Raises OSError if the folder cannot be read."""
    return [
        path
        for path in inbox_files_of(folder)
        if path.relative_to(folder).parts[0] == str(school_id) and (path.parent.name == DONE) is done
    ]


def naming(paths: Iterable[Path], search: Search) -> Iterator[Path]:
    """The files that name a person, or that cannot be searched."""
    for path in paths:
        searched = Searched()
        search.file(path, path.name, searched)
        if searched.findings or searched.unread:
            yield path


def files_below(folder: Path, *, linked: bool = False) -> list[Path]:
    """All regular files below a folder. `linked`: also the targets of links to files and to folders, without
    repetition."""
    paths, links, seen, waiting = list[Path](), list[Path](), set[Path](), [folder]
    while waiting:
        for name, folders, files in os.walk(waiting.pop(0)):
            parent = Path(name)
            if parent.resolve() in seen:
                folders.clear()
                continue
            seen.add(parent.resolve())
            for path in (parent / file for file in files):
                if path.is_file():
                    (links if path.is_symlink() else paths).append(path)
            if linked:
                waiting += [path for folder in sorted(folders) if (path := parent / folder).is_symlink()]
    targets = {path.resolve(): path for path in links if path.resolve().parent not in seen}
    return sorted([*paths, *(targets.values() if linked else ())])


def delete_files(paths: Iterable[Path], *, apply: bool) -> int:
    """Delete files. Returns their count."""
    paths = list(paths)
    if apply:
        for path in paths:
            path.unlink(missing_ok=True)
    return len(paths)
