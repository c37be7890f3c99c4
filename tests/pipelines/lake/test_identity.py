"""The lake of a district: each process compares its own lake with the lake that Postgres names."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg2
import pytest
from amqp.exceptions import NotFound
from click.testing import Result
from kombu.connection import Connection
from pydantic import SecretStr

from pipelines.backup import back_up, restore
from pipelines.cli.doctor.servers import examine_lake
from pipelines.lake import opening as lakes
from pipelines.lake.identity import NAME, check_lake, use_lake
from pipelines.lake.opening import lake_of, lake_without_check, make_ready
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import Program, environment_for, started
from tests.kits.servers.object_store import BUCKET, object_store
from tests.kits.servers.own_servers import rabbitmq
from tests.kits.servers.postgres import Postgres, postgres

ANOTHER = "is not the district's lake"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


@pytest.fixture
def url(server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a Postgres that knows no lake yet."""
    monkeypatch.setenv(POSTGRES_URL, server.url)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setattr(lakes, "_COMPARED", set())
    yield server.url
    with psycopg2.connect(server.url.replace("+psycopg2", "")) as connection:
        connection.cursor().execute("DROP TABLE IF EXISTS campus_lake")
    connection.close()


def machine(url: str, home: Path, lake: Path | None = None) -> Settings:
    """The settings of a machine of the district."""
    return Settings(home=home, lake=None if lake is None else str(lake), DAGSTER_POSTGRES_URL=SecretStr(url))


def refusal(settings: Settings) -> str:
    """Why a run of these settings is refused."""
    with pytest.raises(SettingsError) as error:
        check_lake(settings, lake_without_check(settings), claim=True)
    return str(error.value)


def claim(settings: Settings) -> None:
    check_lake(settings, lake_without_check(settings), claim=True)


def listeners(address: str) -> int:
    """How many workers take runs."""
    with Connection(address) as connection:
        try:
            return int(connection.default_channel.queue_declare("load", passive=True).consumer_count)
        except NotFound:
            return 0


def claims(settings: Settings) -> bool:
    """Whether a process with these settings may begin."""
    try:
        claim(settings)
    except SettingsError:
        return False
    return True


def test_without_a_district_no_lake_has_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES_URL, raising=False)
    settings = Settings(home=tmp_path)
    make_ready(lake_of(settings), settings)
    assert not (tmp_path / "lake" / NAME).exists()


def test_a_worker_without_campus_lake_is_refused(url: str, tmp_path: Path) -> None:
    shared = machine(url, tmp_path / "a", tmp_path / "lake")
    make_ready(lake_of(shared), shared)
    second = machine(url, tmp_path / "b")
    words = refusal(second)
    assert ANOTHER in words and "CAMPUS_LAKE is not set, so the lake is in CAMPUS_HOME" in words
    assert f"{tmp_path}/b/lake" in words and f"Set CAMPUS_LAKE={tmp_path}/lake in the .env" in words
    assert not (tmp_path / "b" / "lake").exists(), "nothing was made"
    with pytest.raises(SettingsError, match=ANOTHER):
        make_ready(lake_without_check(second), second)
    with pytest.raises(SettingsError, match=ANOTHER):
        lake_of(second)
    finding = examine_lake(second)
    assert finding is not None and finding.good is False and ANOTHER in finding.text
    finding = examine_lake(shared)
    assert finding is not None and finding.good is True
    # Mended, as the words say.
    claim(second.model_copy(update={"lake": str(tmp_path / "lake")}))


def test_commands_are_refused_and_name_the_file(url: str, tmp_path: Path) -> None:
    claim(machine(url, tmp_path / "a", tmp_path / "lake"))
    home, folder = tmp_path / "b", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (home / ".env").write_text(f"{POSTGRES_URL}={url}\nCAMPUS_LAKE={tmp_path}/other\n")

    def run(*arguments: str) -> Result:
        return campus(folder, *arguments, CAMPUS_HOME=str(home), CAMPUS_BASE_URL="simulator")

    for command in (["status"], ["sync"], ["build"], ["ui"], ["backup", str(tmp_path / "to")]):
        done = run(*command)
        assert done.exit_code == 2 and ANOTHER in done.stderr, (command, done.output)
        assert f"(CAMPUS_LAKE in {home}/.env)" in done.stderr
    assert not (tmp_path / "other").exists() and not (tmp_path / "to").exists()
    done = run("doctor")
    assert done.exit_code == 1 and ANOTHER in done.stdout


def test_a_lake_that_was_wiped_is_not_filled_anew(url: str, tmp_path: Path) -> None:
    settings = machine(url, tmp_path / "a", tmp_path / "lake")
    make_ready(lake_of(settings), settings)
    shutil.rmtree(tmp_path / "lake")
    words = refusal(settings)
    assert "lacks the id of the district's lake" in words and "not mounted" in words
    assert not (tmp_path / "lake").exists()
    before = use_lake(settings, lake_without_check(settings))
    assert before is not None and before.root == str(tmp_path / "lake")
    make_ready(lake_of(settings), settings)


def test_a_moved_lake_is_accepted_once_it_is_named(url: str, tmp_path: Path) -> None:
    old = machine(url, tmp_path / "a", tmp_path / "old")
    make_ready(lake_of(old), old)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    new = machine(url, tmp_path / "a", tmp_path / "new")
    assert "under another name, or a copy of it" in refusal(new)
    named = {POSTGRES_URL: url, "CAMPUS_HOME": str(new.home), "CAMPUS_LAKE": str(new.lake)}
    done = campus(tmp_path, "district", "use-lake", **named)
    assert f"The lake of the district is {new.lake}. Until now it was {old.lake}." in done.stdout, done.output
    claim(new)
    # A worker that has the old .env still, also where the copy was made in place of the old one.
    assert ANOTHER in refusal(old)


def test_a_disk_in_the_place_of_the_lake_is_noticed(url: str, tmp_path: Path) -> None:
    settings = machine(url, tmp_path / "a", tmp_path / "lake")
    claim(settings)
    (tmp_path / "lake" / NAME).write_text("another id")
    assert "has another id than the district's lake" in refusal(settings)


def test_first_starts_at_once_agree_on_one_lake(url: str, tmp_path: Path) -> None:
    """Eight processes on one lake, and eight without CAMPUS_LAKE: all of one side are refused."""
    settings = [machine(url, tmp_path / "a", tmp_path / "lake")] * 8
    settings += [machine(url, tmp_path / "b")] * 8
    start, refused = threading.Barrier(len(settings)), [False] * len(settings)

    def begin(number: int) -> None:
        start.wait()
        refused[number] = not claims(settings[number])

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(len(settings))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused[:8]) | set(refused[8:]) == {True, False}
    assert len(set(refused[:8])) == len(set(refused[8:])) == 1


def test_a_restored_lake_has_no_id_of_the_original(url: str, tmp_path: Path) -> None:
    """Else two lakes would have one id, and a worker could load into either."""
    original = machine(url, tmp_path / "a", tmp_path / "a" / "lake")
    make_ready(lake_of(original), original)
    copied = back_up(original, tmp_path / "backups", 1)
    assert copied.tables
    (tmp_path / "a").rename(tmp_path / "broken")
    with pytest.raises(SettingsError, match="lacks the id"):
        restore(original, tmp_path / "backups")
    assert not (tmp_path / "a" / "lake").exists(), "nothing was restored"
    use_lake(original, lake_without_check(original))
    given = (tmp_path / "a" / "lake" / NAME).read_text()
    assert restore(original, tmp_path / "backups").tables == copied.tables
    assert (tmp_path / "a" / "lake" / NAME).read_text() == given
    assert given != (tmp_path / "broken" / "lake" / NAME).read_text()
    make_ready(lake_of(original), original)


def test_store_keys_of_dotenv_reach_commands(tmp_path: Path) -> None:
    """As docs/how-to/district.md says: CAMPUS_LAKE and the store's own variables in the .env of the home."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    with object_store() as store:
        values = {**store.environment, "CAMPUS_LAKE": f"s3://{BUCKET}/lake", "CAMPUS_BASE_URL": "simulator"}
        (home / ".env").write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        done = campus(folder, "doctor", CAMPUS_HOME=str(home))
        assert f"The object store of the lake answers (CAMPUS_LAKE s3://{BUCKET}/lake)" in done.stdout
        words = "credentials"
        done = campus(folder, "status", CAMPUS_HOME=str(home))
        assert "Nothing has been loaded yet" in done.output and words not in done.output


@pytest.mark.slow
def test_a_worker_process_is_refused_before_it_listens(url: str, tmp_path: Path) -> None:
    with object_store() as store, rabbitmq() as (_, address):
        home = tmp_path / "home"
        home.mkdir()
        shared = {
            **store.environment,
            POSTGRES_URL: url,
            "CAMPUS_BROKER_URL": address,
            "CAMPUS_BASE_URL": "simulator",
        }

        def worker(**settings: str) -> AbstractContextManager[Program]:
            values = shared | settings
            (home / ".env").write_text("".join(f"{name}={value}\n" for name, value in values.items()))
            return started(["campus", "district", "worker"], environment_for(home), tmp_path)

        with worker(CAMPUS_LAKE=f"s3://{BUCKET}/lake") as first:
            ends = time.monotonic() + 120
            # With the store's keys of .env alone.
            while not listeners(address):
                assert first.poll(0.5) is None and time.monotonic() < ends, "the worker does not listen"
            with worker() as second:
                said = second.stdout.read()
                assert second.wait() == 2 and ANOTHER in said, said
            assert f"Set CAMPUS_LAKE=s3://{BUCKET}/lake" in said
