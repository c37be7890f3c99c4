"""Homes outlive versions and machines: one that an earlier version made, a backup, and what is made of it."""

import hashlib
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import write_deltalake

from campus.attendance.requests import SESSIONS
from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.tables import TABLES
from pipelines.backup import BackupError, back_up, backups, restore
from pipelines.cli.actions.load import run_load
from pipelines.cli.main import main
from pipelines.definitions import publication_definitions
from pipelines.lake.opening import lake_of
from pipelines.nights.sync import build
from pipelines.resources import runtime_without_platform
from pipelines.runs.instance import GENERATED_LINE, open_instance
from pipelines.runs.writer_locks import writing
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from simulator.process import RunningSimulator, running
from tests.kits.programs.make_home import SIZE
from tests.kits.worlds.world import World, instance_at, settings_for

#: When a row was read, and a session's statistics, which only one of the two ways of reading it shows.
NOT_COMPARED = {"_synced_at", *SESSIONS.filled_later}
ARCHIVE = Path(__file__).with_name("0.1.0.tar.xz")


@dataclass(frozen=True)
class Homes:
    """A home of an earlier version that has been synced, and the platform that both are of."""

    platform: RunningSimulator
    upgraded: Settings
    environment: pytest.MonkeyPatch

    def of(self, home: Path) -> Settings:
        """Settings for a further home of the platform, with runs of its own."""
        self.environment.delenv("DAGSTER_HOME", raising=False)
        return settings_for(home, self.platform)

    def campus(self, home: Path, *arguments: str | Path) -> Result:
        """A command in one of the homes."""
        self.environment.delenv("DAGSTER_HOME", raising=False)
        return CliRunner().invoke(main, list(map(str, arguments)), env={"CAMPUS_HOME": str(home)})


@pytest.fixture(scope="module")
def homes(new_home: Callable[[], Path]) -> Iterator[Homes]:
    """What a plain `campus sync` makes of the home of an earlier version. Of its publication Dagster notes
    nothing, which would take as long as the load."""
    with running(**SIZE) as platform, pytest.MonkeyPatch.context() as environment:
        environment.delenv(POSTGRES_URL, raising=False)
        home = new_home()
        with tarfile.open(ARCHIVE) as packed:
            packed.extractall(home, filter="data")
        # What the environment gets of a home goes with the tests.
        environment.setenv("DAGSTER_HOME", "")
        made = Homes(platform, settings_for(home, platform), environment)
        environment.delenv("DAGSTER_HOME")
        assert run_load(made.upgraded).status == 0
        definitions = publication_definitions(made.upgraded, runtime_without_platform(made.upgraded))
        with instance_at(home) as instance:
            assert build(definitions, instance).published
        yield made


@pytest.fixture
def backup(homes: Homes, tmp_path: Path) -> Path:
    """A folder with one backup of the home."""
    folder = tmp_path / "backups"
    done = homes.campus(homes.upgraded.home, "backup", "--first", folder)
    assert done.exit_code == 0, done.output
    return folder


def rows(settings: Settings) -> dict[str, list[str]]:
    """What the lake holds of each table, the tombstones too."""
    lake = lake_of(settings)
    tables = [*(TABLES | {"v1_users": users_table(lake)}).values(), *planned_tables(lake)]
    return {
        table.name: sorted(
            str([value for name, value in row.items() if name not in NOT_COMPARED])
            for row in lake.read(table, alive=False).to_pylist()
        )
        for table in tables
        if lake.holds(table)
    }


def digests(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home with one table and one row, in a folder such as people make."""
    monkeypatch.delenv(POSTGRES_URL, raising=False)
    # What the environment gets of a home goes with the test.
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    settings = Settings(home=tmp_path / "一中 home")
    write_deltalake(str(settings.lake_folder / "t"), pa.table({"s": ["1:2"], "n": [1]}), partition_by=["s"])
    return settings


def partitions(instance: dg.DagsterInstance) -> dict[str, list[str]]:
    kinds = ("school_semesters", "v1_semesters", "attendance_weeks", "dataset_segments")
    return {kind: sorted(instance.get_dynamic_partitions(kind)) for kind in kinds}


@pytest.mark.slow
def test_a_home_of_an_earlier_version_is_brought_up_to_date_by_a_sync(
    homes: Homes, new_home: Callable[[], Path]
) -> None:
    upgraded, fresh = homes.upgraded, homes.of(new_home())
    with instance_at(fresh.home) as instance:
        world = World(fresh.home, homes.platform, fresh, instance, count(1))
        assert world.load(select=None).problems == []
        expected_keys = partitions(instance)
    actual, expected = rows(upgraded), rows(fresh)
    assert actual.keys() == expected.keys() and sum(map(len, actual.values())) > 2000
    assert {name for name in actual if actual[name] != expected[name]} == set()
    with open_instance(upgraded) as instance:
        assert partitions(instance) == expected_keys and all(expected_keys.values())
    assert status_of(upgraded).to_do == []
    assert (upgraded.home / "dagster" / "dagster.yaml").read_text(encoding="utf-8").startswith(GENERATED_LINE)
    with duckdb.connect(str(upgraded.published), read_only=True) as published:
        counted = published.execute("SELECT count(*) FROM raw.students").fetchone()
    assert counted == (len(expected["students"]),)


def test_a_restored_home_is_the_same_and_goes_on_from_there(
    homes: Homes, backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "restored"
    home.mkdir()
    (home / ".env").write_text("CAMPUS_PUSH_PORT=8711\n")
    done = homes.campus(home, "restore", backup)
    assert done.exit_code == 0 and "Next: campus doctor" in done.output
    settings = homes.of(home)
    assert digests(home / "lake") == digests(homes.upgraded.lake_folder)
    assert settings.published.read_bytes() == homes.upgraded.published.read_bytes()
    assert (home / ".env").exists() and not (backups(backup)[0] / ".env").exists()
    with open_instance(settings) as instance:
        restored = partitions(instance)
    with open_instance(homes.of(homes.upgraded.home)) as instance:
        assert partitions(instance) == restored and all(restored.values())
    homes.platform.clear_log()
    capsys.readouterr()
    assert run_load(homes.of(home), selection='group:"base_data"').status == 0
    summary = capsys.readouterr().out.partition("slices: ")[2].splitlines()[0]
    assert "loaded" in summary and not {"new", "changed", "vanished"} & set(summary.split())
    # Only what changed is asked for.
    queries = [entry["query"] for entry in homes.platform.log() if entry["path"].endswith("/grades")]
    assert queries and any("updated_at_egt" in str(entry) for entry in queries)


def test_a_backup_stores_again_what_has_changed_and_old_ones_go(homes: Homes, backup: Path) -> None:
    again = back_up(homes.of(homes.upgraded.home), backup, keep=2)
    data = list((again.path / "lake").rglob("*.parquet"))
    assert data and all(file.stat().st_nlink == 2 for file in data)
    assert again.linked > len(data) and again.tables > 40
    first = backups(backup)[-1]
    first.rename(backup / "20200101T000000")
    back_up(homes.upgraded, backup, keep=2)
    assert len(backups(backup)) == 2 and not (backup / "20200101T000000").exists()
    assert backup.stat().st_mode & 0o077 == 0


def test_nobody_writes_while_a_home_is_copied(homes: Homes, tmp_path: Path) -> None:
    loading = writing(homes.upgraded, "campus sync", alone=True, patience=0, notify=print)
    with loading, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.cli.command_session.PATIENCE", 0.0)
        done = homes.campus(homes.upgraded.home, "backup", "--first", tmp_path / "backups")
    assert done.exit_code == 1 and "is being written by campus sync" in done.stderr
    assert not (tmp_path / "backups").exists()


def test_what_cannot_be_backed_up_or_restored_says_what_to_do(
    homes: Homes, backup: Path, tmp_path: Path
) -> None:
    inside = homes.campus(homes.upgraded.home, "backup", "--first", homes.upgraded.home / "backups")
    assert inside.exit_code == 1 and "inside CAMPUS_HOME" in inside.stderr
    nothing = homes.campus(tmp_path / "nothing", "backup", tmp_path / "other")
    assert nothing.exit_code == 1 and "holds no warehouse" in nothing.stderr
    full = homes.campus(homes.upgraded.home, "restore", backup)
    assert full.exit_code == 1 and "holds a warehouse already (" in full.stderr
    empty = homes.of(tmp_path / "empty")
    with pytest.raises(BackupError, match="is no backup"):
        restore(empty, tmp_path)
    next((backups(backup)[0] / "lake" / "students").rglob("*.parquet")).unlink()
    with pytest.raises(BackupError, match=r"students lacks 1 of its files"):
        restore(empty, backup)
    assert not empty.lake_folder.exists()


def test_folders_may_have_any_name(small: Settings, tmp_path: Path) -> None:
    assert back_up(small, tmp_path / "备份 1", keep=1).tables == 1
    next(small.lake_folder.rglob("*.parquet")).unlink()
    with pytest.raises(BackupError, match="t lacks 1 of its files"):
        back_up(small, tmp_path / "备份 1", keep=1)


def test_what_a_kill_left_half_done_is_no_backup_and_no_home(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, new = tmp_path / "backups", tmp_path / "new"
    back_up(small, folder, keep=1)

    def killed(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("shutil.rmtree", killed)
        back_up(small, folder, keep=1)
    assert len(backups(folder)) == 1
    (new / ".campus-unfinished-killed" / "lake").mkdir(parents=True)
    assert restore(small.model_copy(update={"home": new}), folder).tables == 1
    assert {path.name for path in new.iterdir()} == {"lake"}


def test_a_disk_without_links_has_copies(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refused)
    first, second = (back_up(small, tmp_path / "backups", keep=2) for _ in range(2))
    assert (second.files, second.linked) == (first.files, 0)


def test_a_trial_restore_leaves_runs_in_postgres_alone(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_URL, "postgresql+psycopg2://nobody@127.0.0.1:1/nothing")
    back_up(small, tmp_path / "backups", keep=1)
    restore(small.model_copy(update={"home": tmp_path / "trial"}), tmp_path / "backups")
    # Nor is their address asked for, which a trial on another machine has not.
    monkeypatch.delenv(POSTGRES_URL)
    restore(small.model_copy(update={"home": tmp_path / "other"}), tmp_path / "backups")


def test_a_full_disk_of_backups_is_named(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", full)
    folder = tmp_path / "backups"
    with pytest.raises(BackupError, match=f"The disk of {folder} is full"):
        back_up(small, folder, keep=1)
    assert list(folder.iterdir()) == []


def test_what_is_written_while_it_is_copied_is_in_the_next_backup(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, folder = small.home / "pushes.sqlite", tmp_path / "backups"

    def write(number: int) -> None:
        with closing(sqlite3.connect(inbox)) as con:
            con.execute("UPDATE events SET number = ?", [number])
            con.commit()

    with closing(sqlite3.connect(inbox)) as con:
        con.execute("CREATE TABLE events AS SELECT 1 AS number")
    os.utime(inbox, (0, 0))

    class WrittenMeanwhile(sqlite3.Connection):
        def backup(self, *arguments: Any, **options: Any) -> None:
            super().backup(*arguments, **options)
            write(2)

    with monkeypatch.context() as patch:
        patch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=WrittenMeanwhile))
        back_up(small, folder, keep=2)
    again = back_up(small, folder, keep=2)
    with closing(sqlite3.connect(again.path / "pushes.sqlite")) as con:
        assert con.execute("SELECT number FROM events").fetchall() == [(2,)]


def test_backup_and_restored_home_are_closed_to_others(small: Settings, tmp_path: Path) -> None:
    """Also where the home, the folder of backups and the backup before are open to others."""
    folder, new = tmp_path / "backups", tmp_path / "new"
    folder.mkdir(mode=0o755)
    wide = small.home / "plan.json"
    wide.write_text("{}")
    wide.chmod(0o666)
    for _ in range(2):
        made = back_up(small, folder, keep=2)
        made.path.joinpath("plan.json").chmod(0o644)
    made = back_up(small, folder, keep=1)
    restore(small.model_copy(update={"home": new}), folder)
    assert (made.path.stat().st_mode & 0o777, new.stat().st_mode & 0o777) == (0o700, 0o750)
    assert [path for path in (*made.path.rglob("*"), *new.rglob("*")) if path.stat().st_mode & 0o027] == []


def test_link_copies_nothing_into_a_backup(small: Settings, tmp_path: Path) -> None:
    """Neither when a backup is made nor when it is restored."""
    secret, inputs = tmp_path / "secret", Path("inputs") / "101"
    secret.write_text("hunter2")
    (small.home / inputs).mkdir(parents=True)
    (small.home / inputs / "readers.csv").write_text("staff number,address")
    (small.home / inputs / "interventions.csv").symlink_to(secret)
    backup = back_up(small, tmp_path / "backups", keep=1)
    assert [path.name for path in (backup.path / inputs).iterdir()] == ["readers.csv"]
    (backup.path / inputs / "interventions.csv").symlink_to(secret)
    restored = small.model_copy(update={"home": tmp_path / "new"})
    restore(restored, tmp_path / "backups")
    assert [path.name for path in (restored.home / inputs).iterdir()] == ["readers.csv"]


def test_what_others_have_begun_or_taken_away_meanwhile_is_left_out(
    small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gone = small.home / "shared" / ".campus-unfinished-1" / "a.xlsx", small.home / "told.json.17"
    begun.parent.mkdir(parents=True)
    begun.touch()
    gone.touch()
    copy = shutil.copy2

    def copied(source: Path, target: Path) -> None:
        if source == gone:
            source.unlink()
        copy(source, target)

    monkeypatch.setattr("shutil.copy2", copied)
    made = back_up(small, tmp_path / "backups", keep=1)
    assert {path.name for path in made.path.iterdir()} == {"lake", "dagster"}
