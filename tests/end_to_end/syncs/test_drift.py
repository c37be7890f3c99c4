"""Fields that no contract names, as a platform has them for years: kept, and told once."""

import json
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from assets.shared.load_kind import NO_DRIFT, asset_key
from pipelines.cli.doctor import run_doctor
from tests.kits.worlds.world import Load, World

BOTH = 'group:"base_data" or group:"v1"'
OBJECTS = ("teachers", "subject", "grade", "attribute", "schedules", "classroom", "locations")
NESTED = [f"{name}.x_color" for name in OBJECTS]


@pytest.fixture(scope="module")
def world(load_world: Callable[..., World]) -> World:
    """A school whose classes, rooms, subjects and people have fields of their own, synced once."""
    return load_world("small", select=BOTH, checks=True, nested_fields="some")


def began(world: World, load: Load | None = None) -> set[tuple[str, str]]:
    """What the log of drift has as begun, by one load or by all."""
    return {
        (row["resource"], row["field"])
        for row in world.log("drift")
        if row["change"] == "began" and (load is None or row["sync_id"] == load.sync_id)
    }


def checked(world: World, resource: str) -> bool:
    """Whether the last run's check of a resource found no drift."""
    key = dg.AssetCheckKey(asset_key(resource), NO_DRIFT)
    [last] = world.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert last.event and last.event.dagster_event
    return last.event.dagster_event.asset_check_evaluation_data.passed


def extra(world: World, key: int) -> dict[str, Any]:
    """What is kept of a v1 class beside its columns."""
    return dict(json.loads(world.row("v1_classes", key)["_extra"]))


def test_what_no_contract_names_is_kept_as_it_was_sent_members_of_objects_too(world: World) -> None:
    sent = {entry["key"]: entry["row"] for entry in world.platform.rows("v1_classes", 101)}
    assert sent
    for key, row in sent.items():
        stored = extra(world, key)
        assert stored["textbook"] == row["textbook"]
        assert stored["teachers"] == row["teachers"] and "x_color" in stored["teachers"][0]
        assert stored.get("subject") == (row["subject"] or None)
    [pupil, *_] = json.loads(world.held("v1_admin_classes")[0]["_extra"])["students"]
    assert {"id", "x_color"} <= pupil.keys()


def test_what_stands_is_told_by_the_first_sync_only(world: World) -> None:
    drifts = began(world)
    assert {("v1_classes", name) for name in ("textbook", *NESTED)} <= drifts
    assert ("v1_admin_classes", "students.x_color") in drifts
    assert checked(world, "v1_classes"), "what the contract does not name is no news at the first load"
    before = world.log("drift")
    load = world.load(select=BOTH)
    assert load.problems == [] and world.log("drift") == before
    assert all(checked(world, name) for name in ("v1_classes", "v1_admin_classes", "classes"))
    stand = [row for row in world.log("differences") if row["resource"] == "v1_classes"]
    assert {row["field"] for row in stand} == {"textbook", *NESTED}
    assert all(row["first_seen"] < row["last_seen"] for row in stand)


def test_what_is_new_is_told_by_the_sync_that_meets_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    [row, *_] = world.held("v1_classes")
    teachers = [{"id": 1, "name": "T", "x_color": "#fff", "desk": "4-12"}]
    world.platform.update("v1_classes", row["id"], room_size=40, teachers=teachers)
    load = world.load(select=BOTH)
    assert load.problems == []
    assert began(world, load) == {("v1_classes", "room_size"), ("v1_classes", "teachers.desk")}
    assert not checked(world, "v1_classes") and checked(world, "v1_admin_classes")
    assert extra(world, row["id"])["teachers"] == teachers and extra(world, row["id"])["room_size"] == 40
    run_doctor(world.settings)
    said = capsys.readouterr().out
    assert "New differences from the contract: 2, in 1 table of 1 school." in said
    assert began(world, world.load(select=BOTH)) == set()
