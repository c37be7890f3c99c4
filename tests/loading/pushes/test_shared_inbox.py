"""The inbox in a folder that a receiver with a user of its own shares with the daemon."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from loading.pushes.inbox import inbox_path, left_behind, open_inbox

RECEIVER, DAEMON, GROUP, OTHERS = 54001, 54002, 54003, 54004
#: The rights go after the imports: the user may not enter the folder of the code.
ADD = """
import os, sys
from pathlib import Path
from campus.push.message import parse_push
from loading.pushes.inbox import open_inbox
home, push_id, user, *groups = sys.argv[1:]
os.umask(0o077)
os.setgroups([int(group) for group in groups])
os.setgid(int(user))
os.setuid(int(user))
with open_inbox(Path(home)) as inbox:
    body = {"id": push_id, "resource": "students", "events": [{"op": "updated", "pks": [1]}]}
    inbox.add(101, parse_push(body, 1), 100)
    for file in sorted(Path(home, "pushes").iterdir()):
        print(file.name, oct(file.stat().st_mode & 0o777), file.stat().st_gid)
    print(len(inbox.due(101, 10)))
"""


@pytest.fixture
def home() -> Iterator[Path]:
    # Not in pytest's folder, which no other user may enter.
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    (folder / "pushes").mkdir()
    yield folder
    shutil.rmtree(folder)


def as_user(user: int, groups: list[int], home: Path, push_id: str) -> list[str]:
    """What the script prints as this user, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-c", ADD, home, push_id, str(user), *map(str, groups)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines() if done.returncode == 0 else [done.stderr.splitlines()[-1]]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root, for several users")
@pytest.mark.parametrize("first", [RECEIVER, DAEMON])
def test_receiver_and_daemon_write_the_same_inbox(home: Path, first: int) -> None:
    """Whoever makes it, and whatever the umask is; another user does not even read it."""
    os.chown(home / "pushes", RECEIVER, GROUP)
    (home / "pushes").chmod(0o2770)
    second = DAEMON if first == RECEIVER else RECEIVER
    assert as_user(first, [GROUP], home, "1")[-1] == "1"
    *files, events = as_user(second, [GROUP], home, "2")
    assert events == "2"
    assert {file.partition(" ")[2] for file in files} == {f"0o660 {GROUP}"} and len(files) == 3
    assert "Permission" in as_user(OTHERS, [], home, "3")[0]


def test_the_folder_decides_where_the_inbox_is(tmp_path: Path) -> None:
    with open_inbox(tmp_path):
        pass
    before = inbox_path(tmp_path)
    assert before == tmp_path / "pushes.sqlite" and stat.S_IMODE(before.stat().st_mode) == 0o600
    assert left_behind(tmp_path) is None
    (tmp_path / "pushes").mkdir()
    with open_inbox(tmp_path):
        pass
    assert inbox_path(tmp_path) == tmp_path / "pushes" / "pushes.sqlite"
    assert left_behind(tmp_path) == before


def test_a_link_in_place_of_the_inbox_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pushes").mkdir()
    other = tmp_path / "writes.sqlite"
    other.write_bytes(b"")
    inbox_path(tmp_path).symlink_to(other)
    with pytest.raises(OSError), open_inbox(tmp_path):
        pass
    assert other.read_bytes() == b""
