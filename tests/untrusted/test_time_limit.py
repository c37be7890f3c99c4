"""An inbox folder on a dead network mount blocks no run, no sensor, and not the end of a process."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from campus.files.table_file import TableError
from tests.kits.waiting import PATIENCE
from untrusted import files, time_limit
from untrusted.time_limit import FolderAway, within
from writeback.inbox import folder as inbox_files
from writeback.inbox.folder import list_arrived, read_arrived
from writeback.kinds import ROSTERS

#: Blocks in a system call, as a read of a dead mount does, and then comes to its end.
BLOCKED = """
import os, sys
from pathlib import Path
from untrusted.time_limit import FolderAway, within
read, _ = os.pipe()
try:
    within(0.3)(lambda folder: os.read(read, 1))(Path("/inbox"))
except FolderAway as error:
    print(error.strerror)
"""


@pytest.fixture
def alive() -> Iterator[threading.Event]:
    """Set once the mount answers again."""
    event = threading.Event()
    yield event
    event.set()


def test_process_with_blocked_read_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "no answer for 0.3 s: see that its network mount answers\n"


def test_results_and_errors_pass(tmp_path: Path) -> None:
    def divide(folder: Path, number: int) -> float:
        return 1 / number

    assert within(PATIENCE)(divide)(tmp_path, 2) == 0.5
    with pytest.raises(ZeroDivisionError):
        within(PATIENCE)(divide)(tmp_path, 0)


def test_blocked_folder_gets_no_second_thread(tmp_path: Path, alive: threading.Event) -> None:
    look = within(0.1)(lambda folder: alive.wait())
    with pytest.raises(FolderAway, match=r"no answer for 0\.1 s"):
        look(tmp_path)
    threads = threading.active_count()
    for _ in range(5):
        with pytest.raises(FolderAway, match="an earlier call still waits"):
            look(tmp_path)
    assert threading.active_count() == threads
    # Other folders are no part of it.
    assert within(PATIENCE)(lambda folder: True)(tmp_path / "other")
    alive.set()
    time_limit._BLOCKED[tmp_path].join()
    assert within(PATIENCE)(lambda folder: alive.wait())(tmp_path), "the mount is back"


def test_reading_of_dead_mount_ends(
    tmp_path: Path, alive: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "101" / ROSTERS).mkdir(parents=True)
    (tmp_path / "101" / ROSTERS / "r.csv").write_text("usin\n7\n")
    assert read_arrived(tmp_path, ROSTERS, 101, "r.csv")[0].content == b"usin\n7\n"
    read = files._read
    monkeypatch.setattr(files, "_read", lambda *arguments: (alive.wait(), read(*arguments))[1])
    impatient = within(0.2)(files.read_below.__wrapped__)  # type: ignore[attr-defined]
    monkeypatch.setattr(inbox_files, "read_below", impatient)
    with pytest.raises(FolderAway):
        read_arrived(tmp_path, ROSTERS, 101, "r.csv")
    with pytest.raises(FolderAway):
        list_arrived(tmp_path, ROSTERS, None, print)


@pytest.mark.parametrize(("number", "kind"), [(errno.ESTALE, FolderAway), (errno.EACCES, TableError)])
def test_mount_that_refuses_is_away_and_file_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    """What makes no sense is never read again; a mount comes back."""
    (tmp_path / "101" / ROSTERS).mkdir(parents=True)
    (tmp_path / "101" / ROSTERS / "r.csv").write_text("usin\n7\n")

    def refuse(*_names: object, max_bytes: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(inbox_files, "read_below", refuse)
    with pytest.raises(kind):
        read_arrived(tmp_path, ROSTERS, 101, "r.csv")
