"""Notes on files: files that need a person, and interrupted writes.

A school has one note on its rosters, about the last roster. A command or a run leaves a note before its first
write, and removes the note when all rows are finished. So the note stays if the process is killed.
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

#: Days for which a note on refused rows of marks or swipes is shown.
SHOWN_DAYS = 7


def leave_note(home: Path, note: Note) -> None:
    """Store a note on a file. It replaces an earlier note on the file, or on an earlier roster."""
    with Store(home) as store:
        store.notes.leave(note)


def remove_note(home: Path, note: Note) -> None:
    """Remove the note on a file, since nothing is left to do."""
    with Store(home) as store:
        store.notes.forget(note)


def note_begin(home: Path, note: Note) -> None:
    """Store a note before the first write. note: has the command that continues after a kill."""
    leave_note(home, structs.replace(note, counts="the number of open rows is not known"))


def note_end(home: Path, note: Note, outcomes: Iterable[RowOutcome]) -> None:
    """Store the number of unfinished rows in the note, or remove the note if there are none."""
    counts = counted(outcomes)
    unfinished = [f"{counts[name]:,} {name}" for name in ("waiting", "unconfirmed") if counts[name]]
    if unfinished:
        leave_note(home, structs.replace(note, counts=", ".join(unfinished)))
    else:
        remove_note(home, note)


def note_of(school_id: int, plan: Plan, path: Path, *, waits: bool) -> Note | None:
    """The note on a plan that needs a person; None: the plan needs nobody. waits: it was not applied yet."""
    by_action = Counter(step.action for step in plan.steps)
    counts = ", ".join(f"{count:,} to {action}" for action, count in sorted(by_action.items()))
    open_counts = counts if waits else ""
    if not open_counts and not plan.refused:
        return None
    workbook = path.absolute().with_suffix(".xlsx")
    return Note(ROSTERS, school_id, Path(plan.source).name, str(workbook), open_counts, len(plan.refused))


def close_plan_note(home: Path, plan: Plan, path: Path, refused: int, results: Path) -> None:
    """Update the notes on a plan that was applied: it no longer waits.

    Args:
        refused: The number of refused rows.
        results: The file with the reasons."""
    for note in _all_notes(home):
        if note.counts and not note.command and Path(note.path) == path.absolute().with_suffix(".xlsx"):
            new_note = note_of(plan.school_id, plan, path, waits=False)
            if refused:
                new_note = Note(ROSTERS, plan.school_id, note.name, str(results.absolute()), "", refused)
            if new_note:
                leave_note(home, new_note)
            else:
                remove_note(home, note)


def notes(home: Path) -> Iterator[Note]:
    """The notes to show to a person, by school."""
    all_notes = _all_notes(home)
    begun = {note.path for note in all_notes if note.command}
    for note in all_notes:
        if note.command:
            # A write that still runs updates its own note. A deleted plan is no longer wanted.
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
        return list(store.notes.all(SHOWN_DAYS))


def delete_old(home: Path, days: int) -> None:
    """Delete plans, results and notes that are more than `days` days old, since they are about children."""
    with Store(home) as store:
        store.notes.prune(days)
    for path in (home / PLANS).glob("*"):
        # Another process may delete it first.
        with suppress(FileNotFoundError):
            if _is_older(path, days) and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()


def _is_older(path: Path, days: int) -> bool:
    return path.lstat().st_mtime < time.time() - days * DAY
