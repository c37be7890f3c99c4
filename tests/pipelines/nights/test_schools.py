"""Several schools: one that fails stops nobody, one that is new is found."""

from collections.abc import Callable

import pytest

from pipelines.definitions import load_definitions
from pipelines.nights.sync import JobEnd, SelectionError, load
from pipelines.resources import open_runtime
from tests.kits.worlds.world import World, differences


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools, nothing synced yet."""
    return make_world("two_schools", datasets=True)


def test_a_school_that_is_new_is_found(district: World) -> None:
    assert district.load(school_ids=(101,)).problems == []
    assert {row["_school_id"] for row in district.held("students")} == {101}
    assert [key.split(":")[0] for key in district.partitions] == ["101"]

    assert district.load().problems == []
    assert [key.split(":")[0] for key in district.partitions] == ["101", "102"]
    assert differences(district) == {}


def test_a_school_that_fails_is_named_and_keeps_its_rows(district: World) -> None:
    rows = [row for row in district.held("students") if row["_school_id"] == 102]
    platform = district.platform
    for school_id in (101, 102):
        platform.insert("students", school_id, name="新同学")
    # Ids of the simulator's classes begin with their school's.
    platform.set_faults(
        {"kind": "status", "status": 403, "path": "/api/v3/class-assessment/classes/102*"},
        {"kind": "status", "status": 403, "path": "/api/v3/class-assessment/items/102*"},
    )
    load = district.load()
    platform.set_faults()
    [problem] = load.problems
    assert "102" in problem and "403" in problem and "class.read" in problem
    assert differences(district) == {}, "what could be read of both schools is in"
    assert len(rows) + 1 == len([row for row in district.held("students") if row["_school_id"] == 102])


def test_a_school_that_the_client_may_not_read_is_named(make_world: Callable[..., World]) -> None:
    world = make_world("two_schools", allowed_schools=[101])
    [problem] = world.load(school_ids=(102, 101)).problems
    assert "102" in problem and "CAMPUS_SCHOOL_IDS" in problem
    assert {row["_school_id"] for row in world.held("scores")} == {101}


def select(world: World, sync_id: str, selection: str) -> list[JobEnd]:
    with open_runtime(world.settings) as runtime:
        definitions = load_definitions(world.settings, runtime)
        return list(load(runtime, definitions, world.instance, sync_id, selection=selection))


def test_a_selection_loads_only_what_it_names(district: World) -> None:
    ends = select(district, "some", 'key:"raw/students"')
    assert [end.problem for end in ends] == [None] * 3  # the discovery and two schools
    loaded = {row["resource"] for row in district.log("load_log") if row["sync_id"] == "some"}
    # What discovery finds out is loaded with any selection.
    discovered = {"schools", "semesters", "v1_semesters", "datasets", "dataset_fields", "dataset_relations"}
    assert loaded == {*discovered, "students"}


@pytest.mark.parametrize("selection", ["key:nothing", "group:"])
def test_a_selection_that_names_nothing_is_said_before_anything_runs(district: World, selection: str) -> None:
    with pytest.raises(SelectionError, match="--select"):
        select(district, "none", selection)
    assert "none" not in {row["sync_id"] for row in district.log("load_log")}
