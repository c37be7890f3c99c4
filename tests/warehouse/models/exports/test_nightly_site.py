"""The nightly site: its asset and job, that one publication is written once, and that removed roles go."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from assets.publication.models import PUBLISHED
from assets.shared.partitions import PUBLISHED_SCHOOLS
from exports.export import Written, export
from exports.site.folders import READERS, WRITTEN, read_note
from pipelines.automation.exports import export_definitions
from pipelines.cli.actions.export import configured_names, export_options, run_export
from pipelines.forgetting.files import delete_exports
from pipelines.runs.jobs import EXPORTS, SITE_JOB
from pipelines.settings.options import ExportOptions, Options
from pipelines.settings.settings import Settings
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly
from warehouse.publish.build import models_version

ROLES = ("head", "class-teacher", "teacher")


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish_strictly(healthy, tmp_path_factory.mktemp("published"))


@pytest.fixture
def home(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published.parent, tmp_path / "home")
    with closing(duckdb.connect(str(tmp_path / "home" / "campus.duckdb"))) as con:
        con.execute("UPDATE quality.publication SET models_version = ?", [models_version(tmp_path / "home")])
    return tmp_path / "home"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def settings_of(home: Path, *roles: Any, **options: Any) -> Settings:
    options = {"site": roles, "workbooks": (), **options}
    return Settings(home=home, options=Options(exports=ExportOptions(**options)))


def night(settings: Settings) -> dict[str, int]:
    """Export as each night does. Returns the files written by role."""
    ends = list(export(settings.published, configured_names(settings), [SCHOOL], export_options(settings)))
    assert all(isinstance(end, Written) for end in ends), ends
    return {end.path.name: end.rows[WRITTEN] for end in ends if isinstance(end, Written)}


def definitions(settings: Settings) -> dg.Definitions:
    @dg.asset(key=["campus_duckdb"])
    def campus_duckdb() -> None: ...

    return dg.Definitions.merge(export_definitions(settings), dg.Definitions(assets=[campus_duckdb]))


def test_a_publication_starts_one_run_for_its_schools(home: Path, instance: dg.DagsterInstance) -> None:
    schools = [str(SCHOOL), str(SCHOOL + 1)]
    made = definitions(settings_of(home, *ROLES, workbooks=("grades",)))
    sensor = made.resolve_sensor_def("exports_after_publication")
    instance.add_dynamic_partitions(PUBLISHED_SCHOOLS.name or "", ["999"])
    instance.report_runless_asset_event(dg.AssetMaterialization(PUBLISHED))
    requests = sensor.evaluate_tick(dg.build_sensor_context(instance=instance)).run_requests or []
    assert [request.job_name for request in requests] == [EXPORTS, SITE_JOB]
    assert len({request.run_key for request in requests}) == 2
    assert instance.get_dynamic_partitions(PUBLISHED_SCHOOLS.name or "") == schools
    job = made.resolve_job_def(SITE_JOB)
    done = job.execute_in_process(instance=instance, tags=requests[1].tags)
    written = [
        event.step_materialization_data.materialization
        for event in done.all_events
        if event.is_step_materialization
    ]
    assert [site.partition for site in written] == schools
    metadata = {name: entry.value for name, entry in written[0].metadata.items()}
    pages = list((home / "exports" / f"site_{SCHOOL}").rglob("*.html"))
    assert metadata["files written"] > len(pages) - 2 > 10
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        names = con.execute(
            "SELECT student_name FROM core.dim_student UNION SELECT teacher_name FROM core.dim_teacher"
        ).fetchall()
    assert names and not [name for (name,) in names if name and name in str(metadata)]
    again = job.execute_in_process(instance=instance, tags=requests[1].tags)
    events = [
        event.step_materialization_data.materialization
        for event in again.all_events
        if event.is_step_materialization
    ]
    assert [site.metadata["files written"].value for site in events] == [0, 0]


def test_a_failed_school_is_not_shown_as_written(home: Path, instance: dg.DagsterInstance) -> None:
    keys = [str(SCHOOL), "999", "x"]
    instance.add_dynamic_partitions(PUBLISHED_SCHOOLS.name or "", keys)
    job = definitions(settings_of(home, "head")).resolve_job_def(SITE_JOB)
    for key, problem in (("999", "school 999: not in the published file"), ("x", "'x' is no id of a school")):
        done = job.execute_in_process(instance=instance, partition_key=key, raise_on_error=False)
        [failure] = [event.step_failure_data for event in done.all_events if event.is_step_failure]
        assert failure.user_failure_data and problem in (failure.user_failure_data.description or "")
        assert not [event for event in done.all_events if event.is_step_materialization]


def test_one_publication_is_written_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(home, *ROLES)
    first = night(settings)
    assert all(count > 3 for count in first.values()) and set(first) == set(ROLES)
    folder = home / "exports" / f"site_{SCHOOL}"
    note = read_note(folder)
    assert note.roles["teacher"][READERS] == len(list((folder / "teacher").glob("*/"))) > 0
    with monkeypatch.context() as patch:
        patch.setattr("exports.site.write.write_role", lambda *_: pytest.fail("written twice"))
        assert night(settings) == dict.fromkeys(ROLES, 0)
    (folder / "head" / "index.html").unlink()
    with closing(duckdb.connect(str(home / "campus.duckdb"))) as con:
        con.execute("UPDATE quality.publication SET generation = '20260302T0200'")
    # The index and the board, which names its generation.
    assert night(settings) == {"head": 2, "class-teacher": 0, "teacher": 0}


def test_an_unfinished_night_is_written_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(home, "head", "teacher")
    with monkeypatch.context() as patch:
        patch.setattr("exports.site.write.readers_of", lambda *_: (_ for _ in ()).throw(OSError("full")))
        assert run_export(settings, ()) == 1
    assert not (home / "exports" / f"site_{SCHOOL}" / "teacher").exists()
    assert night(settings)["teacher"] > 3


def test_removed_roles_lose_their_folders(home: Path) -> None:
    night(settings_of(home, *ROLES))
    site = home / "exports" / f"site_{SCHOOL}"
    assert run_export(settings_of(home), ("site",), folder=home / "elsewhere", roles=("head",)) == 0
    night(settings_of(home, "head"))
    assert sorted(path.name for path in site.glob("*/")) == ["head"]
    # A folder that a person has written stays.
    assert run_export(settings_of(home, "head"), ("site",), roles=("teacher",)) == 0
    night(settings_of(home))
    assert sorted(path.name for path in site.glob("*/")) == ["teacher"]
    assert (home / "elsewhere" / f"site_{SCHOOL}" / "head" / "index.html").exists()


def test_forgetting_deletes_the_site_of_the_school(home: Path) -> None:
    night(settings_of(home, "head"))
    other = home / "exports" / f"site_{SCHOOL}0"
    other.mkdir()
    site = home / "exports" / f"site_{SCHOOL}"
    files = [path for path in site.rglob("*") if path.is_file()]
    assert delete_exports(home, SCHOOL, apply=False) == len(files) > 10
    assert delete_exports(home, SCHOOL, apply=True) == len(files)
    assert not site.exists() and other.exists()


def test_a_role_is_named_once() -> None:
    with pytest.raises(ValueError, match="a role is there twice"):
        ExportOptions(site=("head", "head"))
    with pytest.raises(ValueError, match="class-teacher"):
        ExportOptions.model_validate({"site": ["parent"]})
