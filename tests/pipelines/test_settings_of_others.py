"""Settings that somebody else may have written, and ways on which a secret could be read."""

import os
from pathlib import Path

import pytest
from command_line import campus

SECRET = "sk-do-not-tell"
CREDENTIALS = {"CAMPUS_CLIENT_ID": "warehouse", "CAMPUS_CLIENT_SECRET": SECRET}
HOSTILE = "CAMPUS_BASE_URL=https://evil.example\n"
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


def test_a_dotenv_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("CAMPUS_SCHOOL_IDS=101\n")
    file.chmod(0o666)
    assert f"{file} can be written by everybody" in refused(tmp_path)


def test_a_folders_address_gets_no_secret_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(HOSTILE)
    words = refused(tmp_path, "doctor", **CREDENTIALS)
    assert "CAMPUS_BASE_URL is in" in words and "CAMPUS_CLIENT_SECRET in the environment" in words


def test_a_folders_address_gets_no_secret_of_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    credentials = "".join(f"{name}={value}\n" for name, value in CREDENTIALS.items())
    (home / ".env").write_text(f"CAMPUS_BASE_URL=https://school.example\n{credentials}")
    (tmp_path / ".env").write_text(HOSTILE)
    words = refused(tmp_path, "doctor", CAMPUS_HOME=str(home))
    assert f"CAMPUS_BASE_URL is in {tmp_path}/.env, and CAMPUS_CLIENT_SECRET in {home}/.env" in words


def test_who_names_the_address_in_the_environment_means_it(tmp_path: Path) -> None:
    credentials = "".join(f"{name}={value}\n" for name, value in CREDENTIALS.items())
    (tmp_path / ".env").write_text(f"CAMPUS_BASE_URL=https://school.example\n{credentials}")
    done = campus(tmp_path, "status", CAMPUS_BASE_URL="https://other.example")
    assert "Nothing has been loaded yet" in done.output


@pytest.mark.parametrize("name", ["CAMPUS_BASE_URL", "CAMPUS_NOTIFY_URL"])
def test_plain_http_needs_a_setting_beyond_this_machine(tmp_path: Path, name: str) -> None:
    given = {**CREDENTIALS, name: "http://school.example/hook"}
    assert f"{name} begins with http://" in refused(tmp_path, **given)
    assert campus(tmp_path, "status", **given, CAMPUS_ALLOW_HTTP="true").exit_code == 1


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80", "127.9.9.9", "api.localhost"])
def test_plain_http_within_this_machine_is_no_risk(tmp_path: Path, host: str) -> None:
    done = campus(tmp_path, "status", **CREDENTIALS, CAMPUS_BASE_URL=f"http://{host}")
    assert done.exit_code == 1 and "http://" not in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "10.0.0.1"])
def test_a_name_that_begins_like_this_machine_is_another(tmp_path: Path, host: str) -> None:
    words = refused(tmp_path, **CREDENTIALS, CAMPUS_BASE_URL=f"http://{host}")
    assert "CAMPUS_BASE_URL begins with http://" in words


def test_a_login_without_encryption_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mail = "{host: mail.example, security: none, user: it, sender: a@b.example, to: [c@d.example]}"
    (tmp_path / "data" / "campus.yaml").write_text(f"notify: {{mail: {mail}}}\n")
    assert "with security: none nobody logs in" in refused(tmp_path)
