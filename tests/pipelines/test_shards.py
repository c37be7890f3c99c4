"""Publication in shards: together they are what one file is, and each goes its own way."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
from world import EARLY, World

from assets.shards import NONE_CHANGED, SHARDS
from exports.export import Options as ExportOptions
from exports.export import Written, export
from pipelines import publication
from pipelines.automation import ALL_ASKED_TAG, last_discovery
from pipelines.cli.commands import run_build
from pipelines.cli.sql import run_sql
from pipelines.definitions import DISCOVERY, DISTRICT_JOB, PUBLISH, build_definitions
from pipelines.options import PublishOptions
from pipelines.publication import shards_to_build
from pipelines.settings import Settings
from pipelines.status import _to_do
from pipelines.sync import JobEnd, build_shards
from warehouse.load.load_log import now
from warehouse.publish.shards.district import FILE, OF_A_PERSON
from warehouse.published.manifest import Manifest
from warehouse.published.reading import opened
from warehouse.published.shards import Shards, manifest

SCHOOLS = {"0001": (101, 102), "0002": (103,)}
#: Tables that say of a file how it was made: of them a union says something of its own.
OF_THE_FILE = {"quality.publication", "quality.contents"}
TABLES = """
    SELECT schema_name || '.' || table_name FROM duckdb_columns()
    WHERE database_name = current_database() AND NOT internal GROUP BY ALL ORDER BY ALL
"""


class District:
    """A world whose schools are published in shards of two."""

    def __init__(self, world: World) -> None:
        options = world.settings.options.model_copy(update={"publish": PublishOptions(schools_per_shard=2)})
        self.world = replace(world, settings=world.settings.model_copy(update={"options": options}))
        assert self.settings.shards
        self.shards: Shards = self.settings.shards

    @property
    def settings(self) -> Settings:
        return self.world.settings

    @property
    def manifest(self) -> Manifest:
        return manifest(self.shards)

    def build(self) -> list[JobEnd]:
        """What `campus build` does, run by run; none: nothing has changed."""
        due = shards_to_build(self.settings, self.world.lake, self.world.instance).due
        definitions = build_definitions(self.settings)
        return list(build_shards(definitions, self.world.instance, due)) if due else []

    def tick(self, cursor: str | None) -> Any:
        """One look of the sensor that publishes."""
        definitions = build_definitions(self.settings)
        context = dg.build_sensor_context(
            instance=self.world.instance, cursor=cursor, repository_def=definitions.get_repository_def()
        )
        # The daemon has a reference to its instance, by which Dagster finds the partitions there are.
        with dg.partition_loading_context(dynamic_partitions_store=self.world.instance):
            return definitions.resolve_sensor_def("publish_after_loads").evaluate_tick(context)

    def carry_out(self, tick: Any) -> None:
        """Make the runs that are asked for, as Dagster's daemon would."""
        definitions = build_definitions(self.settings)
        for one in tick.run_requests:
            job = definitions.resolve_job_def(one.job_name)
            done = job.execute_in_process(
                instance=self.world.instance, partition_key=one.partition_key, tags=one.tags
            )
            assert done.success


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> District:
    """Three small schools, published in one file and in two shards."""
    world = make_world(schools=3, students=8, semesters=1, dataset_rows=200, today=EARLY)
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    district = District(world)
    assert [end.problem for end in district.build()] == [None, None, None]
    return district


def digests(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """The columns of each table, and what tells its rows from others."""
    found = {}
    for (name,) in con.execute(TABLES).fetchall():
        columns = [column[:2] for column in con.execute(f"DESCRIBE {name}").fetchall()]
        left_out = {"checked_at", "message"} if name == "quality.check_results" else set()
        shown = ", ".join(f'"{column}"' for column, _ in columns if column not in left_out)
        query = f"SELECT count(*), sum(hash(t)) FROM (SELECT {shown} FROM {name}) AS t"
        found[name] = (columns, con.execute(query).fetchall())
    return {name: digest for name, digest in found.items() if name not in OF_THE_FILE}


def test_every_table_of_the_shards_is_together_that_of_one_file(district: District) -> None:
    with opened(district.settings.home / "campus.duckdb") as one, opened(district.shards) as shards:
        of_one_file = digests(one)
        assert digests(shards) == of_one_file
        assert len(of_one_file) > 150
        [(generation,)] = shards.execute("SELECT generation FROM quality.publication").fetchall()
    assert generation == district.manifest.generation
    assert {shard.name: shard.schools for shard in district.manifest.shards} == SCHOOLS


def test_what_has_not_changed_is_not_built(district: District) -> None:
    before = district.manifest
    assert district.build() == []
    assert run_build(district.settings) == 0
    assert district.manifest == before
    assert before.district and before.district.made_of == before.files_of_shards


def test_a_shard_whose_check_fails_leaves_the_others_published(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = district.manifest
    for school in (101, 103):
        student = district.world.platform.rows("students", school)[0]["key"]
        district.world.platform.update("students", student, name=f"Another {school}")
    assert district.world.load(select='key:"raw/students"').problems == []
    with monkeypatch.context() as patch:
        _forbid_school(patch, 101)
        failed, published, of_all = district.build()
    assert failed.problem and "shard 0001 (schools 101, 102) was not published" in failed.problem
    assert (published.problem, published.published, of_all.problem) == (None, True, None)
    after = district.manifest
    assert after.shard("0001").published == before.shard("0001").published
    assert after.shard("0002").published != before.shard("0002").published
    assert any("shard 0001 (schools 101, 102)" in line for line in _to_do(district.settings, [], now()))
    assert [end.problem for end in district.build()] == [None, None]
    assert district.manifest.shard("0001").problem == ""


def test_after_a_night_the_sensor_asks_for_the_shards_that_have_changed_then_for_the_district(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = district.world
    student = world.platform.rows("students", 103)[0]["key"]
    world.platform.update("students", student, name="Somebody else")
    assert world.load(select='key:"raw/students"').problems == []
    found = last_discovery(world.instance, DISCOVERY)
    assert found
    world.instance.add_run_tags(found.run_id, {ALL_ASKED_TAG: found.run_id})
    before = district.manifest
    monkeypatch.setattr(publication, "SHARDS_A_TICK", 1)
    unchanged = district.tick(None)
    assert not unchanged.run_requests and unchanged.skip_message
    assert "up to 0001" in unchanged.skip_message
    first = district.tick(unchanged.cursor)
    assert [(one.job_name, one.partition_key) for one in first.run_requests or []] == [(PUBLISH, "0002")]
    district.carry_out(first)
    assert district.manifest.shard("0002").published != before.shard("0002").published
    assert district.manifest.shard("0001") == before.shard("0001")
    second = district.tick(first.cursor)
    assert [one.job_name for one in second.run_requests or []] == [DISTRICT_JOB]
    district.carry_out(second)
    third = district.tick(second.cursor)
    assert (third.run_requests or [], third.skip_message) == ([], NONE_CHANGED)


def _forbid_school(patch: pytest.MonkeyPatch, school: int) -> None:
    """A check that this school's rows break."""
    from assets import models

    real = models.project_of

    def with_a_check(build: Any) -> Any:
        project = real(build)
        check = replace(
            project.checks[0],
            name="no_such_school",
            of="core.dim_school",
            sql=f"SELECT * FROM core.dim_school WHERE school_id = {school}",
            inputs=("raw.students", "core.dim_school"),
            blocks=True,
            keeps=None,
        )
        return replace(project, checks=(*project.checks, check))

    patch.setattr(models, "project_of", with_a_check)


def test_the_districts_file_names_nobody(district: District) -> None:
    file = Path(district.shards.root) / FILE
    with opened(file) as con:
        columns = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name <> 'quality'"
        ).fetchall()
        [(schools,)] = con.execute(
            "SELECT count(DISTINCT school_id) FROM marts.attendance_class_week"
        ).fetchall()
        comments = con.execute(
            "SELECT comment FROM duckdb_columns() WHERE comment LIKE '%(personal)%'"
        ).fetchall()
    assert schools == 3 and comments == []
    assert len({table for table, _ in columns}) > 15
    assert [pair for pair in columns if OF_A_PERSON.search(pair[1])] == []
    keys = {column for _, column in columns}
    assert keys.isdisjoint({"student_id", "student_name", "teacher_id", "teacher_names", "custom_fields"})


def test_sql_and_exports_read_all_shards(district: District, tmp_path: Path) -> None:
    said = io.StringIO()
    with redirect_stdout(said):
        assert run_sql(district.shards, "SELECT school_id FROM core.dim_school ORDER BY 1", "csv") == 0
    assert said.getvalue().split() == ["school_id", "101", "102", "103"]
    assert run_sql(district.shards, "DELETE FROM core.dim_school", "csv") == 1
    ends = list(
        export(district.shards, ["marts.grade_distribution"], None, ExportOptions(tmp_path, format="csv"))
    )
    assert len([end for end in ends if isinstance(end, Written)]) == 3


def test_dagster_knows_the_shards(district: District) -> None:
    assert district.world.instance.get_dynamic_partitions(SHARDS.name or "") == list(SCHOOLS)
