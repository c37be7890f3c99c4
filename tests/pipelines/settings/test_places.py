"""Paths that a person names: a mistyped one, or a disk that is not mounted, is said and not made."""

import errno
from pathlib import Path

import pytest

from pipelines.backup import BackupError, back_up, backups, check_folder, restore
from pipelines.lake.opening import lake_of
from pipelines.settings.settings import Settings
from tests.kits.programs.command_line import campus
from warehouse.files import unusable
from warehouse.lake.logs.tables import LOGS


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    """A home with a lake, and a published file for the commands that want one."""
    settings = Settings(home=tmp_path / "home")
    settings.home.mkdir()
    lake_of(settings).ensure(LOGS)
    return settings


def test_backup_to_a_folder_without_a_backup_is_refused(home: Settings, tmp_path: Path) -> None:
    for name, words in (("mistyped", "does not exist"), ("mounted", "holds no backup")):
        folder = tmp_path / name
        if name == "mounted":
            folder.mkdir()
        done = campus(tmp_path, "backup", str(folder), CAMPUS_HOME=str(home.home))
        assert done.exit_code == 1 and words in done.stderr and "--first" in done.stderr, done.output
        assert "its disk mounted" in done.stderr
    assert not (tmp_path / "mistyped").exists() and not list((tmp_path / "mounted").iterdir())
    assert campus(tmp_path, "backup", "--first", str(folder), CAMPUS_HOME=str(home.home)).exit_code == 0
    assert campus(tmp_path, "backup", str(folder), CAMPUS_HOME=str(home.home)).exit_code == 0
    assert len(backups(folder)) == 2


def test_first_backup_makes_one_folder_only(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match=f"the folder {tmp_path / 'no'} does not exist"):
        check_folder(tmp_path / "no" / "backups", first=True)


def test_restore_of_a_folder_that_is_not_there_says_so(home: Settings, tmp_path: Path) -> None:
    back_up(home, tmp_path / "backups", keep=1)
    with pytest.raises(
        BackupError, match=r"does not exist. See that the path is right, and its disk mounted"
    ):
        restore(Settings(home=tmp_path / "new"), tmp_path / "backup")


@pytest.mark.parametrize(
    "command",
    [
        ("export", "board", "--to", "{}/no/folder"),
        ("extract", "--pseudonymous", "--to", "{}/no/study.duckdb"),
    ],
    ids=lambda command: command[0],
)
def test_a_file_below_a_folder_that_is_not_there_is_refused(
    command: tuple[str, ...], home: Settings, tmp_path: Path
) -> None:
    words = [word.format(tmp_path) for word in command]
    done = campus(tmp_path, *words, CAMPUS_HOME=str(home.home))
    assert done.exit_code == 2 and f"{tmp_path}/no does not exist" in " ".join(done.stderr.split())
    assert not (tmp_path / "no").exists()


def test_what_the_system_refuses_is_said_in_words(home: Settings, tmp_path: Path) -> None:
    done = campus(tmp_path, "backup", "--first", "/proc/x", CAMPUS_HOME=str(home.home))
    assert done.exit_code == 1 and "Errno" not in done.stderr
    assert "/proc/x cannot be used: a folder above it does not exist, or takes no files" in done.stderr


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/srv/x"), "its permissions do not allow it"),
        (OSError(errno.EROFS, "Read-only file system", b"/srv/x"), "its disk is mounted read-only"),
        (OSError(errno.EIO, "Input/output error", "/srv/x"), "Input/output error"),
    ],
)
def test_an_error_of_the_system_names_its_path(error: OSError, words: str) -> None:
    assert unusable(error).startswith(f"/srv/x cannot be used: {words}. See that the path is right")


def test_an_error_in_words_stays_as_it_is() -> None:
    assert unusable(OSError("the UI cannot listen")) == "the UI cannot listen"
