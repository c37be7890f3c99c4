"""Notes on files: what waits for a person, and writing that was begun and did not end.

A school has one note on its rosters, about the last one. A command or a run leaves a note before its first
write, and removes the note when no row is open. So a kill leaves a note, too.
"""

import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from writeback.kinds import ROSTERS
from writeback.outcomes import RowOutcome, counted
from writeback.roster.plan import Plan
from writeback.roster.plan_file import PLANS
from writeback.store.location import is_writing, store_path
from writeback.store.notes import DAY, Note
from writeback.store.store import Store

#: Days for which it is told that rows of a file of marks or swipes were refused.
TOLD_FOR = 7


def leave_note(home: Path, note: Note) -> None:
    """Note what a file needs. An earlier note on the file, or on an earlier roster, goes."""
    with Store(home) as store:
        store.notes.leave(note)


def forget(home: Path, note: Note) -> None:
    """Remove the note on a file: there is nothing to do."""
    with Store(home) as store:
        store.notes.forget(note)


def begin(home: Path, note: Note) -> None:
    """Note that rows are about to be written. note: what goes on with them after a kill."""
    leave_note(home, structs.replace(note, counts="it was cut short, and how many rows wait is not known"))


def end(home: Path, note: Note, outcomes: Iterable[RowOutcome]) -> None:
    """Note what is open of what was begun; nothing where nothing is."""
    counts = counted(outcomes)
    still = [f"{counts[name]:,} {name}" for name in ("waiting", "unconfirmed") if counts[name]]
    if still:
        leave_note(home, structs.replace(note, counts=", ".join(still)))
    else:
        forget(home, note)


def note_of(school_id: int, plan: Plan, path: Path, *, waits: bool) -> Note | None:
    """The note on a plan that needs a person; None: it needs nobody. waits: it was not applied yet."""
    by_action = Counter(step.action for step in plan.steps)
    counts = ", ".join(f"{count:,} to {action}" for action, count in sorted(by_action.items()))
    open_counts = counts if waits else ""
    if not open_counts and not plan.refused:
        return None
    workbook = path.absolute().with_suffix(".xlsx")
    return Note(ROSTERS, school_id, Path(plan.source).name, str(workbook), open_counts, len(plan.refused))


def waits_no_more(home: Path, plan: Plan, path: Path, refused: int, results: Path) -> None:
    """A plan was carried out: it waits no more. refused: so many of its rows were, results says why."""
    for note in _all_notes(home):
        if note.counts and not note.command and Path(note.path) == path.absolute().with_suffix(".xlsx"):
            left = note_of(plan.school_id, plan, path, waits=False)
            if refused:
                left = Note(ROSTERS, plan.school_id, note.name, str(results.absolute()), "", refused)
            if left:
                leave_note(home, left)
            else:
                forget(home, note)


def notes(home: Path) -> Iterator[Note]:
    """All that is to be told, by school."""
    all_notes = _all_notes(home)
    begun = {note.path for note in all_notes if note.command}
    for note in all_notes:
        if note.command:
            # What is under way notes its own end; and who deletes a plan does not want it any more.
            if not is_writing(home) and _is_there(note):
                yield note
        elif not note.counts or note.path not in begun:
            yield note


def _is_there(note: Note) -> bool:
    return note.kind != ROSTERS or Path(note.path).with_suffix(".json").exists()


def _all_notes(home: Path) -> list[Note]:
    if not store_path(home).exists():
        return []
    with Store(home) as store:
        return list(store.notes.all(TOLD_FOR))


def prune(home: Path, days: int) -> None:
    """Delete plans, results and notes that are so old: they are about children."""
    with Store(home) as store:
        store.notes.prune(days)
    for path in (home / PLANS).glob("*"):
        # Another process may delete it first.
        with suppress(FileNotFoundError):
            if _is_older(path, days) and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()


def _is_older(path: Path, days: int) -> bool:
    return path.lstat().st_mtime < time.time() - days * DAY
