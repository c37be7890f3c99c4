"""Datasets from sync to sync: what changed is asked for, deletions are found, and a guard stops the rest."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.kits.worlds.dataset_world import (
    Published,
    asked,
    backfill,
    damaged,
    differences,
    partitions,
    planned,
    segments,
    shown,
    sync,
)
from tests.kits.worlds.world import Load, World
from warehouse.lake.tables import dataset_table
from warehouse.load.logs.dataset_plans import Plan

ROWS = 300
WIDTH = 100  # ids a segment
# What later syncs read; big_scores has ids from 1 to ROWS.
INCLUDE = ("big_scores", "archive_cards", "manual_notes", "empty_awards", "新的*")
PARTS = ("loaded", "quarantined", "duplicates")


@pytest.fixture(scope="module")
def synced(make_world: Callable[..., World]) -> World:
    """A school whose datasets have been synced once. What a test changes, the next one finds changed."""
    world = make_world("datasets", dataset_rows=ROWS)
    assert sync(world, segment_rows=WIDTH).problems == []
    return world


def again(world: World, **options: Any) -> Load:
    return sync(world, include=INCLUDE, **options)


def loading(world: World, name: str) -> list[dict[str, str]]:
    """The questions for records of a dataset beside those that plan its segments: for one record from an id
    on, and again where there is none."""
    queries = [request["query"] for request in asked(world, name)]
    return [
        query
        for query in queries
        if query.get("limit") != "1" and ("id_elt" in query or query.get("per_page") != "1")
    ]


def in_full(world: World, name: str) -> list[dict[str, str]]:
    """The questions for a stretch in full."""
    return [query for query in loading(world, name) if "sort" in query and "updated_at_egt" not in query]


def test_the_first_sync_ends_in_the_platforms_own_rows(synced: World) -> None:
    assert differences(synced) == {}
    assert synced.log("quarantine") == []
    for row in synced.log("load_log"):
        assert row["status"] == "ok" and row["complete"]
        assert row["received"] == sum(row[part] for part in PARTS)
        assert row["server_total"] in (None, row["received"])


def test_every_segment_is_a_partition_that_says_what_it_took(synced: World) -> None:
    plan: Plan = planned(synced)["big_scores"]
    assert (plan.mode, plan.width, plan.segments) == ("segments", WIDTH, (0, 1, 2, 3))
    keys = [f"101:big_scores:{number:04}" for number in plan.segments]
    assert set(keys) < set(partitions(synced))
    assert "101:_家长_问卷_2025:0010" not in partitions(synced)
    assert {"101:家长_问卷_2025:0010", "101:entry_log:0000"} < set(partitions(synced))
    for number, key in enumerate(keys):
        metadata = shown(synced, key)
        ids = range(max(1, number * WIDTH), min(ROWS, (number + 1) * WIDTH - 1) + 1)
        assert metadata["dagster/row_count"] == metadata["received"] == len(ids)
        assert metadata["cursor"] == ids[-1]
        assert metadata["read"] == "in full"
        # The end of the last one is an empty answer, which is confirmed.
        assert (metadata["pages"], metadata["retries"]) == (3 if ids[-1] == ROWS else 1, 0)
        assert metadata["rows/s"] > 0


def test_comments_tell_what_the_columns_are(synced: World) -> None:
    comments = Published(synced).comments("家长_问卷_2025")
    assert comments["意见_建议"] == "意见与建议. Named “意见 建议” by the platform"
    about = Published(synced).query(
        "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'datasets'"
    )
    table_comments = {row["table_name"]: row["comment"] for row in about.to_pylist()}
    assert table_comments["家长_问卷_2025"] == "家长问卷. Named “家长 问卷: 2025” by the platform"
    assert table_comments["course_scores"] == "课程成绩. 每名学生每门课程的成绩"
    assert comments["满意度"] == "对学校的满意度. One of 1, 2, 3, 4, 5"
    assert all(comments[name] for name in ("_school_id", "_synced_at", "_deleted_at", "_extra"))
    assert comments.keys() > {"family", "created_at"}


def test_an_unchanged_dataset_costs_four_small_requests_a_segment_and_no_commit(synced: World) -> None:
    before = synced.lake.version(dataset_table("big_scores", (), (), ""))
    synced.platform.clear_log()
    load = again(synced)
    assert load.problems == []
    entries = segments(load, "big_scores")
    assert entries.keys() == {0, 1, 2, 3}
    assert all(row["status"] == "ok" and row["new"] == row["changed"] == 0 for row in entries.values())
    assert len(loading(synced, "big_scores")) <= 16, (
        "changes, whether there are more, that there are none, a count"
    )
    assert in_full(synced, "big_scores") == []
    assert synced.lake.version(dataset_table("big_scores", (), (), "")) == before


def test_a_dataset_whose_last_update_did_not_move_is_not_asked_for(synced: World) -> None:
    dated = {e["row"]["name"]: e["row"]["last_updated_at"] for e in synced.platform.rows("datasets", 101)}
    synced.platform.clear_log()
    load = again(synced)
    requested = {
        request["path"].split("/")[-2]
        for request in synced.platform.log()
        if request["path"].endswith("/records")
        and "limit" in request["query"]
        and "id_elt" in request["query"]
    }
    assert requested and requested <= {name for name, moment in dated.items() if moment is None}
    unasked = [row for row in load.log if row["resource"].startswith("datasets.") and not row["requests"]]
    assert unasked
    assert {(row["status"], row["complete"], row["whole"]) for row in unasked} == {("ok", True, False)}


def test_changes_are_taken_over_and_only_they_are_asked_for(synced: World) -> None:
    platform = synced.platform
    platform.update("datasets/big_scores", 150, parent=101, remark="改了")
    new = platform.insert("datasets/big_scores", 101)["key"]
    # As many come as go: the count is that of before, and should be higher by the one that has come.
    platform.destroy("datasets/archive_cards", 1003, parent=101)
    assert platform.insert("datasets/archive_cards", 101, first=True)["key"] == 1000
    platform.clear_log()
    load = again(synced)
    assert load.problems == []
    assert differences(synced) == {}
    entries = segments(load, "big_scores")
    moved = {number: (row["new"], row["changed"]) for number, row in entries.items()}
    assert moved == {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (1, 0)}
    assert new == ROWS + 1
    assert sum(row["received"] for row in entries.values()) < 10, "what lies within the overlap comes again"
    assert [entries[number]["server_total"] for number in range(4)] == [99, 100, 100, 2]
    assert in_full(synced, "big_scores") == []
    assert all(row["received"] == sum(row[part] or 0 for part in PARTS) for row in load.log)


def test_a_deletion_is_found_by_its_count_and_only_its_segment_is_read_again(synced: World) -> None:
    synced.platform.destroy("datasets/big_scores", 250, parent=101)
    synced.platform.update("datasets/big_scores", 42, parent=101, touch=False, remark="heimlich")
    synced.platform.clear_log()
    load = again(synced)
    assert load.problems == []
    entry = segments(load, "big_scores")[2]
    assert (entry["vanished"], entry["received"], entry["server_total"]) == (1, 99, 99)
    [query] = in_full(synced, "big_scores")
    assert (query["id_egt"], query["id_elt"]) == ("200", "299")
    # What was asked in vain for changes, and the count that gave it away, are told too.
    of_segment = [params for params in loading(synced, "big_scores") if params["id_elt"] == "299"]
    assert entry["requests"] == len(of_segment) > 3
    [gone] = [row for row in Published(synced).rows("big_scores", alive=False) if row["id"] == 250]
    assert isinstance(gone["_deleted_at"], datetime)


def test_a_change_that_moves_no_updated_at_is_seen_by_a_full_sync(synced: World) -> None:
    assert differences(synced).keys() == {"big_scores"}
    load = again(synced, full=True)
    assert load.problems == []
    assert segments(load, "big_scores")[0]["changed"] == 1
    assert differences(synced) == {}


def test_many_vanished_rows_stop_their_segment_until_they_are_accepted(synced: World) -> None:
    for key in range(110, 140):
        synced.platform.destroy("datasets/big_scores", key, parent=101)
    synced.platform.update("datasets/big_scores", 1, parent=101, remark="daneben")
    load = again(synced)
    [problem] = load.problems
    assert "datasets.big_scores 101:1" in problem and "30 of 100 rows" in problem
    assert "--accept-vanished" in problem
    entries = segments(load, "big_scores")
    assert [entries[number]["status"] for number in range(4)] == ["ok", "failed", "ok", "ok"]
    assert differences(synced).keys() == {"big_scores"}
    assert entries[0]["changed"] == 1, "the other segments load all the same"

    assert again(synced, accept_vanished=True).problems == []
    assert differences(synced) == {}


def test_a_dataset_that_becomes_empty_or_is_new(synced: World) -> None:
    for entry in synced.platform.rows("datasets/manual_notes", 101)[:4]:
        synced.platform.destroy("datasets/manual_notes", entry["key"], parent=101)
    synced.platform.insert("datasets/empty_awards", 101, title="第一个")
    for name, kind, primary in (("id", "integer", True), ("内容", "string", False)):
        synced.platform.insert(
            "dataset_fields", 101, dataset="新的 数据", name=name, type=kind, primary=primary
        )
    synced.platform.insert("datasets", 101, name="新的 数据", label="新", last_updated_at=None)
    synced.platform.insert("datasets/新的 数据", 101, 内容="一")
    load = again(synced)
    assert load.problems == []
    assert segments(load, "新的_数据")[0]["new"] == 1
    assert differences(synced) == {}


def test_a_dataset_that_is_gone_keeps_its_rows_as_tombstones(synced: World) -> None:
    [entry] = [e for e in synced.platform.rows("datasets", 101) if e["row"]["name"] == "新的 数据"]
    synced.platform.destroy("datasets", entry["key"], parent=101)
    synced.platform.update("datasets/big_scores", 2, parent=101, remark="daneben")
    with damaged(synced, "新的_数据"):
        [problem] = again(synced).problems
    assert "school 101, dataset '新的 数据': " in problem
    assert differences(synced) == {}, "the others load all the same"
    assert Published(synced).rows("新的_数据") != []

    load = again(synced)
    assert load.problems == [] and segments(load, "新的_数据")[0]["vanished"] == 1
    assert [row["内容"] for row in Published(synced).rows("新的_数据", alive=False)] == ["一"]
    assert Published(synced).rows("新的_数据") == []
    assert not [key for key in partitions(synced) if "新的" in key]
    assert segments(again(synced), "新的_数据") == {}, "once is enough"


def test_a_dataset_that_comes_back_unchanged_is_read_in_full(synced: World) -> None:
    """Nothing of it was updated since it was read last: asking for changes would bring nothing back."""
    rows = Published(synced).rows("big_scores")
    [entry] = [e for e in synced.platform.rows("datasets", 101) if e["row"]["name"] == "big_scores"]
    synced.platform.destroy("datasets", entry["key"], parent=101)
    assert again(synced, accept_vanished=True).problems == []
    assert Published(synced).rows("big_scores") == []

    synced.platform.insert("datasets", 101, **entry["row"])
    load = again(synced)
    assert load.problems == []
    assert sum(segment["returned"] for segment in segments(load, "big_scores").values()) == len(rows) > 0
    assert differences(synced) == {}


def test_some_segments_can_be_loaded_alone(synced: World) -> None:
    synced.platform.clear_log()
    load = backfill(synced, "101:big_scores:0001", "101:big_scores:0002")
    assert load.problems == []
    assert segments(load, "big_scores").keys() == {1, 2}
    paths = {
        request["path"].split("/")[-2]
        for request in synced.platform.log()
        if request["path"].endswith("/records")
    }
    assert paths == {"big_scores"}


def test_a_row_sent_twice_and_counted_once_is_one_row(synced: World) -> None:
    """Whether a dataset is read by ids or by pages. The visits of entry_log have no key, and some are alike:
    the count does not tell which visit came twice."""
    assert sync(synced, full=True, segment_rows=WIDTH).problems == []
    synced.platform.set_faults({"kind": "repeated", "path": "*/records"})
    night = sync(synced, full=True, segment_rows=WIDTH)
    synced.platform.set_faults()
    assert night.problems == []
    assert differences(synced).keys() == {"entry_log"}
    assert [night.total(change) for change in ("new", "changed", "vanished")] == [1, 0, 0]
    read = [row for row in night.log if row["resource"].startswith("datasets.")]
    [unclear] = [row for row in read if row["status"] != "ok"]
    assert (unclear["resource"], unclear["status"]) == ("datasets.entry_log", "warning")
    assert "which of them it sent again is not known" in unclear["message"]
    read.remove(unclear)
    assert all(row["received"] == row["server_total"] + 1 for row in read)
    assert all(row["duplicates"] == 1 for row in read)
    night = sync(synced, full=True, segment_rows=WIDTH)
    assert (night.problems, differences(synced)) == ([], {})


def test_where_no_datasets_are_wanted_nothing_is_asked_and_no_row_is_lost(synced: World) -> None:
    stored_ids = {row["id"] for row in Published(synced).rows("big_scores")}
    synced.platform.clear_log()
    assert sync(synced, include=()).problems == []
    assert not [request for request in synced.platform.log() if "/uds/" in request["path"]]
    assert partitions(synced) == []
    assert {row["id"] for row in Published(synced).rows("big_scores")} == stored_ids != set()
