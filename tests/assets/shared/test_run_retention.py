"""Old runs go once a week, but for those that loaded something last."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.shared.run_retention import DONE_TAG, delete_old_runs
from pipelines.runs.instance import dagster_home
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings

NOW, AGES = timedelta(0), timedelta(days=60)
WEEKS = dg.StaticPartitionsDefinition(["1", "2"])


@dg.asset(partitions_def=WEEKS)
def marks() -> None:
    """Loaded week by week."""


@dg.asset_check(asset=marks)
def fine() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


@dg.asset
def model() -> None:
    """Made as a whole."""


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.delenv(POSTGRES_URL, raising=False)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with dg.DagsterInstance.from_config(str(dagster_home(Settings(home=tmp_path)))) as opened:
        yield opened


def _run(instance: dg.DagsterInstance, week: str) -> str:
    return dg.materialize([marks, fine], instance=instance, partition_key=week).run_id


def test_what_loaded_a_partition_last_stays_and_the_others_go(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    first, second = _run(instance, "1"), _run(instance, "2")
    made, again = (dg.materialize([model], instance=instance).run_id for _ in range(2))
    last = _run(instance, "2")
    under_way = instance.create_run_for_job(
        dg.Definitions([model], jobs=[dg.define_asset_job("night")]).resolve_job_def("night"),
        status=dg.DagsterRunStatus.STARTED,
    )
    assert delete_old_runs(instance, NOW, under_way.run_id) == 2
    assert {run.run_id for run in instance.get_runs()} == {first, again, last, under_way.run_id}
    assert instance.get_materialized_partitions(marks.key) == {"1", "2"}
    assert instance.get_latest_materialization_event(model.key) is not None
    files = {path.name for path in (tmp_path / "history" / "runs").iterdir()}
    assert not [name for name in files if name.startswith((second, made))]
    key = dg.AssetCheckKey(marks.key, "fine")
    assert instance.get_latest_asset_check_evaluation_record(key) is not None
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=9)
    assert {record.run_id for record in records} == {first, last}


def test_it_is_done_once_a_week_and_young_runs_stay(instance: dg.DagsterInstance) -> None:
    old, new = _run(instance, "1"), _run(instance, "1")
    assert delete_old_runs(instance, AGES, new) == 0
    assert {run.run_id for run in instance.get_runs()} == {old, new}
    assert delete_old_runs(instance, NOW, new) == 0, "not again this week"
    run = instance.get_run_by_id(new)
    assert run is not None and run.tags[DONE_TAG] == "true"
