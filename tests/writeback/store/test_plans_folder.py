"""The folder of plans holds whatever somebody lays there: it stops neither a status nor a run."""

import os
import time
from pathlib import Path

import pytest

from warehouse.files import locked
from writeback.notes import delete_old, leave_note, note_begin, note_end, notes
from writeback.outcomes import RowOutcome
from writeback.store.location import LOCK
from writeback.store.notes import Note
from writeback.store.store import Store

LONG_AGO = time.time() - 100 * 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "plans"
    made.mkdir()
    return made


def test_old_links_go_and_old_folders_stay(folder: Path) -> None:
    target = folder.parent / "target"
    target.write_text("kept")
    (folder / "plan.json").write_text("old")
    (folder / "link.json").symlink_to(target)
    (folder / "dangling.json").symlink_to(folder / "nowhere")
    (folder / "folder").mkdir()
    (folder / "new.json").write_text("new")
    for path in set(folder.iterdir()) - {folder / "new.json"}:
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    delete_old(folder.parent, 90)
    assert {path.name for path in folder.iterdir()} == {"folder", "new.json"}
    assert target.read_text() == "kept"


def words(folder: Path) -> list[str]:
    return [note.words for note in notes(folder.parent)]


def test_what_was_begun_is_told_until_it_comes_to_its_end(folder: Path) -> None:
    """In the place of the note that its plan waits for a person."""
    (folder / "p.json").write_text("a plan")
    note = Note("rosters", 101, "r.csv", str(folder / "p.xlsx"), command="campus roster apply p")
    leave_note(folder.parent, Note("rosters", 101, "r.csv", str(folder / "p.xlsx"), counts="3 to create"))
    note_begin(folder.parent, note)
    begun = "Writing the roster r.csv of school 101 did not finish"
    [line] = words(folder)
    assert line.startswith(f"{begun} (the number of open rows is not known): ")
    assert line.endswith(": campus roster apply p")
    rows = [RowOutcome(line, f"k-{line}", "waiting") for line in range(280)]
    rows += [RowOutcome(0, "k", "unconfirmed"), RowOutcome(1, "l", "written"), RowOutcome(2, "m", "refused")]
    note_end(folder.parent, note, rows)
    assert words(folder) == [f"{begun} (280 waiting, 1 unconfirmed): campus roster apply p"]
    note_end(folder.parent, note, rows[-2:])
    assert words(folder) == [
        "The plan of the roster r.csv of school 101 waits (3 to create): see it, "
        f"then campus roster apply {folder / 'p.xlsx'}"
    ]


def test_what_is_under_way_or_unwanted_is_not_told(folder: Path) -> None:
    (folder / "p.json").write_text("a plan")
    note_begin(
        folder.parent, Note("rosters", 101, "r", str(folder / "p.xlsx"), command="campus roster apply p")
    )
    with Store(folder.parent), locked(folder.parent / LOCK):
        assert words(folder) == []
    assert len(words(folder)) == 1
    (folder / "p.json").unlink()
    assert words(folder) == []


def test_old_notes_on_files_of_marks_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = folder.parent
    for kind in ("rosters", "attendance"):
        leave_note(home, Note(kind, 101, "f.csv", problem="it makes no sense"))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 8 * 86_400)
    assert words(folder) == ["Correct the roster f.csv of school 101: it makes no sense"]
    delete_old(home, 7)
    assert words(folder) == []
