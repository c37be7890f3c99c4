"""Datasets whose metadata call types by other words: equal tables, equal segments, and homes that an earlier
version loaded as text mend themselves."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest

from campus.decoding.definition import Meaning
from tests.kits.worlds.dataset_world import (
    Published,
    differences,
    discovered,
    field_key,
    partitions,
    planned,
    segments,
    sync,
)
from tests.kits.worlds.world import Load, World

ROWS = 2_500
WIDTH = 1_000
# All that earlier versions knew.
OLD_WORDS = {
    **{
        word: word for word in ("integer", "decimal", "text", "enum", "date", "timestamp", "boolean", "float")
    },
    "string": "text",
    "attachment": "json",
}


@contextmanager
def an_earlier_version() -> Iterator[None]:
    """It knew the specification's own words, in lower case, and took all else for text."""

    def meaning_of(word: str | None, precision: int | None = None, scale: int | None = None) -> Meaning:
        kind = OLD_WORDS.get(word or "")
        return Meaning(kind, precision, scale) if kind == "decimal" else Meaning(kind)

    with (
        patch("campus.decoding.definition.meaning_of", meaning_of),
        patch("campus.decoding.definition._FLAGS", {}),
        patch("loading.datasets.plans.needs_values", lambda *_: False),
    ):
        yield


def again(world: World, **options: Any) -> Load:
    return sync(world, segment_rows=WIDTH, **options)


def segments_of(world: World) -> dict[str, tuple[int, ...]]:
    return {name: plan.segments for name, plan in planned(world).items() if plan.mode == "segments"}


def untold(type_words: str) -> set[str]:
    """Of what is empty the values tell nothing yet."""
    return {"empty_awards"} if type_words in ("number", "string_ids", "unknown") else set()


@pytest.fixture(scope="module")
def plain(make_world: Callable[..., World]) -> dict[str, tuple[int, ...]]:
    """The segments of each dataset where the platform speaks as the specification does."""
    world = make_world("datasets", dataset_rows=ROWS)
    assert again(world).problems == []
    assert differences(world) == {}
    return segments_of(world)


@pytest.mark.parametrize("type_words", ["unknown", "number", "string_ids"])
def test_whatever_the_words_the_tables_and_the_segments_are_the_same(
    type_words: str, plain: dict[str, tuple[int, ...]], make_world: Callable[..., World]
) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words=type_words)
    assert again(world).problems == []
    assert differences(world) == {}
    assert segments_of(world) == {name: cut for name, cut in plain.items() if name not in untold(type_words)}
    unknown_fields = [row["field"] for row in world.log("drift") if row["kind"] == "unknown_type"]
    world.platform.clear_log()
    assert again(world).problems == []
    assert differences(world) == {}
    assert [row["field"] for row in world.log("drift") if row["kind"] == "unknown_type"] == unknown_fields
    assert "unknown_type" not in discovered(world).get("notes", "")


@pytest.mark.slow
@pytest.mark.parametrize("type_words", ["short", "sql", "unknown"])
def test_a_home_of_an_earlier_version_mends_itself(
    type_words: str, plain: dict[str, tuple[int, ...]], make_world: Callable[..., World]
) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words=type_words)
    with an_earlier_version():
        assert again(world).problems == []
    assert segments_of(world) == {}, "no key is an integer to it"
    old = Published(world)
    alive = {plan.table: len(old.rows(plan.table)) for plan in planned(world).values()}
    assert alive["big_scores"] == ROWS

    assert again(world).problems == []
    assert differences(world) == {}
    assert segments_of(world) == {name: cut for name, cut in plain.items() if name not in untold(type_words)}
    published = Published(world)
    for table, rows in alive.items():
        assert len(published.rows(table, alive=False)) == rows, f"{table}: none lost, none doubled"
    types = published.query("DESCRIBE datasets.course_scores").to_pylist()
    column_types = {row["column_name"]: row["column_type"] for row in types}
    assert (column_types["id"], column_types["rank"], column_types["passed"]) == (
        "BIGINT",
        "BIGINT",
        "BOOLEAN",
    )
    assert "101:big_scores:0002" in partitions(world)

    load = again(world)
    assert load.problems == []
    assert load.total("changed") == load.total("new") == 0


@pytest.mark.slow
def test_a_home_whose_keys_were_refused_for_their_type_mends_itself(
    plain: dict[str, tuple[int, ...]], make_world: Callable[..., World]
) -> None:
    """Its keys are called strings and are integers: an earlier version kept no row by an integer key."""
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words="string_ids")
    with an_earlier_version():
        again(world)
    assert segments_of(world) == {}
    assert again(world).problems == []
    assert differences(world) == {}
    assert world.log("quarantine") == []
    by_ids = {name: cut for name, cut in plain.items() if name not in untold("string_ids")}
    assert segments_of(world) == by_ids


def test_however_primary_is_written(
    plain: dict[str, tuple[int, ...]], make_world: Callable[..., World]
) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_primary="text")
    assert again(world).problems == []
    assert differences(world) == {}
    assert segments_of(world) == plain


@pytest.mark.slow
def test_a_home_whose_keys_nothing_told_mends_itself(
    plain: dict[str, tuple[int, ...]], make_world: Callable[..., World]
) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_primary="absent")
    with an_earlier_version():
        assert again(world).problems == []
    assert segments_of(world) == {}
    assert again(world).problems == []
    columns_changed = (
        "dataset big_scores: its columns changed, so all of it is read again, by segments of its ids"
    )
    assert columns_changed in discovered(world)["notes"]
    assert differences(world) == {}
    # Those that have an id; of what is empty nothing tells that it has one.
    by_id = plain.keys() - {"library_loans", "empty_awards"}
    assert segments_of(world) == {name: plain[name] for name in by_id}
    assert ("key_decided", "id") in {(row["kind"], row["field"]) for row in world.log("drift")}
    assert len(Published(world).rows("big_scores", alive=False)) == ROWS


def test_a_later_value_that_contradicts_waits_and_loads_with_the_next_sync(
    make_world: Callable[..., World],
) -> None:
    """The first page, 1,000 rows, tells nothing of what comes behind it."""
    big = "datasets/big_scores"
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words="unknown")
    world.platform.update(big, 2_200, parent=101, rank=1.5, exam_date="im Mai", passed="teils")
    assert again(world, include=("big_scores",)).problems == []
    rows = {row["id"]: row for row in Published(world).rows("big_scores")}
    assert rows.keys() == {*range(1, 2_501)}
    assert json.loads(rows[2_200]["_extra"]) == {"rank": 1.5, "exam_date": "im Mai", "passed": "teils"}
    assert {rows[2_200][name] for name in ("rank", "exam_date", "passed")} == {None}

    assert again(world, include=("big_scores",)).problems == []
    assert world.log("quarantine") == []
    reloaded = {row["id"]: row for row in Published(world).rows("big_scores")}
    values = [reloaded[2_200][name] for name in ("rank", "exam_date", "passed")]
    assert values == [Decimal("1.5"), "im Mai", "teils"]
    assert {key: row["rank"] for key, row in reloaded.items() if key != 2_200} == {
        key: row["rank"] for key, row in rows.items() if key != 2_200
    }
    unknown_types = {
        (row["field"], row["value"]) for row in world.log("drift") if row["kind"] == "unknown_type"
    }
    assert unknown_types >= {("rank", "ganzzahl -> integer"), ("rank", "ganzzahl -> decimal")}

    world.platform.update(big, 2_200, parent=101, rank=7, exam_date="2025-03-01", passed=True)
    load = again(world, include=("big_scores",))
    changed = sum(row["changed"] or 0 for row in segments(load, "big_scores").values())
    assert (load.problems, changed) == ([], 1), "what was decided stays"


def test_a_key_that_turns_out_to_be_text_takes_its_rows_along_at_the_operators_word(
    make_world: Callable[..., World],
) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words="unknown")
    world.platform.insert("datasets", 101, name="codes", label="Codes", last_updated_at=None)
    world.platform.insert("dataset_fields", 101, dataset="codes", name="id", type="integer", primary=True)
    world.platform.insert("dataset_fields", 101, dataset="codes", name="n", type="integer")
    for number in range(1, 6):
        world.platform.insert("datasets/codes", 101, n=number)
    assert again(world, include=("codes",)).problems == []
    [plan] = planned(world).values()
    assert (plan.mode, len(Published(world).rows("codes"))) == ("segments", 5)

    # By this word the simulator itself knows no ids.
    world.platform.update("dataset_fields", field_key(world, "codes", "id"), parent=101, type="ganzzahl")
    world.platform.insert("datasets/codes", 101, id="A-7", n=6)
    [problem] = again(world, include=("codes",)).problems
    assert "id of a record is no integer" in problem and "--accept-vanished" in problem
    assert len(Published(world).rows("codes")) == 5
    again(world, include=("codes",), accept_vanished=True)
    assert [row["raw"] for row in world.log("quarantine")] == ['{"id":"A-7","n":6}']
    assert again(world, include=("codes",)).problems == []
    [plan] = planned(world).values()
    rows = Published(world).rows("codes")
    assert (plan.mode, [type(row["id"]) for row in rows]) == ("pages", [str] * 6)
    assert {row["n"] for row in rows} == {1, 2, 3, 4, 5, 6}
    assert world.log("quarantine") == []


@pytest.mark.slow
def test_a_home_in_which_rows_came_and_went_meanwhile_mends_itself(make_world: Callable[..., World]) -> None:
    world = make_world("datasets", dataset_rows=ROWS, dataset_type_words="short")
    with an_earlier_version():
        assert again(world).problems == []
        world.platform.destroy("datasets/course_scores", 1001, parent=101)
        assert again(world).problems == []
    world.platform.destroy("datasets/course_scores", 1002, parent=101)
    world.platform.insert("datasets/course_scores", 101, course="neu")
    assert again(world).problems == []
    assert differences(world) == {}
    dead = {
        row["id"]: row for row in Published(world).rows("course_scores", alive=False) if row["_deleted_at"]
    }
    assert dead.keys() == {1001, 1002}, "only what the platform dropped"
    assert dead[1001]["_deleted_at"] < dead[1002]["_deleted_at"]
