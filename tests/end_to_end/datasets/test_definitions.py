"""Datasets whose metadata change: no row is lost, and each change is drift that is told."""

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.kits.worlds.dataset_world import (
    Published,
    asked,
    differences,
    discovered,
    field_key,
    segments,
    sync,
)
from tests.kits.worlds.world import Load, World

INCLUDE = ("course_scores", "places", "semester_ranks", "library_loans")


@pytest.fixture(scope="module")
def synced(make_world: Callable[..., World]) -> World:
    """A school whose datasets have been synced once. What a test changes, the next one finds changed."""
    world = make_world("datasets")
    assert again(world).problems == []
    return world


def again(world: World, **options: Any) -> Load:
    return sync(world, include=INCLUDE, **options)


def change(world: World, dataset: str, field: str, **values: Any) -> None:
    """Change the metadata of a field."""
    world.platform.update("dataset_fields", field_key(world, dataset, field), parent=101, **values)


def drift(world: World) -> set[tuple[str, str, str | None]]:
    return {
        (row["kind"], row["field"], row["value"])
        for row in world.log("drift")
        if row["resource"].startswith("datasets.") and row["kind"] != "unknown_type"
    }


def test_of_an_unknown_type_the_values_decide_and_that_is_told_once(synced: World) -> None:
    assert differences(synced) == {}
    unknown_types = [
        (row["field"], row["value"]) for row in synced.log("drift") if row["kind"] == "unknown_type"
    ]
    assert unknown_types == [("location", "geo_point -> text")]
    assert "unknown_type location geo_point -> text" in discovered(synced)["notes"]
    synced.platform.clear_log()
    assert again(synced).problems == []
    assert "unknown_type" not in discovered(synced).get("notes", "")
    first_pages = [
        request for request in asked(synced, "places") if request["query"].get("per_page") == "1000"
    ]
    assert first_pages == [], "what is decided is not asked for again"


def test_fields_come_go_widen_and_change_their_type(synced: World) -> None:
    before = Published(synced).rows("course_scores")
    platform = synced.platform
    platform.insert("dataset_fields", 101, dataset="course_scores", name="新 字段", type="string", label="新")
    platform.destroy("dataset_fields", field_key(synced, "course_scores", "remark"), parent=101)
    change(synced, "course_scores", "score", precision=8, scale=3)  # widened
    change(synced, "course_scores", "rank", type="string")  # each old value is one of text
    change(synced, "course_scores", "passed", type="text")
    change(synced, "course_scores", "level", enum=["优秀", "良好", "合格", "待提高", "免修"])
    platform.update("datasets/course_scores", 1001, parent=101, **{"新 字段": "neu"})
    load = again(synced)
    assert load.problems == []
    assert differences(synced) == {}
    assert drift(synced) == {
        ("field_added", "新_字段", "string"),
        ("field_removed", "remark", "string"),
        ("field_widened", "score", "decimal(6,2) -> decimal(8,3)"),
        ("field_retyped", "rank", "integer -> string"),
        ("field_retyped", "passed", "boolean -> string"),
        ("enum_grown", "level", "免修"),
    }
    notes = discovered(synced)["notes"]
    assert "school 101, datasets.course_scores: drift: " in notes
    assert "field_retyped rank integer -> string" in notes
    assert "enum_grown level 免修" in notes

    published = Published(synced)
    after = {row["id"]: row for row in published.rows("course_scores")}
    for row in before:
        now = after[row["id"]]
        assert now["remark"] == row["remark"], "what is removed keeps its values in rows that are there"
        assert (now["score"], now["rank"]) == (
            row["score"],
            None if row["rank"] is None else str(row["rank"]),
        )
    assert after[1001]["新_字段"] == "neu" and after[1002]["新_字段"] is None
    assert published.comments("course_scores")["remark"].endswith("(no longer part of the dataset)")


def test_what_cannot_be_cast_stands_beside(synced: World) -> None:
    """A row that goes away before the type changes keeps its text, which is no number."""
    [gone, *_] = synced.platform.rows("datasets/course_scores", 101)
    synced.platform.destroy("datasets/course_scores", gone["key"], parent=101)
    assert again(synced).problems == []
    change(synced, "course_scores", "course", type="integer")
    for entry in synced.platform.rows("datasets/course_scores", 101):
        synced.platform.update("datasets/course_scores", entry["key"], parent=101, course=entry["key"] % 7)
    assert again(synced).problems == []
    assert differences(synced) == {}
    published = Published(synced)
    rows = {row["id"]: row for row in published.rows("course_scores", alive=False)}
    assert (rows[gone["key"]]["course"], rows[gone["key"]]["course__string"]) == (None, gone["row"]["course"])
    assert published.comments("course_scores")["course__string"].startswith("course, of rows from before")
    assert ("field_retyped", "course", "string -> integer") in drift(synced)


def test_what_fits_no_longer_is_null_with_a_warning_and_kept_beside(synced: World) -> None:
    before = {row["id"]: row for row in Published(synced).rows("places")}
    change(synced, "places", "name", type="date")
    synced.platform.update("datasets/places", 1005, parent=101, name="2025-03-01")
    load = again(synced)
    assert load.problems == []
    entry = segments(load, "places")[0]
    assert (entry["status"], entry["loaded"], entry["quarantined"]) == ("warning", 30, 0)
    assert "name: 29 of 30 rows have a value that the column cannot hold" in entry["message"]
    rows = {row["id"]: row for row in Published(synced).rows("places")}
    assert rows.keys() == before.keys()
    assert {key: row["name"] for key, row in rows.items() if row["name"]} == {1005: date(2025, 3, 1)}
    assert all(
        json.loads(rows[key]["_extra"]) == {"name": row["name"]} for key, row in before.items() if key != 1005
    )

    change(synced, "places", "name", type="string")
    assert again(synced).problems == []
    assert differences(synced) == {}
    assert synced.log("quarantine") == []


def test_another_key_waits_for_the_operators_word(synced: World) -> None:
    change(synced, "semester_ranks", "student_id", type="string")
    change(synced, "library_loans", "loan_id", primary=False)
    change(synced, "library_loans", "title", primary=True)
    load = again(synced)
    message = "\n".join(load.problems)
    assert "'semester_ranks': its key is semester_id (integer), student_id (string) now and was" in message
    assert "'library_loans': its key is title (string) now and was loan_id (integer)" in message
    assert "--accept-vanished" in message
    assert ("key_changed", "", "loan_id (integer) -> title (string)") in drift(synced)
    published = Published(synced)
    assert len(published.rows("library_loans")) == 90, "what is held stays, and is read as before"
    assert len(published.rows("semester_ranks")) == 8

    change(synced, "library_loans", "title", primary=False)  # no key at all: rows may well be alike
    assert again(synced, accept_vanished=True).problems == []
    assert differences(synced) == {}
    assert len(Published(synced).rows("library_loans", alive=False)) == 180

    change(synced, "library_loans", "loan_id", primary=True)
    assert again(synced, accept_vanished=True).problems == []
    assert differences(synced) == {}
    assert again(synced).problems == []


def test_metadata_that_break_their_contract_stop_no_dataset(synced: World) -> None:
    [entry] = [e for e in synced.platform.rows("datasets", 101) if e["row"]["name"] == "places"]
    synced.platform.update("datasets", entry["key"], parent=101, is_custom="vielleicht")
    synced.platform.insert("dataset_fields", 101, dataset="places", name="floor", type="integer")
    load = again(synced)
    assert load.problems == []
    [logged] = [row for row in load.log if row["resource"] == "datasets"]
    assert "is_custom: 1 of" in logged["message"]
    assert ("field_added", "floor", "integer") in drift(synced)
    assert differences(synced) == {}
    synced.platform.update("datasets", entry["key"], parent=101, is_custom=False)
    assert again(synced).problems == []


def test_wishes_that_do_not_fit_are_told_before_anything_is_asked(synced: World) -> None:
    synced.platform.clear_log()
    wishes = {"fields": ["studnt_id"], "expand": ["stuent"], "filters": {"level_in": "优", "scor_egt": 1}}
    load = sync(synced, include=("course_scores", "plases"), tables={"course_scores": wishes})
    problem, again_said = load.problems
    assert problem == again_said, "by the discovery, and by the load of what is planned"
    for words in (
        "school 101, dataset 'course_scores': campus.yaml, datasets.tables.course_scores.fields: there is no "
        "field 'studnt_id'; did you mean student_id?",
        "there is no relation 'stuent'; did you mean student?",
        "the metadata do not list '优'; did you mean 优秀?",
        "did you mean score_egt?",
    ):
        assert words in problem
    assert "no dataset matches 'plases'; did you mean places?" in discovered(synced)["notes"]
    assert asked(synced, "course_scores") == []


def test_what_is_selected_is_all_that_is_asked_for(synced: World) -> None:
    wishes = {
        "fields": ["student_id", "score"],
        "expand": ["student"],
        "filters": {"level_in": ["优秀", "良好"], "exam_date_egt": "2025-01-01"},
    }
    synced.platform.clear_log()
    load = sync(synced, include=("course_scores",), tables={"course_*": wishes}, accept_vanished=True)
    assert load.problems == []
    for request in asked(synced, "course_scores"):
        assert request["query"]["level_in"] == "优秀,良好" and request["query"]["expand"] == "student"
        assert request["query"]["fields"] == "id,student_id,score,updated_at"
    students = {entry["key"]: entry["row"] for entry in synced.platform.rows("datasets/students", 101)}
    true = {
        entry["key"]: entry["row"]
        for entry in synced.platform.rows("datasets/course_scores", 101)
        if entry["row"]["level"] in ("优秀", "良好") and entry["row"]["exam_date"] >= "2025-01-01"
    }
    rows = {row["id"]: row for row in Published(synced).rows("course_scores")}
    assert rows.keys() == true.keys() and 0 < len(rows) < 20
    for key, row in rows.items():
        assert row["student"]["name"] == students[true[key]["student_id"]]["name"]
        assert row["score"] == (None if true[key]["score"] is None else Decimal(str(true[key]["score"])))
