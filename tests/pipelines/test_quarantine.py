"""Rows that break their contract: the others load, these wait in quality.quarantine until they are mended."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from world import World, differences

# A field, and what the platform sends there instead: as JSON text, so that not a digit is changed.
BROKEN = {
    "null for a key": ("teachers", "id", "null"),
    "text for a number": ("structures", "depth", '"two"'),
    "2^63": ("admin_classes", "place_id", "9223372036854775808"),
    "1.7 for an integer": ("students", "pupil_id", "1.7"),
    "a list for an object": ("classes", "teachers", "[[1]]"),
    "an object for a list": ("reflections", "structure_ids", '{"1": 2}'),
    "no decimal": ("grades", "score", '"eight"'),
}
PARTS = ("loaded", "quarantined", "duplicates")


@pytest.fixture(scope="module")
def broken(make_world: Callable[..., World]) -> tuple[World, dict[str, int], dict[str, dict[str, Any]]]:
    """A school synced once, of which a row of each resource has been broken: world, keys, rows before."""
    world = make_world()
    assert world.load().problems == []
    keys, before = {}, {}
    for resource, field, text in BROKEN.values():
        entry = next(entry for entry in world.platform.rows(resource, 101) if not entry["trashed"])
        keys[resource] = entry["key"]
        before[resource] = world.row(resource, entry["key"])
        world.platform.update(resource, entry["key"], **{field: msgspec.Raw(text.encode())})
    world.platform.insert("students", 101, name="新同学")
    return world, keys, before


def test_the_sync_fails_by_its_share_of_quarantined_rows_and_loads_the_others(broken: Any) -> None:
    world, _, _ = broken
    load = world.load()
    [problem] = load.problems
    assert "quarantine" in problem and "students" in problem
    assert load.entry("students")["new"] == 1
    status = {entry["resource"]: entry["status"] for entry in load.log if entry["quarantined"]}
    # One of some 190 grades is within the share that only warns.
    assert status == {resource: "failed" for resource, _, _ in BROKEN.values()} | {"grades": "warning"}
    assert all(row["received"] == sum(row[part] for part in PARTS) for row in load.log)


@pytest.mark.parametrize("kind", BROKEN)
def test_the_row_waits_with_its_reason_and_keeps_its_last_good_version(broken: Any, kind: str) -> None:
    world, keys, before = broken
    resource, field, text = BROKEN[kind]
    [waiting] = [row for row in world.log("quarantine") if row["resource"] == resource]
    assert field in waiting["reason"]
    assert text.replace(" ", "") in waiting["raw"].replace(" ", "")
    assert waiting["key"] == (None if text == "null" else json.dumps([keys[resource]]))
    assert world.row(resource, keys[resource]) == before[resource]


def test_mended_rows_load_and_a_small_share_in_quarantine_only_warns(broken: Any) -> None:
    world, keys, before = broken
    mended = {resource: {field: before[resource][field]} for resource, field, _ in BROKEN.values()}
    for resource, values in (mended | {"grades": {"score": "59.5"}, "classes": {"teachers": []}}).items():
        world.platform.update(resource, keys[resource], **values)
    score = next(entry for entry in world.platform.rows("scores", 101) if not entry["trashed"])
    world.platform.update("scores", score["key"], owner_id="nobody")
    load = world.load()
    assert load.problems == []
    assert (load.entry("scores")["status"], load.entry("scores")["quarantined"]) == ("warning", 1)
    assert [row["resource"] for row in world.log("quarantine")] == ["scores"]
    assert differences(world).keys() == {"scores"}
