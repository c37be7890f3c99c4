"""The folder of plans: what waits there for a person, and what is too old to be kept.

Of the files that have arrived, a note tells of a plan that waits, of rows that were refused, of a file that
cannot be read: of rosters one a school, of its last one. Of what was begun, by a command or a run, another
note tells until it comes to its end, so that a kill leaves one, too."""

import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import structs

from warehouse.files import write_text
from writeback.inbox.requests import ATTENDANCE, ROSTERS, SWIPES
from writeback.outcomes import RowOutcome, counted
from writeback.roster.plan import Plan
from writeback.roster.plan_file import PLANS, digest, regular_content
from writeback.store.location import is_writing

NOTES = ("arrived-*.json", "begun-*.json")
#: Days for which it is told that rows of a file of marks or swipes were refused.
TOLD_FOR = 7
NOUNS = {
    ROSTERS: "roster",
    ATTENDANCE: "file of marks",
    SWIPES: "file of swipes",
    "cards": "file of cards",
    "devices": "file of displays",
}
DAY = 86_400.0


class Note(msgspec.Struct, frozen=True):
    """Of one file. `kind`: empty for a file that is no note. `name`: the file's. `path`: of its plan, or of
    the result of its rows. `counts`: of a plan that waits. `problem`: why nothing came of the file.
    `command`: goes on with what was begun; then `counts` are of the rows that are open still."""

    kind: str
    school_id: int
    name: str
    path: str = ""
    counts: str = ""
    refused: int = 0
    problem: str = ""
    command: str = ""

    @property
    def words(self) -> str:
        """What there is to do, without a name of a child."""
        if not self.kind:
            return f"{self.name} is no note of campus: delete it."
        file = f"the {NOUNS[self.kind]} {self.name}".strip() + f" of school {self.school_id}"
        if self.command:
            return f"Writing {file} did not come to its end ({self.counts}): {self.command}"
        if self.problem:
            return f"Mend {file}: {self.problem}"
        if self.counts:
            return f"The plan of {file} waits ({self.counts}): see it, then campus roster apply {self.path}"
        return f"Mend the refused rows of {file}, {self.refused:,}: {self.path} says why."


def leave_note(home: Path, note: Note) -> None:
    """Note what a file needs; the note on it, or on the roster before, goes."""
    path = _path(home, note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, msgspec.json.encode(note).decode())


def forget(home: Path, note: Note) -> None:
    """There is nothing to do for the file that a note is about."""
    _path(home, note).unlink(missing_ok=True)


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


def _path(home: Path, note: Note) -> Path:
    # A roster takes the place of the one before; files of marks and swipes stand side by side.
    of_file = "" if note.kind == ROSTERS else f"-{digest(note.name.encode())[:8]}"
    what = "begun" if note.command else "arrived"
    return home / PLANS / f"{what}-{note.kind}-{note.school_id}{of_file}.json"


def note_of(school_id: int, plan: Plan, path: Path, *, waits: bool) -> Note | None:
    """What a plan needs of a person; None: nothing. waits: it was not carried out yet."""
    by_action = Counter(step.action for step in plan.steps)
    counts = ", ".join(f"{count:,} to {action}" for action, count in sorted(by_action.items()))
    told = counts if waits else ""
    if not told and not plan.refused:
        return None
    workbook = path.absolute().with_suffix(".xlsx")
    return Note(ROSTERS, school_id, Path(plan.source).name, str(workbook), told, len(plan.refused))


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
    all_notes = list(_all_notes(home))
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


def _all_notes(home: Path) -> Iterator[Note]:
    for path in sorted(path for pattern in NOTES for path in (home / PLANS).glob(pattern)):
        # Whatever was done about a file by another process needs no note any more.
        with suppress(FileNotFoundError):
            note = _read_note(path)
            if note.kind in ("", ROSTERS) or not _is_older(path, TOLD_FOR):
                yield note


def _read_note(path: Path) -> Note:
    """The note of a file; one without a kind where somebody else has laid something there. Raises
    FileNotFoundError."""
    try:
        note = msgspec.json.decode(regular_content(path), type=Note)
    except FileNotFoundError:
        raise
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Note("", 0, str(path))
    return note if note.kind in NOUNS else Note("", 0, str(path))


def prune(home: Path, days: int) -> None:
    """Delete plans, results and notes that are so old: they are about children."""
    for path in (home / PLANS).glob("*"):
        # Another process may delete it first.
        with suppress(FileNotFoundError):
            if _is_older(path, days) and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()


def _is_older(path: Path, days: int) -> bool:
    return path.lstat().st_mtime < time.time() - days * DAY
