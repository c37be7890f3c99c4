"""The assets, the sensor and the schedule of the files of `campus export`."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from assets.publication.models import PUBLISHED
from exports.markdown import text
from pipelines.automation.exports import export_definitions
from pipelines.runs.jobs import EXPORTS
from pipelines.settings.options import ExportOptions, Options
from pipelines.settings.settings import Settings
from tests.kits.exports.published_file import publish
from warehouse.publish.build import models_digest
from warehouse.publish.publish import prove

MARKS = """
    CREATE TABLE marts.marks AS
    SELECT * FROM (VALUES (101, '=1+1'), (102, 'b')) marks (school_id, student_name)
"""
FAULTY = "CREATE VIEW marts.faulty AS SELECT unnest([101, 102]) AS school_id, error('no such luck') AS n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a published file."""
    return publish(tmp_path / "campus.duckdb", [MARKS]).parent


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("statement", "maker"),
    [
        ("UPDATE quality.publication SET models_version = '0a1b2c'", "0a1b2c"),
        ("ALTER TABLE quality.publication DROP models_version", "unknown"),
    ],
)
def test_nothing_is_made_of_a_file_that_another_version_published(
    statement: str, maker: str, home: Path, instance: dg.DagsterInstance
) -> None:
    with duckdb.connect(str(home / "campus.duckdb")) as con:
        con.execute(statement)
    job = definitions(home, workbooks=("grades",)).resolve_job_def(EXPORTS)
    made = job.execute_in_process(instance=instance, raise_on_error=False)
    [failure] = [event.step_failure_data for event in made.all_events if event.is_step_failure]
    problem = (
        f"{home}/campus.duckdb was published by another version (models {maker}; this is {models_digest()}): "
        "run `campus build` first"
    )
    assert failure.user_failure_data and failure.user_failure_data.description == problem
    assert not list(home.glob("exports/*"))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def definitions(home: Path, **options: Any) -> dg.Definitions:
    """The exports' definitions, behind a publication that makes nothing."""

    @dg.asset(key=["campus_duckdb"])
    def published() -> None: ...

    settings = Settings(home=home, options=Options(exports=ExportOptions(**options)))
    return dg.Definitions.merge(export_definitions(settings), dg.Definitions(assets=[published]))


def test_the_assets_tell_where_the_files_are(home: Path, instance: dg.DagsterInstance) -> None:
    made = definitions(home, workbooks=(), tables=("marts.marks",))
    done = made.resolve_job_def(EXPORTS).execute_in_process(instance=instance)
    [made_asset] = done.asset_materializations_for_node("exports__tables")
    metadata = {name: value.value for name, value in made_asset.metadata.items()}
    assert metadata["dagster/row_count"] == 2
    files = list((home / "exports").iterdir())
    assert metadata["bytes"] == sum(path.stat().st_size for path in files)
    assert all(text(str(path)) in metadata["files"] for path in files)
    # Dagster keeps its log: no row about a person goes into it.
    assert "=1+1" not in str(metadata)


def test_a_failing_table_fails_the_run_and_keeps_its_last_file(
    home: Path, instance: dg.DagsterInstance
) -> None:
    publish(home / "campus.duckdb", [MARKS, FAULTY])
    old = home / "exports" / "marts.faulty_101_2026-01-01.xlsx"
    old.parent.mkdir()
    old.touch()
    made = definitions(home, workbooks=(), tables=("marts.faulty", "marts.marks", "marts.gone"))
    done = made.resolve_job_def(EXPORTS).execute_in_process(instance=instance, raise_on_error=False)
    [failure] = [event.step_failure_data for event in done.all_events if event.is_step_failure]
    assert failure.user_failure_data
    description = failure.user_failure_data.description or ""
    assert "marts.gone: there is no such export" in description and "no such luck" in description
    assert names(home / "exports") == [
        "marts.faulty_101_2026-01-01.xlsx",
        "marts.marks_101_2026-03-01.xlsx",
        "marts.marks_102_2026-02-28.xlsx",
    ]


def test_they_follow_a_publication(home: Path, instance: dg.DagsterInstance) -> None:
    sensor = definitions(home).resolve_sensor_def("exports_after_publication")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert {job.name for job in sensor.jobs} == {EXPORTS}
    context = dg.build_sensor_context(instance=instance)
    assert not sensor.evaluate_tick(context).run_requests, "nothing was published yet"
    instance.report_runless_asset_event(dg.AssetMaterialization(PUBLISHED))
    assert len(sensor.evaluate_tick(context).run_requests or []) == 1


def test_they_follow_another_age_of_data_that_nobody_published_anew(
    home: Path, instance: dg.DagsterInstance
) -> None:
    sensor = definitions(home).resolve_sensor_def("exports_after_another_age")
    night = datetime(2026, 3, 3, 1)
    good = {
        "_school_id": 101,
        "resource": "students",
        "slice": "101",
        "status": "ok",
        "finished_at": night,
        "complete_at": night,
        "requests": 1,
    }
    failed = good | {"status": "failed", "finished_at": night + timedelta(hours=14)}
    cursor = None
    request_counts = []
    for rows in ([], [good], [good], [failed], [good | {"finished_at": night + timedelta(hours=15)}]):
        if rows:
            prove(home, rows)
        context = dg.build_sensor_context(instance=instance, cursor=cursor)
        tick = sensor.evaluate_tick(context)
        request_counts.append(len(tick.run_requests or []))
        cursor = tick.cursor
    assert request_counts == [0, 1, 0, 1, 1], (
        "for the day, not for the same again, when it failed, when it was mended"
    )
    with duckdb.connect(str(home / "campus.duckdb")) as con:
        con.execute("UPDATE quality.publication SET generation = 'newer'")
    context = dg.build_sensor_context(instance=instance)
    assert not sensor.evaluate_tick(context).run_requests, "of an older file"


def test_they_can_have_a_schedule_of_their_own(home: Path) -> None:
    made = definitions(home, after_publication=False, schedule="0 6 * * 1")
    assert not made.sensors
    schedule = made.resolve_schedule_def("exports")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 6 * * 1", "Asia/Shanghai")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING


def test_where_nothing_is_to_be_written_there_is_no_job(home: Path) -> None:
    made = definitions(home, workbooks=())
    assert not made.jobs and not made.sensors
