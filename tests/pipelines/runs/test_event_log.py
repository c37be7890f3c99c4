"""Dagster's event log over kept connections: the same files, read and written by either class."""

import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from sqlalchemy import text

from assets.shared.dagster_private import SqliteEventLogStorage
from pipelines.runs.event_log import MAX_OPEN, KeptSqliteEventLog
from pipelines.runs.instance import FIRST_CONFIG, GENERATED_LINE, dagster_home
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError

WAIT = 60.0
#: Of `PRAGMA synchronous`.
NORMAL = 1


@dg.asset
def said() -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"rows": 1})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.delenv(POSTGRES_URL, raising=False)
    # Restored at the end: dagster_home sets it for the processes that follow.
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    return dagster_home(Settings(home=tmp_path))


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def test_dagsters_own_log_goes_on_with_the_files(home: Path, instance: dg.DagsterInstance) -> None:
    first = _run(instance)
    (home / "dagster.yaml").write_text(yaml.safe_dump(FIRST_CONFIG))
    with dg.DagsterInstance.from_config(str(home)) as own:
        assert _materialized(own, first) == 1
        second = _run(own)
    assert _materialized(instance, second) == 1
    latest = instance.get_latest_materialization_event(said.key)
    assert latest is not None and latest.run_id == second


def test_more_runs_than_files_are_kept_open(instance: dg.DagsterInstance) -> None:
    runs = [_run(instance) for _ in range(MAX_OPEN + 2)]
    assert [_materialized(instance, run) for run in runs] == [1] * len(runs)


def test_a_file_that_was_deleted_is_made_anew(home: Path, instance: dg.DagsterInstance) -> None:
    run = _run(instance)
    file = home / "history" / "runs" / f"{run}.db"
    for entry in file.parent.glob(f"{run}.db*"):
        entry.unlink()
    assert _materialized(instance, run) == 0
    instance.report_engine_event("after", run_id=run, job_name="any")
    with dg.DagsterInstance.from_config(str(home)) as other:
        assert [_said_by(entry) for entry in other.all_logs(run)] == ["after"]


def test_another_process_sees_events_as_they_come(home: Path, instance: dg.DagsterInstance) -> None:
    run, seen = _run(instance), threading.Event()
    log = KeptSqliteEventLog(str(home))
    last = log.get_records_for_run(run).cursor
    log.watch(run, last, lambda entry, _cursor: seen.set() if _said_by(entry) == "live" else None)
    try:
        instance.report_engine_event("live", run_id=run, job_name="any")
        assert seen.wait(WAIT)
    finally:
        log.dispose()


def test_commits_wait_for_no_disk(instance: dg.DagsterInstance) -> None:
    log = instance.event_log_storage
    assert isinstance(log, KeptSqliteEventLog)
    with log.index_connection() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == NORMAL


def test_an_existing_table_is_looked_up_once(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = instance.event_log_storage
    assert isinstance(log, KeptSqliteEventLog)
    assert not log.has_table("none") and log.has_table("asset_check_executions")
    monkeypatch.setattr(SqliteEventLogStorage, "has_table", lambda _log, name: name == "none")
    assert log.has_table("none") and log.has_table("asset_check_executions")


def test_what_is_ours_follows_the_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "dagster.yaml"
    assert "KeptSqliteEventLog" in file.read_text()
    monkeypatch.setenv(POSTGRES_URL, "postgresql+psycopg2://nobody@127.0.0.1:1/none")
    dagster_home(Settings(home=home))
    assert "postgres_url" in file.read_text() and "KeptSqliteEventLog" not in file.read_text()
    monkeypatch.delenv(POSTGRES_URL)
    with pytest.raises(SettingsError, match=f"{POSTGRES_URL} is not set"):
        dagster_home(Settings(home=home))
    assert "postgres_url" in file.read_text(), "runs do not go elsewhere unseen"


@pytest.mark.parametrize("text", [GENERATED_LINE, yaml.safe_dump(FIRST_CONFIG)])
def test_what_an_earlier_version_wrote_is_replaced(home: Path, text: str) -> None:
    (home / "dagster.yaml").write_text(text)
    dagster_home(Settings(home=home))
    assert "KeptSqliteEventLog" in (home / "dagster.yaml").read_text()


def test_what_somebody_has_changed_stays(home: Path) -> None:
    theirs = yaml.safe_dump(FIRST_CONFIG | {"telemetry": {"enabled": True}})
    (home / "dagster.yaml").write_text(theirs)
    dagster_home(Settings(home=home))
    assert (home / "dagster.yaml").read_text() == theirs
    assert not list(home.glob("dagster.yaml.*"))


def _run(instance: dg.DagsterInstance) -> str:
    return dg.materialize([said], instance=instance).run_id


def _materialized(instance: dg.DagsterInstance, run_id: str) -> int:
    of = [dg.DagsterEventType.ASSET_MATERIALIZATION]
    return len(instance.get_records_for_run(run_id, of_type=set(of)).records)


def _said_by(entry: dg.EventLogEntry) -> str | None:
    return entry.dagster_event and entry.dagster_event.message


def test_it_holds_what_dagsters_own_log_would(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    (folder := tmp_path / "own").mkdir()
    (folder / "dagster.yaml").write_text(yaml.safe_dump(FIRST_CONFIG))
    with dg.DagsterInstance.from_config(str(folder)) as own:
        assert _tables(instance) == _tables(own)


@dg.multi_asset(
    specs=[dg.AssetSpec("one"), dg.AssetSpec("two")],
    check_specs=[dg.AssetCheckSpec("whole", asset="one")],
)
def two_assets(
    context: dg.AssetExecutionContext,
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    for number in range(3):
        context.log.info(f"message {number}")
        context.log_event(dg.AssetMaterialization("one", partition=str(number), tags={"by": "step"}))
    yield dg.MaterializeResult(asset_key="one")
    yield dg.MaterializeResult(asset_key="two", tags={"by": "hand"})
    yield dg.AssetCheckResult(passed=False, asset_key="one", check_name="whole")


def _tables(instance: dg.DagsterInstance) -> tuple[object, ...]:
    """What the log holds of a run, but for times and names of runs."""
    run = dg.materialize([two_assets], instance=instance).run_id
    keys = sorted(instance.get_asset_keys())
    latest = [record.asset_entry.last_materialization_record for record in instance.get_asset_records(keys)]
    check = dg.AssetCheckKey(dg.AssetKey("one"), "whole")
    checks = instance.event_log_storage.get_asset_check_execution_history(check, limit=5)
    return (
        [
            (record.step_key, record.dagster_event_type or record.user_message)
            for record in instance.all_logs(run)
        ],
        keys,
        [record and (record.run_id == run, record.partition_key) for record in latest],
        [instance.get_materialized_partitions(key) for key in keys],
        [record.partition_key for record in instance.fetch_materializations(keys[0], limit=10).records],
        [(record.status, record.partition, record.run_id == run) for record in checks],
    )
