"""Settings that somebody else may have written, and ways on which a secret could be read."""

import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from pipelines.cli.doctor.files import examine_files
from pipelines.settings.settings import Settings, load_settings
from tests.kits.programs.command_line import campus

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


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80", "127.9.9.9"])
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
    assert "security: none allows no user" in refused(tmp_path)


MAIL = "notify: {mail: {host: mail.example, user: it, sender: a@b.example, to: [c@d.example]}}\n"
PLATFORM = {"CAMPUS_BASE_URL": "https://school.example", **CREDENTIALS}


def lines(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


@pytest.mark.parametrize("kind", ["link", "broken link", "FIFO"])
def test_dotenv_must_be_regular_file(kind: str, tmp_path: Path) -> None:
    file, target = tmp_path / ".env", tmp_path / "target"
    if kind == "FIFO":
        os.mkfifo(file)
    else:
        file.symlink_to(target)
    if kind == "link":
        target.write_text("CAMPUS_SCHOOL_IDS=101\n")
    assert f"{file} is not read: it is a link, or no regular file" in refused(tmp_path)


def test_huge_dotenv_is_refused(tmp_path: Path) -> None:
    with (tmp_path / ".env").open("wb") as file:
        file.truncate(1 << 34)
    assert "has more than 1 MB" in refused(tmp_path)


def test_folder_named_dotenv_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert campus(tmp_path, "status", CAMPUS_BASE_URL="simulator").exit_code == 1


@pytest.mark.parametrize("name", [".env", "data/campus.yaml"])
@pytest.mark.parametrize("mode", [0o660, 0o602])
def test_file_that_group_or_others_can_write_is_refused(name: str, mode: int, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / name
    file.touch()
    file.chmod(mode)
    assert f"chmod go-w {file}" in refused(tmp_path)


def test_secret_that_others_can_read_is_read_and_the_doctor_says_so(tmp_path: Path) -> None:
    """Most editors make a file of mode 644."""
    file = tmp_path / ".env"
    file.write_text(f"CAMPUS_PUSH_TOKEN={SECRET}\n")
    file.chmod(0o644)
    assert campus(tmp_path, "status").exit_code == 1
    [finding] = [
        result
        for result in examine_files(Settings(home=tmp_path / "none", read_from=(file,)))
        if not result.good
    ]
    assert str(file) in finding.text and "chmod" in finding.text


@AS_ROOT
def test_dotenv_of_root_is_read_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where configuration management writes the file, and the service is in its group."""
    file = tmp_path / ".env"
    file.write_text(lines(PLATFORM))
    os.chown(file, 0, 12345)
    file.chmod(0o640)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert campus(tmp_path, "status").exit_code == 1


@pytest.mark.parametrize("name", ["campus_base_url", "Campus_Base_Url", "export CAMPUS_BASE_URL"])
def test_other_spelling_of_address_gets_no_secret(name: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{name}=https://evil.example\n")
    assert "CAMPUS_BASE_URL is in" in refused(tmp_path, "doctor", **CREDENTIALS)


@pytest.mark.parametrize("name", ["CAMPUS_BASE_URL", "CAMPUS_CLIENT_ID", "CAMPUS_CLIENT_SECRET"])
def test_dotenv_takes_nothing_of_the_environment(name: str, tmp_path: Path) -> None:
    """`${NAME}` would put another secret into an address, or send it as the client's secret. Dagster's own
    programs would replace it, so it is refused."""
    hostile = PLATFORM | {
        "CAMPUS_CLIENT_SECRET": "own",
        name: "https://evil.example/${AWS_SECRET_ACCESS_KEY}",
    }
    (tmp_path / ".env").write_text(lines(hostile))
    words = refused(tmp_path, "doctor", AWS_SECRET_ACCESS_KEY=SECRET)
    assert f"{name} in {tmp_path}/.env has ${{" in words


def test_dagster_may_repeat_a_dotenv(tmp_path: Path) -> None:
    """Dagster's programs put the .env of their folder into the environment of the processes they start."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "campus.yaml").write_text(MAIL)
    values = PLATFORM | {"CAMPUS_NOTIFY_PASSWORD": "pa55", "CAMPUS_LAKE": str(tmp_path / "lake")}
    (tmp_path / ".env").write_text(lines(values))
    assert campus(tmp_path, "status").exit_code == 1
    assert campus(tmp_path, "status", **values).exit_code == 1


@pytest.mark.parametrize(
    "line",
    [
        "CAMPUS_LAKE=s3://evil/lake",
        "CAMPUS_CONFIG=campus.yaml",
        "CAMPUS_NOTIFY_URL=https://evil.example/hook",
        "CAMPUS_ALLOW_WRITES=true",
        "CAMPUS_ALLOW_HTTP=true",
        "DAGSTER_POSTGRES_URL=postgresql+psycopg2://u:p4ss@evil.example/x",
        lines(PLATFORM | {"CAMPUS_BASE_URL": "https://evil.example", "CAMPUS_CLIENT_SECRET": "own"}),
    ],
)
@pytest.mark.parametrize("place", ["home", "environment"])
def test_folder_directs_nothing_loaded_with_anothers_secret(line: str, place: str, tmp_path: Path) -> None:
    """A folder's .env sends no rows of the operator's platform elsewhere, and puts none into the home."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (folder / "campus.yaml").touch()
    (folder / ".env").write_text(line)
    environment = {"CAMPUS_HOME": str(home)}
    if place == "environment":
        environment |= PLATFORM
    else:
        (home / ".env").write_text(lines(PLATFORM))
    words = refused(folder, **environment)
    assert f"{folder}/.env" in words and line.partition("=")[0] in words


def test_folder_may_narrow_what_is_loaded(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (home / ".env").write_text(lines(PLATFORM))
    (folder / ".env").write_text(f"CAMPUS_HOME={home}\nCAMPUS_SCHOOL_IDS=101\nCAMPUS_REPORTS=ranks\n")
    assert campus(folder, "status").exit_code == 1


def test_mail_password_goes_to_no_server_of_a_folder(tmp_path: Path) -> None:
    """Where the environment has the password, the environment names campus.yaml, too."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "campus.yaml").write_text(MAIL)
    words = refused(tmp_path, CAMPUS_NOTIFY_PASSWORD=SECRET)
    assert "CAMPUS_NOTIFY_PASSWORD" in words and f"{tmp_path}/data/campus.yaml" in words
    for named in ({"CAMPUS_HOME": "data"}, {"CAMPUS_CONFIG": "data/campus.yaml"}):
        assert campus(tmp_path, "status", CAMPUS_NOTIFY_PASSWORD=SECRET, **named).exit_code == 1
    (tmp_path / "data" / ".env").write_text(f"CAMPUS_NOTIFY_PASSWORD={SECRET}\n")
    assert campus(tmp_path, "status").exit_code == 1


def test_storage_keys_load_into_no_store_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CAMPUS_LAKE=s3://evil/lake\n")
    assert "CAMPUS_LAKE" in refused(tmp_path, AWS_SECRET_ACCESS_KEY=SECRET)
    (tmp_path / "data").mkdir()
    (tmp_path / ".env").rename(tmp_path / "data" / ".env")
    done = campus(tmp_path, "doctor", AWS_SECRET_ACCESS_KEY=SECRET, CAMPUS_HOME=str(tmp_path / "data"))
    assert "CAMPUS_LAKE" not in done.stderr


def test_environment_alone_is_enough(tmp_path: Path) -> None:
    """As in a container or a unit with an EnvironmentFile."""
    everything = PLATFORM | {
        "CAMPUS_HOME": str(tmp_path),
        "CAMPUS_LAKE": str(tmp_path / "lake"),
        "CAMPUS_NOTIFY_URL": "https://hook.example/send",
        "CAMPUS_NOTIFY_PASSWORD": "pa55",
    }
    (tmp_path / "campus.yaml").write_text(MAIL)
    assert campus(tmp_path, "status", **everything).exit_code == 1


def test_home_of_the_environment_completes_it(tmp_path: Path) -> None:
    """Units set CAMPUS_HOME and a database; the platform is in the home's .env."""
    (tmp_path / ".env").write_text(lines(PLATFORM | {"CAMPUS_LAKE": str(tmp_path / "lake")}))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = campus(elsewhere, "status", CAMPUS_HOME=str(tmp_path), CAMPUS_RESULT_URL="redis://127.0.0.1:1/0")
    assert done.exit_code == 1


def test_subdomain_of_localhost_is_no_loopback(tmp_path: Path) -> None:
    """A resolver may ask the network for such a name."""
    words = refused(tmp_path, **CREDENTIALS, CAMPUS_BASE_URL="http://api.localhost")
    assert "CAMPUS_BASE_URL begins with http://" in words


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"])
@pytest.mark.parametrize("secret", ["AWS_SECRET_ACCESS_KEY", "CAMPUS_CLIENT_SECRET"])
def test_folder_says_not_where_the_store_is(name: str, secret: str, tmp_path: Path) -> None:
    """Of the secret, or of the rows, that another place sends there."""
    (tmp_path / ".env").write_text(f"{name}=https://evil.example\n")
    assert f"{name} in {tmp_path}/.env" in refused(tmp_path, **{secret: SECRET})


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
