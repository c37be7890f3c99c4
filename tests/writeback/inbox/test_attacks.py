"""What somebody who may write into one school's inbox folder could try, and what an upgrade finds there."""

import os
from pathlib import Path

import pytest

from campus.files.table_file import TableError
from pipelines.writes.runs import ArrivedFile
from untrusted.files import FileChanged
from writeback.inbox.folder import (
    DONE,
    InboxFile,
    inbox_files_of,
    list_arrived,
    move_to_done,
    read_arrived,
    remove_old,
)
from writeback.inbox.requests import AGAIN_WITHIN, Memory, memory_of, to_read, without_further_run
from writeback.kinds import ATTENDANCE, ROSTERS

LONG_AGO = -1.0


def put(folder: Path, name: str, at: int, text: str = "a", school: str = "101", kind: str = ROSTERS) -> Path:
    """A file in the inbox, of this time in seconds."""
    file = folder / school / kind / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (at, at))
    return file


def look(folder: Path, kind: str = ROSTERS) -> list[InboxFile]:
    return list_arrived(folder, kind, None, print)


def test_a_hard_link_to_another_schools_roster_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = put(tmp_path, "theirs.csv", 1, school="102")
    (tmp_path / "101" / ROSTERS).mkdir(parents=True)
    (tmp_path / "101" / ROSTERS / "link.csv").hardlink_to(theirs)
    assert look(tmp_path) == []
    assert "link.csv is left alone: it has a second name (a hard link)" in capsys.readouterr().out
    with pytest.raises(TableError, match="second name"):
        read_arrived(tmp_path, ROSTERS, 101, "link.csv")


@pytest.mark.parametrize("school", ["0101", "１０１", "+101", "101 "])
def test_a_school_has_one_spelling(tmp_path: Path, school: str) -> None:
    put(tmp_path, "r.csv", 1, school=school)
    assert look(tmp_path) == []


def test_a_name_that_cannot_be_shown_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "a\x1b[2J.csv", 1)
    assert look(tmp_path) == []
    message = capsys.readouterr().out
    assert "'a\\x1b[2J.csv' in " in message and "is left alone: its name has characters" in message


@pytest.mark.parametrize("name", ["/etc/shadow", "../x.csv", "r.pdf", "x\n[a](b).csv"])
def test_a_run_takes_no_path(name: str) -> None:
    """It fails before a note of it gets into the message in the morning."""
    with pytest.raises(ValueError, match="expected the name of a file"):
        ArrivedFile(school_id=101, file=name, stamp="")


def test_file_that_changes_while_it_is_read_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, fstat = put(tmp_path, "r.csv", 1), os.fstat

    def grow(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        file.write_text(file.read_text() + "a")
        return status

    with monkeypatch.context() as patched:
        patched.setattr("untrusted.files.os.fstat", grow)
        with pytest.raises(FileChanged, match="was changed while it was read"):
            read_arrived(tmp_path, ROSTERS, 101, "r.csv")
    assert read_arrived(tmp_path, ROSTERS, 101, "r.csv")[0].content == file.read_bytes()


def test_a_file_that_comes_during_the_move_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes between the look and the move, and nobody has read it."""
    file = put(tmp_path, "r.csv", 1, "read")
    [seen] = look(tmp_path)
    rename = os.rename

    def late(*args: object, **kwargs: object) -> None:
        monkeypatch.setattr(os, "rename", rename)
        new = put(tmp_path, "new", 2, "unread")
        new.replace(file)
        rename(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", late)
    move_to_done(tmp_path, ROSTERS, seen)
    assert file.read_text() == "unread"
    assert list((file.parent / DONE).iterdir()) == []


def test_the_longest_name_is_moved_twice(tmp_path: Path) -> None:
    name = "王" * 80 + ".csv"
    for text in ("first", "second"):
        file = put(tmp_path, name, 1, text)
        move_to_done(tmp_path, ROSTERS, look(tmp_path)[0])
    assert sorted(path.read_text() for path in (file.parent / DONE).iterdir()) == ["first", "second"]


def test_a_folder_in_done_holds_up_no_removal(tmp_path: Path) -> None:
    put(tmp_path, "r.csv", 1)
    move_to_done(tmp_path, ROSTERS, look(tmp_path)[0])
    done = tmp_path / "101" / ROSTERS / DONE
    (done / "0").mkdir()
    problems = remove_old(tmp_path, ROSTERS, LONG_AGO, {})
    assert [path.name for path in done.iterdir()] == ["0"]
    assert problems == []


def test_a_link_in_place_of_done_removes_nothing_elsewhere(tmp_path: Path) -> None:
    theirs = put(tmp_path, "r.csv", 1, school="102")
    (tmp_path / "101" / ROSTERS).mkdir(parents=True)
    (tmp_path / "101" / ROSTERS / DONE).symlink_to(theirs.parent)
    remove_old(tmp_path, ROSTERS, LONG_AGO, {})
    assert theirs.exists()


def test_files_that_no_run_reads_again_are_removed_after_some_days(tmp_path: Path) -> None:
    """A roster that a newer one superseded, one that makes no sense, one that was tried for a day. One that
    waits for its run stays, however old."""
    waits = put(tmp_path, "waits.csv", 5, school="103")
    old, new = put(tmp_path, "old.csv", 1), put(tmp_path, "new.csv", 2)
    tried = put(tmp_path, "tried.csv", 2, school="102")
    memory = Memory()
    for _ in range(2):
        due = to_read(
            ROSTERS, [file for file in look(tmp_path) if file.school_id != 103], memory, bool, print, 0
        )
    assert {file.name for file in due} == {"new.csv", "tried.csv"}
    memory.requests[str(new)].ended = True

    def removed(now: float, days: float) -> set[Path]:
        remove_old(tmp_path, ROSTERS, days, without_further_run(ROSTERS, look(tmp_path), memory, now))
        return {file for file in (old, new, tried, waits) if not file.exists()}

    assert removed(0, 1) == set()
    assert removed(0, LONG_AGO) == {old, new}
    assert removed(AGAIN_WITHIN, LONG_AGO) == {old, new, tried}


def test_a_file_that_came_anew_is_not_removed_for_the_one_before(tmp_path: Path) -> None:
    file = put(tmp_path, "r.csv", 1)
    ended = {str(file): look(tmp_path)[0].stamp}
    put(tmp_path, "r.csv", 2, "other")
    remove_old(tmp_path, ROSTERS, LONG_AGO, ended)
    assert file.exists()


def test_what_cannot_be_removed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "r.csv", 1)
    move_to_done(tmp_path, ROSTERS, look(tmp_path)[0])

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "unlink", refuse)
    [problem] = remove_old(tmp_path, ROSTERS, LONG_AGO, {})
    assert "cannot be removed: Read-only file system" in problem


def test_all_files_of_the_folder_are_listed(tmp_path: Path) -> None:
    """For whoever forgets a person: also what a program left, and what was done."""
    put(tmp_path, "r.csv", 1)
    move_to_done(tmp_path, ROSTERS, look(tmp_path)[0])
    left = put(tmp_path, "~$r.xlsx", 1, kind=ATTENDANCE)
    (left.parent / "link.csv").symlink_to(left)
    [done] = (tmp_path / "101" / ROSTERS / DONE).iterdir()
    assert set(inbox_files_of(tmp_path)) == {done, left}


def test_runs_for_two_files_alike_have_two_names(tmp_path: Path) -> None:
    """Exports of two schools, as long, of the same second: Dagster starts no second run of one name."""
    for school in ("101", "102"):
        put(tmp_path, "r.csv", 1, school=school)
    memory = Memory()
    for _ in range(2):
        due = to_read(ROSTERS, look(tmp_path), memory, bool, print, 0)
    assert len({memory.requests[file.path].key for file in due}) == len(due) == 2


def test_a_cursor_that_nobody_can_read_starts_anew() -> None:
    assert memory_of('{"seen": 7}') == memory_of("nonsense") == Memory()
