"""The folder of plans holds whatever somebody lays there: it stops neither a status nor a run."""

import os
import time
from pathlib import Path

import pytest

from pipelines.writes.plans import Note, leave_note, notes, prune

LONG_AGO = time.time() - 100 * 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "plans"
    made.mkdir()
    return made


def test_what_is_no_note_is_told_beside_the_notes(folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_text("hunter2, the first line")
    (folder / "arrived-a.json").symlink_to(secret)
    os.mkfifo(folder / "arrived-b.json")
    (folder / "arrived-c.json").mkdir()
    (folder / "arrived-d.json").write_text("hunter2")
    (folder / "arrived-e.json").write_text('{"kind": "hunter2", "school_id": 101, "name": ""}')
    (folder / "arrived-f.json").write_text("[" * 9999)
    leave_note(folder.parent, Note("rosters", 101, "r.csv", problem="it makes no sense"))
    *others, ours = [note.words for note in notes(folder.parent)]
    assert ours == "Mend the roster r.csv of school 101: it makes no sense"
    assert others == [
        f"{folder}/arrived-{letter}.json is no note of campus: delete it." for letter in "abcdef"
    ]


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
    prune(folder.parent, 90)
    assert {path.name for path in folder.iterdir()} == {"folder", "new.json"}
    assert target.read_text() == "kept"
