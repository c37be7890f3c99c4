"""Publication in shards: together they are what one file is, and each goes its own way."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from assets.publication.shards import NONE_CHANGED, SHARDS
from exports.export import Options as ExportOptions
from exports.export import Written, export
from pipelines.cli.actions.load import run_build
from pipelines.cli.actions.sql import run_sql
from pipelines.nights.run_state import ALL_REQUESTED_TAG, last_discovery
from pipelines.publication import due_shards
from pipelines.runs.jobs import DISCOVERY, DISTRICT_JOB, MAINTENANCE, PUBLISH
from pipelines.status.report import _to_do
from tests.kits.worlds.shards import District, digests, forbid_school
from tests.kits.worlds.world import World
from warehouse.load.logs.load_log import now
from warehouse.publish.shards.district import FILE, PERSONAL
from warehouse.published.reading import opened

SCHOOLS = {"0001": (101, 102), "0002": (103,)}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def district(load_world: Callable[..., World]) -> District:
    """Three small schools, published in one file and in two shards."""
    world = load_world("shards", select=None, semesters=1)
    assert world.publish().problem is None
    district = District(world)
    assert [end.problem for end in district.build()] == [None, None, None]
    return district


def test_every_table_of_the_shards_is_together_that_of_one_file(district: District) -> None:
    with opened(district.settings.home / "campus.duckdb") as whole_file, opened(district.shards) as shards:
        of_one_file = digests(whole_file)
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
        forbid_school(patch, 101)
        failed, published, of_all = district.build()
    assert failed.problem and "shard 0001 (schools 101, 102) was not published" in failed.problem
    assert (published.problem, published.published, of_all.problem) == (None, True, None)
    after = district.manifest
    assert after.shard("0001").published == before.shard("0001").published
    assert after.shard("0002").published != before.shard("0002").published
    assert any("shard 0001 (schools 101, 102)" in line for line in _to_do(district.settings, [], now()))
    assert [end.problem for end in district.build()] == [None, None]
    assert district.manifest.shard("0001").problem == ""


def test_after_a_night_the_sensor_asks_for_maintenance_then_for_changed_shards_then_for_the_district(
    district: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = district.world
    student = world.platform.rows("students", 103)[0]["key"]
    world.platform.update("students", student, name="Somebody else")
    assert world.load(select='key:"raw/students"').problems == []
    discovery = last_discovery(world.instance, DISCOVERY)
    assert discovery
    world.instance.add_run_tags(discovery.run_id, {ALL_REQUESTED_TAG: discovery.run_id})
    before = district.manifest
    monkeypatch.setattr(due_shards, "SHARDS_PER_TICK", 1)
    upkeep = district.tick(None)
    assert [request.job_name for request in upkeep.run_requests or []] == [MAINTENANCE]
    district.carry_out(upkeep)
    unchanged = district.tick(upkeep.cursor)
    assert not unchanged.run_requests and unchanged.skip_message
    assert "up to 0001" in unchanged.skip_message
    first = district.tick(unchanged.cursor)
    assert [(request.job_name, request.partition_key) for request in first.run_requests or []] == [
        (PUBLISH, "0002")
    ]
    district.carry_out(first)
    assert district.manifest.shard("0002").published != before.shard("0002").published
    assert district.manifest.shard("0001") == before.shard("0001")
    second = district.tick(first.cursor)
    assert [request.job_name for request in second.run_requests or []] == [DISTRICT_JOB]
    # As if the runs failed. Dagster starts one run a key.
    keys = []
    for hour, minute in ((3, 5), (3, 15), (4, 0)):
        monkeypatch.setattr(due_shards, "now", partial(datetime, 2026, 9, 1, hour, minute))
        [request] = district.tick(first.cursor).run_requests or []
        keys.append(request.run_key)
    assert keys[0] == keys[1] != keys[2], "it is tried again once an hour"
    district.carry_out(second)
    third = district.tick(second.cursor)
    assert (third.run_requests or [], third.skip_message) == ([], NONE_CHANGED)


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
    assert [pair for pair in columns if PERSONAL.search(pair[1])] == []
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
