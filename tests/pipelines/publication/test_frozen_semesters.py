"""Closed semesters in files of their own: with them all is as without, and a night leaves them alone."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.publication import shards as target_of_shards
from loading.semesters import Closed, closed_semesters
from pipelines.cli.actions.thresholds import run_thresholds
from pipelines.resources import build_of
from tests.kits.worlds.shards import District, digests, forbid_school
from tests.kits.worlds.world import World
from warehouse.load.logs.load_log import now
from warehouse.publish.shards import publication
from warehouse.published.manifest import Shard
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken, clean

#: By the simulator, the semesters of its first school: one that is over, and the present one.
OVER, CURRENT = 10101, 10102
#: Asset keys of what these tests change.
CHANGED = 'key:"raw/students" or key:"raw/assessments" or key:"raw/assessment_items" or key:"raw/scores"'

# Some twenty builds; tests/warehouse/publish/test_frozen.py tries the parts in a second.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(load_world: Callable[..., World]) -> World:
    """Three small schools of two semesters, of which one is over, published in one file."""
    world = load_world("shards", select=None)
    assert world.publish().problem is None
    return world


@pytest.fixture(scope="module")
def whole(world: World) -> District:
    """They in shards that have all semesters."""
    district = District(world, to=str(world.home / "whole"))
    built(district)
    return district


@pytest.fixture(scope="module")
def frozen(world: World) -> District:
    """They in shards whose semesters that are over have files of their own."""
    district = District(world, to=str(world.home / "frozen"), freeze_after_days=30)
    built(district)
    return district


def built(district: District) -> None:
    """Build what is due, all of it without a problem."""
    assert {end.problem for end in district.build()} == {None}


def told(district: District) -> dict[str, Any]:
    with opened(district.shards) as con:
        return digests(con, of_one_sync=False)


def rows_of_over(file: Path) -> list[int]:
    """How many rows of the semester that is over a file has, of tables that are divided."""
    names = ("core.fct_attendance", "core.fct_score", "marts.attendance_student_day")
    with duckdb.connect(str(file), read_only=True) as con:
        return [len(con.sql(f"FROM {name} WHERE semester_id = {OVER}")) for name in names]


def change_score(world: World, semester: int, score: str) -> None:
    """Change the first score of a semester of the first school, and load it."""
    row = world.platform.rows("scores", 101, semester_id=semester)[0]
    world.platform.update("scores", row["key"], score=score)
    assert world.load(select=CHANGED, full=True, school_ids=(101,)).problems == []


def first(district: District) -> Shard:
    return district.manifest.shard("0001")


def files(district: District) -> tuple[str, str]:
    """The file of the first shard, and that of its closed semesters."""
    published = first(district).published
    assert published and published.frozen
    return published.file, published.frozen.file


def test_every_table_is_that_of_shards_without_and_that_of_one_file(
    world: World, whole: District, frozen: District
) -> None:
    with (
        opened(world.home / "campus.duckdb") as whole_file,
        opened(whole.shards) as shards,
        opened(frozen.shards) as divided,
    ):
        expected = digests(whole_file)
        assert digests(shards) == expected
        assert digests(divided) == expected
    assert {shard.name for shard in frozen.manifest.shards} == set(frozen.manifest.frozen_files)
    assert whole.manifest.frozen_files == {}
    of_shard, of_over = (Path(frozen.shards.root) / name for name in files(frozen))
    assert set(rows_of_over(of_shard)) == {0}
    assert min(rows_of_over(of_over)) > 0


def test_what_has_not_changed_is_not_built(frozen: District) -> None:
    before = frozen.manifest
    assert frozen.build() == []
    assert frozen.manifest == before


def test_a_night_that_changes_the_present_semester_builds_it_alone(
    world: World, whole: District, frozen: District
) -> None:
    before = files(frozen)
    student = world.platform.rows("students", 101)[0]["key"]
    world.platform.update("students", student, name="Another name")
    change_score(world, CURRENT, "1")
    built(frozen)
    after = files(frozen)
    assert (after[0] != before[0], after[1]) == (True, before[1])
    built(whole)
    assert told(frozen) == told(whole)


def test_a_late_change_of_a_closed_semester_shows_the_same_night(
    world: World, whole: District, frozen: District
) -> None:
    before = files(frozen)
    change_score(world, OVER, "2")
    built(frozen)
    assert files(frozen)[1] != before[1]
    built(whole)
    assert told(frozen) == told(whole)
    assert frozen.build() == []


def test_what_its_rows_are_made_of_makes_them_anew(world: World, whole: District, frozen: District) -> None:
    before = files(frozen)
    folder = world.home / "thresholds"
    folder.mkdir()
    rows = "school_id,threshold,value\n101,absent_day_percent,1\n"
    (folder / "attendance_thresholds.csv").write_text(rows, encoding="utf-8")
    built(frozen)
    assert files(frozen)[1] != before[1]
    built(whole)
    assert told(frozen) == told(whole)


def test_a_failed_check_leaves_both_files(
    world: World, whole: District, frozen: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = first(frozen).published
    student = world.platform.rows("students", 101)[1]["key"]
    world.platform.update("students", student, name="One more name")
    change_score(world, OVER, "3")
    with monkeypatch.context() as patch:
        forbid_school(patch, 101)
        [failed, *_] = frozen.build()
    assert failed.problem and "shard 0001 (schools 101, 102) was not published" in failed.problem
    assert first(frozen).published == before
    built(frozen)
    built(whole)
    assert told(frozen) == told(whole)


def test_a_death_before_both_files_are_named_leaves_those_of_before(
    world: World, whole: District, frozen: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = first(frozen).published
    change_score(world, OVER, "4")

    def dies(*_: Any, **__: Any) -> None:
        raise PublicationBroken("the machine is gone")

    with monkeypatch.context() as patch:
        patch.setattr(publication, "with_file", dies)
        assert frozen.build()[0].problem
    assert first(frozen).published == before
    built(frozen)
    built(whole)
    assert told(frozen) == told(whole)
    unused = clean(frozen.shards, timedelta(0))
    assert [name for name in unused if name.endswith(".frozen.duckdb")]
    assert told(frozen) == told(whole)


@pytest.fixture(scope="module")
def anew(world: World) -> District:
    """The schools as the tests before have left them, in shards that have all semesters."""
    district = District(world, to=str(world.home / "anew"))
    built(district)
    return district


def test_a_semester_that_closes_moves_to_its_file_and_one_that_opens_again_moves_back(
    world: World, anew: District, frozen: District
) -> None:
    later = District(world, to=frozen.shards.root, freeze_after_days=36_500)
    built(later)
    assert later.manifest.frozen_files == {}
    assert told(later) == told(anew)
    assert later.build() == []
    built(frozen)
    assert set(frozen.manifest.frozen_files) == {"0001", "0002"}
    assert told(frozen) == told(anew)


def test_thresholds_are_tried_on_all_semesters(anew: District, frozen: District) -> None:
    def shown(district: District) -> str:
        said = io.StringIO()
        with redirect_stdout(said):
            assert run_thresholds(district.settings, [101], 4) == 0
        return said.getvalue()

    assert shown(frozen) == shown(anew)


def test_schools_that_are_dealt_anew_are_read_of_one_shard_each(
    world: World, anew: District, frozen: District
) -> None:
    dealt = District(world, to=frozen.shards.root, freeze_after_days=30, schools_per_shard=1)
    names = [shard.name for shard in target_of_shards.deal(dealt.shards, [101, 102, 103], 1).shards][-3:]  # type: ignore[attr-defined]
    dealt.build_only(names[-1])
    assert told(dealt) == told(anew)
    built(dealt)
    assert set(dealt.manifest.frozen_files) == set(names)
    assert told(dealt) == told(anew)


def test_a_home_that_loses_the_setting_has_whole_shards_again(
    world: World, anew: District, frozen: District
) -> None:
    without = District(world, to=frozen.shards.root, schools_per_shard=1)
    shard = next(shard for shard in without.manifest.shards if shard.published and shard.published.frozen)
    build = replace(build_of(without.settings), shard=shard.name)
    version = shard.published.models if shard.published else ""
    target = target_of_shards.shard_target(world.opened_as_is()[0], build, without.shards, version)
    assert target.previous is None, "it would be found unchanged, and due again each night"
    built(without)
    assert without.manifest.frozen_files == {}
    assert told(without) == told(anew)


def test_rows_that_lie_in_two_semesters_stay_in_one_file(
    world: World, anew: District, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a class would that has moved and of which the lake has rows in both."""

    def confused(lake: Any, schools: Any, *given: Any) -> Closed:
        closed = closed_semesters(lake, schools, *given)
        both = {(101, CURRENT)} & {(school, CURRENT) for school in schools}
        return replace(closed, v3=closed.v3 | both)

    monkeypatch.setattr(target_of_shards, "closed_semesters", confused)
    mixed = District(world, to=str(world.home / "mixed"), freeze_after_days=30)
    built(mixed)
    published = mixed.manifest.shard("0001").published
    assert published and published.frozen and published.mixed == (101,)
    assert told(mixed) == told(anew)
    assert mixed.build() == []


def test_a_semester_is_closed_once_it_is_over_for_both_interfaces(world: World) -> None:
    today = now().date()
    closed = closed_semesters(world.lake, [101], {}, today)
    assert (closed.core, closed.v3, closed.v1) == ({(101, OVER)},) * 3
    assert closed_semesters(world.lake, [101], {}, today - timedelta(days=36_500)).core == frozenset()
