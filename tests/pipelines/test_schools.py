"""Several schools: one that fails stops nobody, one that is new is found."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from world import World, differences

from pipelines.definitions import build_definitions
from pipelines.resources import open_runtime
from pipelines.sync import JobEnd, SelectionError, sync


@pytest.fixture(scope="module")
def district(make_world: Callable[..., World]) -> World:
    """Two schools, nothing synced yet."""
    return make_world(schools=2, students=12)


def test_a_school_that_is_new_is_found(district: World) -> None:
    settings = district.settings.model_copy(update={"school_ids": (101,)})
    with open_runtime(settings) as runtime:
        first = replace(district, definitions=build_definitions(settings, runtime)).load()
    assert first.problems == []
    assert {row["_school_id"] for row in district.held("students")} == {101}
    assert [key.split("|")[0] for key in district.partitions] == ["101"]

    assert district.load().problems == []
    assert [key.split("|")[0] for key in district.partitions] == ["101", "102"]
    assert differences(district) == {}


def test_a_school_that_fails_is_named_and_keeps_its_rows(district: World) -> None:
    held = [row for row in district.held("students") if row["_school_id"] == 102]
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
    assert len(held) + 1 == len([row for row in district.held("students") if row["_school_id"] == 102])


def test_a_school_that_the_client_may_not_read_is_named(make_world: Callable[..., World]) -> None:
    world = make_world(schools=2, students=12, allowed_schools=[101])
    settings = world.settings.model_copy(update={"school_ids": (102, 101)})
    with open_runtime(settings) as runtime:
        load = replace(world, definitions=build_definitions(settings, runtime)).load()
    [problem] = load.problems
    assert "102" in problem and "CAMPUS_SCHOOL_IDS" in problem
    assert {row["_school_id"] for row in world.held("scores")} == {101}


def test_a_selection_loads_only_what_it_names(district: World) -> None:
    runs = sync(district.definitions, district.instance, "some", selection='key:"raw/students"')
    ends = [next(runs) for _ in range(3)]  # discovery and two schools; the rest would publish
    assert [end.problem for end in ends] == [None] * 3
    loaded = {row["resource"] for row in district.log("load_log") if row["sync_id"] == "some"}
    assert loaded == {"schools", "semesters", "students"}


@pytest.mark.parametrize("selection", ["key:nothing", "group:"])
def test_a_selection_that_names_nothing_is_said_before_anything_runs(district: World, selection: str) -> None:
    with pytest.raises(SelectionError, match="--select"):
        _: list[JobEnd] = list(sync(district.definitions, district.instance, "none", selection=selection))
    assert "none" not in {row["sync_id"] for row in district.log("load_log")}
