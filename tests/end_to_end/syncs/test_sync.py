"""A sync ends in tables that equal the platform, whatever happens to its rows between two syncs."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from campus.registry import RESOURCES
from loading.partition_keys import partition_key
from loading.tables import TABLES, slice_of
from pipelines.settings.options import DatasetOptions
from tests.kits.truth.change_log_truth import known_on
from tests.kits.worlds.world import COMPARED, World, differences


@pytest.fixture(scope="module")
def synced(load_world: Callable[..., World]) -> World:
    """A school that has been synced once. What a test changes, the next one finds changed."""
    return load_world("school")


def first(world: World, resource: str, number: int = 0) -> int:
    """The key of one of the rows that the platform shows."""
    rows = [entry for entry in world.platform.rows(resource, 101) if not entry["trashed"]]
    return int(rows[number]["key"])


def test_the_first_sync_ends_in_the_platforms_own_rows(synced: World) -> None:
    assert differences(synced) == {}
    assert {entry["resource"] for entry in synced.log("load_log")} >= set(COMPARED)
    assert all(len(synced.held(resource)) > 0 for resource in COMPARED)


def test_deleted_rows_are_tombstones_with_the_platforms_time(synced: World) -> None:
    trashed = {e["key"]: e["row"] for e in synced.platform.rows("reflections", 101) if e["trashed"]}
    gone = {row["id"]: row for row in synced.held("reflections", alive=False) if row["_deleted_at"]}
    assert trashed.keys() == gone.keys() != set()
    assert all(str(gone[key]["_deleted_at"]) == row["deleted_at"] for key, row in trashed.items())


def test_a_sync_of_an_unchanged_platform_writes_nothing(synced: World) -> None:
    before = synced.versions()
    load = synced.load()
    assert load.problems == []
    assert synced.versions() == before
    assert [load.total(name) for name in ("new", "changed", "returned", "deleted", "vanished")] == [0] * 5
    assert load.total("unchanged") == load.total("loaded") > 1000


def test_each_change_is_counted_and_taken_over(synced: World) -> None:
    platform = synced.platform
    student, other, teacher = (
        first(synced, "students"),
        first(synced, "students", 1),
        first(synced, "teachers"),
    )
    inserted = platform.insert("students", 101, name="新同学")["key"]
    platform.update("students", student, name="改名")
    platform.delete("students", other)
    platform.destroy("teachers", teacher)
    load = synced.load()
    assert load.problems == []
    assert differences(synced) == {}
    students, teachers = load.entry("students"), load.entry("teachers")
    assert (students["new"], students["changed"], students["deleted"]) == (1, 1, 1)
    assert (teachers["vanished"], teachers["changed"]) == (1, 0)
    assert synced.row("students", inserted)["name"] == "新同学"
    assert synced.row("students", student)["name"] == "改名"
    assert synced.row("students", other)["_deleted_at"] is not None
    assert synced.row("teachers", teacher)["_deleted_at"] is not None

    platform.insert("teachers", 101, id=teacher, name="回来")
    load = synced.load()
    assert load.entry("teachers")["returned"] == 1
    assert synced.row("teachers", teacher)["_deleted_at"] is None


def test_a_changed_score_is_logged_and_what_was_known_before_stays_known(
    synced: World, tmp_path: Path
) -> None:
    score = next(
        entry
        for entry in synced.platform.rows("scores", 101)
        if entry["row"]["score"] and not entry["trashed"]
    )
    before = synced.row("scores", score["key"])
    synced.platform.update("scores", score["key"], score="0.25")
    load = synced.load()
    assert load.problems == []
    [change] = [
        row for row in synced.log("changes") if row["key"] == str(score["key"]) and row["field"] == "score"
    ]
    assert (change["op"], Decimal(change["before"]), change["after"]) == ("updated", before["score"], "0.25")

    table, slice = TABLES["scores"], slice_of(RESOURCES["scores"], 101, before["_semester_id"])
    moment = change["seen_at"]

    def known(when: timedelta) -> str:
        rows = known_on(synced.lake, table, slice, "score", moment + when, tmp_path).to_pylist()
        return str(next(row["value"] for row in rows if row["key"] == str(score["key"])))

    assert Decimal(known(-timedelta(seconds=1))) == before["score"]
    assert known(timedelta(0)) == "0.25"


def test_a_class_without_an_assessment_is_normal(synced: World) -> None:
    assessed = {row["class_id"] for row in synced.held("assessments")}
    assert {row["id"] for row in synced.held("classes")} - assessed
    assert {row["status"] for row in synced.log("load_log") if row["resource"] == "assessments"} == {"ok"}


def test_a_retry_skips_what_its_cause_has_committed(synced: World) -> None:
    with_datasets = {"options": synced.settings.options.model_copy(update={"datasets": DatasetOptions()})}
    load = synced.load(**with_datasets)
    committed = {row["resource"] for row in load.log if row["status"] == "ok"}
    again = synced.load(load.sync_id, **with_datasets)
    read_again = {row["resource"] for row in again.log if row not in load.log}
    assert again.problems == []
    # Schools and datasets are always listed, since they say what there is to load.
    listed = {"schools", "datasets", "dataset_fields", "dataset_relations"}
    assert read_again & committed <= listed and committed > {"scores", "grades", "students"}


def test_semesters_come_and_go_as_partitions(synced: World) -> None:
    [semester] = synced.platform.rows("semesters", 101)
    added = synced.platform.insert("semesters", 101, name="下一学期", is_current=False)["key"]
    synced.platform.insert("classes", added, name="新课", class_name="1班", semester_id=added)
    assert synced.load().problems == []
    assert synced.partitions == [partition_key(101, semester["key"]), partition_key(101, added)]
    assert differences(synced) == {}

    synced.platform.destroy("semesters", added)
    problems = synced.load().problems
    assert problems and all("semesters 101" in problem for problem in problems)
    assert len(synced.partitions) == 2, "a semester takes much with it: somebody has to look first"

    assert synced.load(accept_vanished=True).problems == []
    assert synced.partitions == [partition_key(101, semester["key"])]
    assert differences(synced) == {}
    gone = [row for row in synced.held("classes", alive=False) if row["_semester_id"] == added]
    assert gone and all(row["_deleted_at"] for row in gone)


def test_many_vanished_rows_stop_a_slice_until_they_are_accepted(synced: World) -> None:
    teachers = synced.held("teachers")
    for entry in [e for e in synced.platform.rows("teachers", 101) if not e["trashed"]][:10]:
        synced.platform.destroy("teachers", entry["key"])
    [problem] = synced.load().problems
    assert "teachers" in problem and "--accept-vanished" in problem
    assert synced.held("teachers") == teachers
    assert differences(synced).keys() == {"teachers"}

    assert synced.load(accept_vanished=True).problems == []
    assert differences(synced) == {}
