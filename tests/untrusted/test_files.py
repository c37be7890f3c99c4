"""Files that somebody else may write: what is read of them, and what is refused."""

import os
import socket
from pathlib import Path

import pytest

from untrusted.files import FileChanged, FileRefused, files_below, folders_below, read_below, read_named

MAX_BYTES = 1_000_000
NO_FILE = "it is a link, or no regular file"


def read(base: Path, *names: str) -> bytes:
    return read_below(base, *names, max_bytes=MAX_BYTES).content


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with `101/a.csv`, beside a file and a folder that nobody may see through it."""
    (tmp_path / "base" / "101").mkdir(parents=True)
    (tmp_path / "base" / "101" / "a.csv").write_bytes(b"a\xff\0")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.csv").write_text("hunter2")
    return tmp_path / "base"


def test_regular_file_is_read_whatever_it_holds(base: Path) -> None:
    assert read(base, "101", "a.csv") == b"a\xff\0"
    (base / "101" / "a.csv").write_bytes(b"")
    assert read(base, "101", "a.csv") == b""


@pytest.mark.parametrize("target", ["../../private/a.csv", "/dev/zero", "nowhere", "a.csv"])
def test_link_to_a_file_is_refused(base: Path, target: str) -> None:
    (base / "101" / "link.csv").symlink_to(target)
    with pytest.raises(FileRefused, match=f"link.csv is not read: {NO_FILE}"):
        read(base, "101", "link.csv")


def test_link_to_a_folder_is_refused_at_each_level(base: Path) -> None:
    (base / "102").symlink_to("../private")
    (base / "101" / "inner").symlink_to("../../private")
    for folders in (("102",), ("101", "inner")):
        with pytest.raises(FileRefused, match=f"{folders[-1]} is not read: it is a link, or no folder"):
            read(base, *folders, "a.csv")
        with pytest.raises(FileRefused, match="it is a link, or no folder"):
            files_below(base, *folders)


def test_base_may_be_a_link(base: Path, tmp_path: Path) -> None:
    """As where the folder of a home is a network share."""
    (tmp_path / "linked").symlink_to(base)
    assert read(tmp_path / "linked", "101", "a.csv") == b"a\xff\0"
    assert folders_below(tmp_path / "linked") == ["101"]


def test_hard_link_is_refused(base: Path) -> None:
    os.link(base.parent / "private" / "a.csv", base / "101" / "hard.csv")
    with pytest.raises(FileRefused, match="a second name"):
        read(base, "101", "hard.csv")


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
def test_irregular_file_is_refused_and_not_waited_for(
    base: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(base)
    if kind == "fifo":
        os.mkfifo("x.csv")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("x.csv")
    else:
        Path("x.csv").mkdir()
    with pytest.raises(FileRefused, match=NO_FILE):
        read(base, "x.csv")
    with pytest.raises(FileRefused, match="no regular file"):
        read_named(base / "x.csv", max_bytes=MAX_BYTES)


def test_huge_file_is_refused_unread(base: Path) -> None:
    with (base / "x.csv").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileRefused, match=r"x\.csv has more than 1 MB"):
        read(base, "x.csv")


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_replaces_a_file_before_it_is_opened_is_refused(
    base: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at the file finds a regular file."""
    status, path = (base / "101" / "a.csv").stat(), base / "101" / "x.csv"
    if kind == "link":
        path.symlink_to("../../private/a.csv")
    else:
        os.mkfifo(path)
    monkeypatch.setattr(os, "stat", lambda *_arguments, **_options: status)
    with pytest.raises(FileRefused, match=NO_FILE):
        read(base, "101", "x.csv")


@pytest.mark.parametrize("written", [b"more", b"bbb"])
def test_file_that_is_written_meanwhile_is_refused(
    base: Path, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fstat = base / "101" / "a.csv", os.fstat
    os.utime(path, (0, 0))

    def write(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        path.write_bytes(written)
        return status

    monkeypatch.setattr(os, "fstat", write)
    with pytest.raises(FileChanged, match="was changed while it was read"):
        read(base, "101", "a.csv")


def test_file_that_a_user_names_may_be_a_link(base: Path, tmp_path: Path) -> None:
    (tmp_path / "named.csv").symlink_to(base / "101" / "a.csv")
    os.link(base / "101" / "a.csv", tmp_path / "hard.csv")
    for name in ("named.csv", "hard.csv"):
        assert read_named(tmp_path / name, max_bytes=MAX_BYTES).content == b"a\xff\0"
    for path in (Path("/dev/zero"), tmp_path):
        with pytest.raises(FileRefused, match="it is no regular file"):
            read_named(path, max_bytes=MAX_BYTES)


def test_names_are_those_of_files_and_links(base: Path) -> None:
    for name in (".hidden", "~lock.csv", "b.csv"):
        (base / name).touch()
    (base / "link").symlink_to("101")
    os.mkfifo(base / "fifo")
    assert files_below(base) == ["b.csv", "fifo", "link"]
    assert folders_below(base) == ["101"]
    assert files_below(base / "none") == files_below(base, "none") == folders_below(base / "b.csv") == []


def test_what_is_absent_or_forbidden_is_no_refusal(base: Path) -> None:
    for names in (("101", "none.csv"), ("103", "a.csv")):
        with pytest.raises(FileNotFoundError):
            read(base, *names)
