"""Students who leave a class and join it again: both memberships are held, and the list stays provable."""

from collections.abc import Callable

import pytest

from tests.kits.worlds.world import World, differences


@pytest.fixture(scope="module")
def synced(make_world: Callable[..., World]) -> World:
    """A school synced once. What a test changes, the next one finds changed."""
    world = make_world(datasets=False, rejoined=4)
    assert world.load().problems == []
    return world


def test_both_memberships_are_held_and_the_later_one_lives(synced: World) -> None:
    assert differences(synced) == {}
    rows = synced.held("class_members", alive=False)
    last, before = ({_person(row): row for row in rows if row["membership"] == n} for n in (1, 2))
    assert len(before) > 10
    for person, row in before.items():
        assert row["_deleted_at"] == row["deleted_at"] <= last[person]["created_at"]
        assert last[person]["_deleted_at"] is None
    assert any(row["membership"] == 3 for row in rows)


def test_later_syncs_are_proven_and_take_deletions(synced: World) -> None:
    again = synced.load()
    assert again.problems == []
    assert {(row["status"], row["complete"]) for row in again.log} == {("ok", True)}
    assert again.total("changed") == again.total("new") == 0
    entries = synced.platform.rows("class_members", 101)
    lone = next(e for e in entries if not e["trashed"] and _is_lone(e, entries))
    synced.platform.destroy("class_members", lone["key"])
    back = next(e for e in entries if not e["trashed"] and not _is_lone(e, entries))
    synced.platform.destroy("class_members", back["key"])
    load = synced.load()
    entry = load.entry("class_members")
    # Of the one that had come back the membership before is the last one now.
    assert (load.problems, entry["vanished"], entry["deleted"]) == ([], 1, 1)
    assert differences(synced) == {}


def test_who_leaves_and_comes_back_between_two_syncs_has_two_memberships(synced: World) -> None:
    entries = synced.platform.rows("class_members", 101)
    member = next(
        e for e in entries if not e["trashed"] and e["row"]["type"] == "student" and _is_lone(e, entries)
    )
    synced.platform.delete("class_members", member["key"])
    values = {name: member["row"][name] for name in ("type", "reflection_id")}
    later = {"created_at": "2025-05-16 19:00:00", "deleted_at": None}
    synced.platform.insert("class_members", member["parent"], **values, **later)
    assert synced.load().problems == []
    assert differences(synced) == {}
    person = (member["parent"], *values.values())
    rows = sorted(
        (row for row in synced.held("class_members", alive=False) if _person(row) == person),
        key=lambda row: row["membership"],
    )
    assert [(row["membership"], row["_deleted_at"] is None) for row in rows] == [(1, True), (2, False)]


def _person(row):  # type: ignore[no-untyped-def]
    return row["class_id"], row["type"], row["reflection_id"]


def _is_lone(entry, entries) -> bool:  # type: ignore[no-untyped-def]
    """Whether somebody has no other membership of the class."""
    mine = (entry["parent"], entry["row"]["type"], entry["row"]["reflection_id"])
    return sum((e["parent"], e["row"]["type"], e["row"]["reflection_id"]) == mine for e in entries) == 1
