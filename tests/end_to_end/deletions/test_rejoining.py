"""Students who leave a class and join it again: both memberships are held, and the list stays provable."""

from collections.abc import Callable
from contextlib import closing

import duckdb
import pytest

from tests.kits.worlds.world import World, differences


@pytest.fixture(scope="module")
def synced(load_world: Callable[..., World]) -> World:
    """A school synced once. What a test changes, the next one finds changed."""
    return load_world("school", rejoined=4)


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


def test_a_row_sent_twice_and_counted_once_is_one_row(synced: World) -> None:
    """In all lists of base data, and in nights that read everything or only changes."""
    classes = len(synced.platform.rows("classes", 101))
    synced.platform.set_faults({"kind": "repeated", "path": "/api/v3/*"})
    for full in (True, False):
        night = synced.load(full=full)
        assert night.problems == []
        assert {(row["status"], row["message"]) for row in night.log} == {("ok", "")}
        assert [night.total(change) for change in ("new", "changed", "deleted", "vanished")] == [0] * 4
        assert differences(synced) == {}
        if full:
            entry = night.entry("class_members")
            assert entry["received"] - entry["duplicates"] == entry["server_total"] == entry["loaded"]
            assert entry["duplicates"] == classes
    synced.platform.set_faults()
    assert synced.publish().problem is None
    with closing(duckdb.connect(str(synced.home / "campus.duckdb"), read_only=True)) as con:
        query = "SELECT actual FROM quality.reconciliation WHERE measure = 'rows' AND "
        assert con.execute(f"{query} NOT agrees").fetchall() == []
        [(members,)] = con.execute(f"{query} resource = 'class_members'").fetchall()
        counted = con.execute("SELECT count(*) FROM raw.class_members WHERE _deleted_at IS NULL").fetchall()
    assert counted == [(members,)] == [(len(synced.held("class_members")),)]


def test_a_row_sent_twice_and_counted_twice_is_two_rows(synced: World) -> None:
    classes = len(synced.platform.rows("classes", 101))
    synced.platform.set_faults({"kind": "repeated", "counted": True, "path": "*/class-selections"})
    entry = synced.load(full=True).entry("class_members")
    assert (entry["status"], entry["message"], entry["new"]) == ("ok", "", classes)
    assert entry["received"] == entry["loaded"] == entry["server_total"]
    synced.platform.set_faults()
    entry = synced.load().entry("class_members")
    # Where the first row is a membership that has ended, so is its double.
    assert (entry["status"], entry["message"], entry["vanished"] > 0) == ("ok", "", True)
    assert differences(synced) == {}


def _person(row):  # type: ignore[no-untyped-def]
    return row["class_id"], row["type"], row["reflection_id"]


def _is_lone(entry, entries) -> bool:  # type: ignore[no-untyped-def]
    """Whether somebody has no other membership of the class."""
    mine = (entry["parent"], entry["row"]["type"], entry["row"]["reflection_id"])
    return sum((e["parent"], e["row"]["type"], e["row"]["reflection_id"]) == mine for e in entries) == 1
