"""Settings that somebody else may have written, and ways on which a secret could be read."""

import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from pipelines.settings.settings import load_settings
from tests.kits.programs.command_line import campus

SECRET = "sk-do-not-tell"
CREDENTIALS = {"CAMPUS_CLIENT_ID": "warehouse", "CAMPUS_CLIENT_SECRET": SECRET}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def refused(folder: Path, *arguments: str, **environment: str) -> str:
    """What the command says that does not run."""
    done = campus(folder, *(arguments or ("status",)), **environment)
    assert done.exit_code == 2, done.output
    assert SECRET not in done.output
    return done.stderr


@AS_ROOT
def test_a_dotenv_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("CAMPUS_SCHOOL_IDS=101\n")
    os.chown(file, 65534, -1)
    words = refused(tmp_path)
    assert f"{file} belongs to nobody, and this is root: it is not read" in words


@AS_ROOT
def test_a_campus_yaml_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "campus.yaml"
    file.write_text("writes: {inbox: {apply: true}}\n")
    os.chown(file, 65534, -1)
    assert f"{file} belongs to nobody" in refused(tmp_path)


PLATFORM = {"CAMPUS_BASE_URL": "https://school.example", **CREDENTIALS}


def lines(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


def test_huge_dotenv_is_refused(tmp_path: Path) -> None:
    with (tmp_path / ".env").open("wb") as file:
        file.truncate(1 << 34)
    assert "has more than 1 MB" in refused(tmp_path)


@AS_ROOT
def test_dotenv_of_root_is_read_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where configuration management writes the file, and the service is in its group."""
    file = tmp_path / ".env"
    file.write_text(lines(PLATFORM))
    os.chown(file, 0, 12345)
    file.chmod(0o640)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert campus(tmp_path, "status").exit_code == 1


def test_store_keys_of_dotenv_yield_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("AWS_REGION=eu\nAWS_ACCESS_KEY_ID=file\nAWS_PROFILE=other\n")
    with patch.dict(os.environ, {"AWS_REGION": "us"}):
        # An earlier test of the process may have read the keys of its object store.
        for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
            os.environ.pop(name, None)
        load_settings()
        assert [os.environ.get(name) for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")] == [
            "us",
            "file",
            None,
        ]
