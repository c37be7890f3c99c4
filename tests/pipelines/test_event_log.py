"""Dagster's event log over kept connections: the same files, read and written by either class."""

import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from pipelines.event_log import KEPT, KeptSqliteEventLog
from pipelines.instance import FIRST, OURS, POSTGRES_URL, dagster_home
from pipelines.settings import Settings, SettingsError

WAIT = 60.0


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
def ours(home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def test_dagsters_own_log_goes_on_with_the_files(home: Path, ours: dg.DagsterInstance) -> None:
    first = _run(ours)
    (home / "dagster.yaml").write_text(yaml.safe_dump(FIRST))
    with dg.DagsterInstance.from_config(str(home)) as own:
        assert _materialized(own, first) == 1
        second = _run(own)
    assert _materialized(ours, second) == 1
    latest = ours.get_latest_materialization_event(said.key)
    assert latest is not None and latest.run_id == second


def test_more_runs_than_files_are_kept_open(ours: dg.DagsterInstance) -> None:
    runs = [_run(ours) for _ in range(KEPT + 2)]
    assert [_materialized(ours, run) for run in runs] == [1] * len(runs)


def test_a_file_that_was_deleted_is_made_anew(home: Path, ours: dg.DagsterInstance) -> None:
    run = _run(ours)
    file = home / "history" / "runs" / f"{run}.db"
    for each in file.parent.glob(f"{run}.db*"):
        each.unlink()
    assert _materialized(ours, run) == 0
    ours.report_engine_event("after", run_id=run, job_name="any")
    with dg.DagsterInstance.from_config(str(home)) as other:
        assert [_said_by(each) for each in other.all_logs(run)] == ["after"]


def test_another_process_sees_events_as_they_come(home: Path, ours: dg.DagsterInstance) -> None:
    run, seen = _run(ours), threading.Event()
    log = KeptSqliteEventLog(str(home))
    last = log.get_records_for_run(run).cursor
    log.watch(run, last, lambda entry, _cursor: seen.set() if _said_by(entry) == "live" else None)
    try:
        ours.report_engine_event("live", run_id=run, job_name="any")
        assert seen.wait(WAIT)
    finally:
        log.dispose()


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


@pytest.mark.parametrize("text", [OURS, yaml.safe_dump(FIRST)])
def test_what_an_earlier_version_wrote_is_replaced(home: Path, text: str) -> None:
    (home / "dagster.yaml").write_text(text)
    dagster_home(Settings(home=home))
    assert "KeptSqliteEventLog" in (home / "dagster.yaml").read_text()


def test_what_somebody_has_changed_stays(home: Path) -> None:
    theirs = yaml.safe_dump(FIRST | {"telemetry": {"enabled": True}})
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


def test_it_holds_what_dagsters_own_log_would(tmp_path: Path, ours: dg.DagsterInstance) -> None:
    (folder := tmp_path / "own").mkdir()
    (folder / "dagster.yaml").write_text(yaml.safe_dump(FIRST))
    with dg.DagsterInstance.from_config(str(folder)) as own:
        assert _tables(ours) == _tables(own)


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
    latest = [each.asset_entry.last_materialization_record for each in instance.get_asset_records(keys)]
    check = dg.AssetCheckKey(dg.AssetKey("one"), "whole")
    checks = instance.event_log_storage.get_asset_check_execution_history(check, limit=5)
    return (
        [(each.step_key, each.dagster_event_type or each.user_message) for each in instance.all_logs(run)],
        keys,
        [each and (each.run_id == run, each.partition_key) for each in latest],
        [instance.get_materialized_partitions(key) for key in keys],
        [each.partition_key for each in instance.fetch_materializations(keys[0], limit=10).records],
        [(each.status, each.partition, each.run_id == run) for each in checks],
    )
