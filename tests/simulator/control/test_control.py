"""Tests see the true rows and change them, and the platform sends what they set."""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from simulator.launch import SimulatorError
from simulator.process import RunningSimulator, running
from simulator.resources import RESOURCES
from tests.kits.platforms.simulated import client

STUDENTS = "/api/v3/reflection/students"
MEMBERS = "/api/v3/klass/class-selections"
SEMESTER = 10102
CLASS = 1010200001


@pytest.fixture(scope="module")
def changing() -> Iterator[RunningSimulator]:
    with running(schools=1, students=60) as started:
        yield started


@pytest.fixture(scope="module")
def school(changing: RunningSimulator) -> Iterator[httpx.Client]:
    scope = "semester.read structure.read reflection.read_all student.read_all admin_class.read class.read"
    with client(changing, scope=f"school.101 {scope}") as session:
        yield session


def everything(session: httpx.Client, path: str, **query: Any) -> list[dict[str, Any]]:
    return list(session.get(path, params={"paginated": 0, **query}).raise_for_status().json())


def live(simulator: RunningSimulator, resource: str, parent: int | None = None) -> list[dict[str, Any]]:
    entries = simulator.rows(resource, 101)
    return [e for e in entries if not e["trashed"] and parent in (None, e["parent"])]


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_resource_shows_its_rows(changing: RunningSimulator, resource: str) -> None:
    entries = changing.rows(resource, 101)
    assert entries
    assert entries[0].keys() == {"key", "parent", "trashed", "row"}
    if RESOURCES[resource].source.sends_id:
        assert all(entry["row"]["id"] == entry["key"] for entry in entries)


def test_update_shows_at_once_and_moves_updated_at(changing: RunningSimulator, school: httpx.Client) -> None:
    key = live(changing, "students")[0]["key"]
    latest = "2025-05-16 20:00:00"  # nothing generated is as late
    assert everything(school, STUDENTS, updated_at_egt=latest) == []
    changing.update("students", key, name="新名字")
    assert [row["name"] for row in everything(school, STUDENTS, updated_at_egt=latest)] == ["新名字"]
    changing.update("students", key + 1, touch=False, name="悄悄改")
    assert len(everything(school, STUDENTS, updated_at_egt=latest)) == 1
    assert everything(school, STUDENTS, id_in=key + 1)[0]["name"] == "悄悄改"


def test_insert_delete_and_destroy(changing: RunningSimulator, school: httpx.Client) -> None:
    before = [row["id"] for row in everything(school, STUDENTS)]
    new = changing.insert("students", 101, name="转学生")["row"]
    assert everything(school, STUDENTS)[-1] == new
    assert new["id"] > max(before)
    changing.delete("students", new["id"])
    assert [row["id"] for row in everything(school, STUDENTS)] == before
    assert everything(school, STUDENTS, with_trashed=1)[-1] == new
    changing.destroy("students", new["id"])
    assert new not in everything(school, STUDENTS, with_trashed=1)
    again = changing.insert("students", 101, first=True)["row"]
    assert again["id"] > new["id"], "an id is never given twice"
    assert everything(school, STUDENTS)[0] == again


def test_members_scores_and_grades_change_too(changing: RunningSimulator, school: httpx.Client) -> None:
    changing.insert("class_members", CLASS)
    members = everything(school, MEMBERS, semester_id=SEMESTER, class_id_in=CLASS)
    assert members == [entry["row"] for entry in live(changing, "class_members", CLASS)]
    assert len({(m["type"], m["reflection_id"]) for m in members}) == len(members)
    changing.delete("class_members", live(changing, "class_members", CLASS)[-1]["key"])
    trashed = everything(school, MEMBERS, semester_id=SEMESTER, class_id_in=CLASS, with_trashed=1)[-1]
    assert trashed["deleted_at"] == trashed["updated_at"] > "2025-05-16 20:00:00"

    score = live(changing, "scores")[-1]
    changing.update("scores", score["key"], score="1.5")
    got = everything(school, f"/api/v3/class-assessment/items/{score['parent']}/scores")
    assert next(row for row in got if row["id"] == score["key"])["score"] == "1.5"

    grade = live(changing, "grades")[0]
    changing.destroy("grades", grade["key"])
    got = everything(school, "/api/v3/class-assessment/class/grades", class_ids=grade["parent"])
    assert grade["key"] not in [row["id"] for row in got]


def test_a_deleted_class_takes_its_assessment_along(changing: RunningSimulator, school: httpx.Client) -> None:
    klass = live(changing, "assessments")[-1]["parent"]
    item = live(changing, "assessment_items", klass)[0]["key"]
    changing.delete("classes", klass)
    assert school.get(f"/api/v3/class-assessment/classes/{klass}/assessment").status_code == 404
    assert school.get(f"/api/v3/class-assessment/items/{item}/scores").status_code == 404
    for resource in ("assessments", "assessment_items", "grades"):
        assert live(changing, resource, klass) == []
    assert live(changing, "scores", item) == []

    changing.restore("classes", klass)
    assert school.get(f"/api/v3/class-assessment/classes/{klass}/assessment").status_code == 200
    assert klass in [row["key"] for row in live(changing, "classes")]
    assert live(changing, "assessments", klass) != []


BROKEN = [
    b'"many"',
    b"null",
    b"9223372036854775808",
    b"1.7",
    b"1.10",
    b"1e3",
    b"[1,2]",
    b'{"a":[1]}',
    b"true",
    b'""',
]


@pytest.mark.parametrize("raw", BROKEN)
@pytest.mark.parametrize("name", ["id", "name", "structure_ids", "x_new"])
def test_a_broken_value_is_sent_as_it_was_given(
    changing: RunningSimulator, school: httpx.Client, name: str, raw: bytes
) -> None:
    entry = live(changing, "students")[3]
    values: dict[str, Any] = {name: msgspec.Raw(raw)}
    changing.update("students", entry["key"], **values)
    answer = school.get(STUDENTS, params={"paginated": 0, "id_in": entry["key"], "name_like": ""})
    sent = msgspec.json.decode(answer.content, type=list[dict[str, msgspec.Raw]])
    assert bytes(sent[0][name]) == raw
    changing.update("students", entry["key"], **entry["row"])


@pytest.mark.parametrize(
    ("resource", "path", "query"),
    [
        ("semesters", "/api/v3/system/semesters", {"expand": "academic_year,category"}),
        ("structures", "/api/v3/structure/structures", {"sort": "-name,depth", "parent_id": 1}),
        (
            "admin_classes",
            "/api/v3/admin_class/admin_classes",
            {"expand": "teachers,students,classes", "teacher_id": 1},
        ),
        (
            "classes",
            "/api/v3/klass/classes",
            {"semester_id": SEMESTER, "expand": "grades,students,teachers,tag"},
        ),
        ("class_members", MEMBERS, {"semester_id": SEMESTER, "class_id_in": CLASS}),
    ],
)
@pytest.mark.parametrize("broken", [None, "text", 2**63, [[]], {"a": 1}])
def test_a_broken_row_breaks_no_list(
    changing: RunningSimulator,
    school: httpx.Client,
    resource: str,
    path: str,
    query: dict[str, Any],
    broken: object,
) -> None:
    entry = live(changing, resource)[-1]
    changing.update(resource, entry["key"], **dict.fromkeys(entry["row"], broken))
    for extra in ({}, {"sort": "-id"}, {"updated_at_egt": "2020-01-01 00:00:00", "with_trashed": "1"}):
        assert school.get(path, params={**query, **extra}).status_code == 200
    changing.insert("class_members", CLASS)
    changing.update(resource, entry["key"], **entry["row"])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"op": "update", "resource": "students", "key": 5}, "no row"),
        ({"op": "update", "resource": "nothing", "key": 5}, "resource"),
        ({"op": "update", "resource": "students"}, "key"),
        ({"op": "insert", "resource": "students"}, "parent"),
        ({"op": "invent", "resource": "students"}, "op"),
    ],
)
def test_changes_that_make_no_sense_are_refused(
    changing: RunningSimulator, change: dict[str, Any], word: str
) -> None:
    with pytest.raises(SimulatorError, match=word):
        changing.control("POST", "mutate", body=change)


def test_unknown_controls_and_the_platform_stay_apart(
    changing: RunningSimulator, school: httpx.Client
) -> None:
    with pytest.raises(SimulatorError, match="404"):
        changing.control("GET", "nothing")
    for path in ("/_simulator", "/api/v3/_simulator/rows", "/rows"):
        assert school.get(path).status_code == 404
