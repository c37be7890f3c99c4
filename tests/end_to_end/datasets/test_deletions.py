"""Deleted rows of a large dataset cost a few small requests, and never an untrue table."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from loading.datasets import load_segments
from tests.kits.worlds.dataset_world import Published, asked, differences, segments, shown, sync
from tests.kits.worlds.world import Load, World

ROWS = 20_000
WIDTH = 10_000  # ids a segment
KEY = "101:big_scores:0000"


@pytest.fixture(scope="module")
def synced(make_world: Callable[..., World]) -> World:
    """A school with a dataset of three segments, read once; ids are from 1 to ROWS."""
    world = make_world("datasets", dataset_rows=ROWS)
    assert night(world).problems == []
    return world


def night(made: World, **options: Any) -> Load:
    made.platform.clear_log()
    return sync(made, include=("big_scores",), segment_rows=WIDTH, **options)


def delete(made: World, *ids: int) -> None:
    for number in ids:
        made.platform.destroy("datasets/big_scores", number, parent=101)


def counts_and_reads(made: World) -> tuple[int, list[int]]:
    """How many ranges were counted, and how many ids each range has that was read in full."""
    queries = [entry["query"] for entry in asked(made, "big_scores") if "id_elt" in entry["query"]]
    reads = [query for query in queries if "sort" in query and "updated_at_egt" not in query]
    counts = [query for query in queries if query.get("per_page") == "1"]
    return len(counts), [int(query["id_elt"]) - int(query["id_egt"]) + 1 for query in reads]


def test_deletions_are_found_by_counts_of_ranges(synced: World) -> None:
    delete(synced, 5, 4_000, 16_000)
    synced.platform.update("datasets/big_scores", 4_001, parent=101, remark="改了")
    synced.platform.insert("datasets/big_scores", 101)
    load = night(synced)
    assert load.problems == []
    assert differences(synced) == {}
    entries = segments(load, "big_scores")
    moved = {number: (row["new"], row["changed"], row["vanished"]) for number, row in entries.items()}
    assert moved == {0: (0, 1, 2), 1: (0, 0, 1), 2: (1, 0, 0)}
    for row in entries.values():
        assert (row["status"], row["complete"], row["whole"]) == ("ok", True, False)
        assert row["received"] == row["loaded"] + row["duplicates"] + row["quarantined"]
    assert [entries[number]["server_total"] for number in range(3)] == [9_997, 9_999, 2]
    # Each segment before and after, three parts of both, and three parts of each part that differs.
    counts, reads = counts_and_reads(synced)
    assert counts == 3 + 2 + 2 * 3 + 3 * 3
    assert len(reads) == 3 and max(reads) < 700
    assert shown(synced, KEY)["read"] == "what changed, and 2 ranges of ids in full"
    gone = {row["id"]: row["_deleted_at"] for row in Published(synced).rows("big_scores", alive=False)}
    assert all(isinstance(gone[number], datetime) for number in (5, 4_000, 16_000))


def test_reconciliation_is_true_after_a_reading_in_part(synced: World) -> None:
    measured = {
        row["slice"]: (row["expected"], row["actual"])
        for row in synced.log("stated_counts")
        if row["resource"] == "datasets.big_scores"
    }
    assert measured["101:0"] == (9_997, 9_997)
    synced.platform.update("datasets/big_scores", 15_000, parent=101, remark="改了")
    night(synced)
    assert counts_and_reads(synced) == (3, []), "the next night, each segment's count fits"


def test_a_range_that_is_gone_is_not_read(synced: World) -> None:
    delete(synced, *range(12_600, 13_300))
    load = night(synced)
    assert load.problems == []
    assert differences(synced) == {}
    assert segments(load, "big_scores")[1]["vanished"] == 700
    _, reads = counts_and_reads(synced)
    assert sum(reads) < 2_000


def test_rows_deleted_meanwhile_have_the_segment_read_in_full(
    synced: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_spans = load_segments.read_spans  # type: ignore[attr-defined]

    async def read_while_another_goes(*args: Any) -> None:
        await read_spans(*args)
        delete(synced, 9_000)

    monkeypatch.setattr(load_segments, "read_spans", read_while_another_goes)
    delete(synced, 1_000)
    load = night(synced)
    assert load.problems == []
    assert differences(synced) == {}
    entry = segments(load, "big_scores")[0]
    assert (entry["vanished"], entry["whole"]) == (2, True)


def test_what_a_fitting_count_hides_shows_with_the_next_deletion(synced: World) -> None:
    """A row is deleted, and an old row comes: the count of the segment fits, as it always did."""
    platform = synced.platform
    delete(synced, 6_000)
    old = {"created_at": "2020-01-01 00:00:00", "updated_at": "2020-01-01 00:00:00"}
    assert platform.insert("datasets/big_scores", 101, first=True, **old)["key"] == 0
    assert night(synced).problems == []
    ids = {row["id"] for row in Published(synced).rows("big_scores")}
    assert 6_000 in ids and 0 not in ids

    delete(synced, 7_999)
    load = night(synced)
    assert load.problems == []
    assert differences(synced) == {}
    entry = segments(load, "big_scores")[0]
    assert (entry["new"], entry["vanished"], entry["whole"]) == (1, 2, False)
