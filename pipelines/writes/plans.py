"""The folder of plans: what waits there for a person, and what is too old to be kept.

Of the files that have arrived, a note a school and kind tells of the last one: a plan that waits, rows that
were refused, a file that cannot be read."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from loading.writes.roster.plan import Plan
from pipelines.writes.inbox import ATTENDANCE, ROSTERS, SWIPES
from warehouse.files import write_text

FOLDER, NOTES = "plans", "arrived-{kind}-{school_id}.json"
NOUNS = {ROSTERS: "roster", ATTENDANCE: "file of marks", SWIPES: "file of swipes"}
DAY = 86_400.0


class Note(msgspec.Struct, frozen=True):
    """Of one file. `name`: the file's. `path`: of its plan, or of the result of its rows. `counts`: of a plan
    that waits. `problem`: why nothing came of the file."""

    kind: str
    school_id: int
    name: str
    path: str = ""
    counts: str = ""
    refused: int = 0
    problem: str = ""

    @property
    def words(self) -> str:
        """What there is to do, without a name of a child."""
        file = f"the {NOUNS[self.kind]} {self.name}".strip() + f" of school {self.school_id}"
        if self.problem:
            return f"Mend {file}: {self.problem}"
        if self.counts:
            return f"The plan of {file} waits ({self.counts}): see it, then campus roster apply {self.path}"
        return f"Mend the refused rows of {file}, {self.refused:,}: {self.path} says why."


def leave_note(home: Path, note: Note) -> None:
    """Note what a file needs; the note on the one before of the school goes."""
    path = home / FOLDER / NOTES.format(kind=note.kind, school_id=note.school_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, msgspec.json.encode(note).decode())


def forget(home: Path, kind: str, school_id: int) -> None:
    """There is nothing to do for a school's last file."""
    (home / FOLDER / NOTES.format(kind=kind, school_id=school_id)).unlink(missing_ok=True)


def note_of(school_id: int, plan: Plan, path: Path, *, waits: bool) -> Note | None:
    """What a plan needs of a person; None: nothing. waits: it was not carried out yet."""
    by_action = Counter(step.action for step in plan.steps)
    counts = ", ".join(f"{count:,} to {action}" for action, count in sorted(by_action.items()))
    told = counts if waits else ""
    if not told and not plan.refused:
        return None
    workbook = path.absolute().with_suffix(".xlsx")
    return Note(ROSTERS, school_id, Path(plan.source).name, str(workbook), told, len(plan.refused))


def waits_no_more(home: Path, plan: Plan, path: Path) -> None:
    """A plan was carried out: it waits no more."""
    for note in notes(home):
        if note.counts and Path(note.path) == path.absolute().with_suffix(".xlsx"):
            left = note_of(plan.school_id, plan, path, waits=False)
            if left:
                leave_note(home, left)
            else:
                forget(home, ROSTERS, plan.school_id)


def notes(home: Path) -> Iterator[Note]:
    """All that wait, by school."""
    for path in sorted((home / FOLDER).glob(NOTES.format(kind="*", school_id="*"))):
        yield msgspec.json.decode(path.read_bytes(), type=Note)


def prune(home: Path, days: int) -> None:
    """Delete plans and results that are so old: they are about children."""
    before = time.time() - days * DAY
    for path in (home / FOLDER).glob("*"):
        if path.stat().st_mtime < before and not path.match(NOTES.format(kind="*", school_id="*")):
            path.unlink(missing_ok=True)
