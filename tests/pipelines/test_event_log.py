"""Dagster's event log over kept connections: the same files, read and written by either class."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from sqlalchemy.exc import OperationalError

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


def test_many_events_are_a_transaction_of_each_file(
    ours: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(ours)
    begun: list[str] = []
    engine = KeptSqliteEventLog._engine
    monkeypatch.setattr(
        KeptSqliteEventLog, "_engine", lambda self, shard: begun.append(shard) or engine(self, shard)
    )
    for number in range(50):
        _tell(ours, run, number)
    assert begun == []
    assert _told(ours, run) == [*range(50)]
    assert begun.count("index") == 1 and begun.count(run) == 2, "once to write, and once to read"


def test_what_is_told_before_an_exception_is_stored_in_order(home: Path, ours: dg.DagsterInstance) -> None:
    @dg.op
    def broken(context: dg.OpExecutionContext) -> None:
        for number in range(5):
            context.log_event(dg.AssetMaterialization("of_step", partition=str(number)))
            context.log.info(str(number))
        raise ValueError("broken")

    @dg.job
    def job() -> None:
        broken()

    run = job.execute_in_process(instance=ours, raise_on_error=False).run_id
    with dg.DagsterInstance.from_config(str(home)) as other:
        assert _told(other, run) == [*range(5)]
        kinds = [each.dagster_event_type for each in other.all_logs(run)]
        told = dg.DagsterEventType.ASSET_MATERIALIZATION
        assert kinds.index(told) < kinds.index(dg.DagsterEventType.STEP_FAILURE)
        made = other.fetch_materializations(dg.AssetKey("of_step"), limit=9).records
        assert [each.partition_key for each in made] == ["4", "3", "2", "1", "0"]


def test_another_process_sees_what_waits_while_a_run_goes_on(home: Path, ours: dg.DagsterInstance) -> None:
    run = _run(ours)
    _tell(ours, run, 1)
    with dg.DagsterInstance.from_config(str(home)) as other:
        assert _told(other, run) == []
        until = time.monotonic() + WAIT
        while not _told(other, run) and time.monotonic() < until:
            time.sleep(0.05)
        assert _told(other, run) == [1]


def _is_locked(self: KeptSqliteEventLog) -> Any:
    raise OperationalError("BEGIN", {}, Exception("database is locked"))


class Interrupted(BaseException):
    """As Dagster interrupts the code of a step: not by KeyboardInterrupt."""


def _is_interrupted(_self: KeptSqliteEventLog, _event: dg.EventLogEntry) -> dict[str, object]:
    raise Interrupted


@pytest.mark.parametrize(
    ("method", "fails", "error"),
    [
        ("index_connection", _is_locked, OperationalError),
        ("_event_to_row", _is_interrupted, Interrupted),
    ],
)
def test_what_could_not_be_stored_is_stored_later_and_once(
    ours: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    fails: Callable[..., Any],
    error: type[BaseException],
) -> None:
    run = _run(ours)
    with monkeypatch.context() as patch:
        patch.setattr(KeptSqliteEventLog, method, fails)
        _tell(ours, run, 1)
        with pytest.raises(error):
            ours.report_engine_event("after", run_id=run, job_name="any")
    assert _told(ours, run) == [1]
    assert [_said_by(each) for each in ours.all_logs(run)].count("after") == 1


def test_an_event_that_cannot_be_stored_holds_up_no_other(
    ours: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(ours)
    row_of = KeptSqliteEventLog._event_to_row

    def refused(self: KeptSqliteEventLog, event: dg.EventLogEntry) -> dict[str, object]:
        if _number(event) == 2:
            raise TypeError("no text")
        return row_of(self, event)

    monkeypatch.setattr(KeptSqliteEventLog, "_event_to_row", refused)
    for number in range(1, 4):
        _tell(ours, run, number)
    with pytest.raises(TypeError):
        ours.report_engine_event("after", run_id=run, job_name="any")
    assert _told(ours, run) == [1, 3]


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


def _tell(instance: dg.DagsterInstance, run_id: str, number: int) -> None:
    """Have a run say a number, as a load says how it goes."""
    said = dg.EventLogEntry(
        error_info=None,
        level=20,
        user_message=str(number),
        run_id=run_id,
        timestamp=time.time(),
        job_name="any",
    )
    instance.handle_new_event(said)


def _told(instance: dg.DagsterInstance, run_id: str) -> list[int]:
    """The numbers that a run has said, in the order in which they are held."""
    return [number for each in instance.all_logs(run_id) if (number := _number(each)) is not None]


def _number(entry: dg.EventLogEntry) -> int | None:
    return int(entry.user_message) if entry.user_message.isdecimal() else None
