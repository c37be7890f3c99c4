"""Each thing that the specification leaves open, in each of its readings."""

from typing import Any

import pytest

from simulator.readings import Readings
from simulator.settings import Size
from tests.kits.platforms.simulated import Local

CLASSES = "/api/v3/klass/classes?semester_id=10101"
MEMBERS = "/api/v3/klass/class-selections?semester_id=10101"
ADMIN = "/api/v3/admin_class/admin_classes"
STUDENTS = "/api/v3/reflection/students"
GRADES = "/api/v3/class-assessment/class/grades?class_ids=1010100001"


def first(path: str, **readings: Any) -> dict[str, Any]:
    row: dict[str, Any] = Local(**readings).get(path).json()[0]
    return row


def test_member_class_id() -> None:
    assert "class_id" not in first(MEMBERS)
    assert first(MEMBERS, member_class_id="present")["class_id"] == 1010100001


def test_deleted_at() -> None:
    trashed = f"{STUDENTS}?with_trashed=1&paginated=0"
    assert "deleted_at" not in first(trashed)
    rows = Local(Size(students=200), deleted_at="all").get(trashed).json()
    assert {row["deleted_at"] is None for row in rows} == {True, False}
    assert "deleted_at" not in first(MEMBERS, deleted_at="none")


@pytest.mark.parametrize(("reading", "kind"), [("ids", int), ("objects", dict)])
def test_unexpanded_people(reading: str, kind: type) -> None:
    klass = first(CLASSES, unexpanded=reading)
    assert all(isinstance(student, kind) for student in klass["students"] + klass["teachers"])
    assert klass["students"]


def test_unexpanded_people_left_out() -> None:
    assert "students" not in first(CLASSES, unexpanded="omitted")
    assert first(CLASSES, unexpanded="empty")["students"] == []
    assert first(f"{CLASSES}&expand=students", unexpanded="omitted")["students"]


def test_admin_class_ids() -> None:
    assert first(CLASSES)["admin_class_ids"]
    assert "admin_class_ids" not in first(CLASSES, admin_class_ids="expanded")
    assert first(f"{CLASSES}&expand=admin_class_ids", admin_class_ids="expanded")["admin_class_ids"]


def test_grade_ids() -> None:
    expanded = first(f"{CLASSES}&expand=grades", grade_ids="absent")
    assert "grade_ids" not in expanded
    assert [grade["id"] for grade in expanded["grades"]] == first(CLASSES)["grade_ids"]


def test_lists_of_ids() -> None:
    ids = first(CLASSES)["admin_class_ids"]
    assert first(CLASSES, id_lists="texts")["admin_class_ids"] == [str(entry) for entry in ids]
    objects = first(CLASSES, id_lists="objects")["admin_class_ids"]
    assert [entry["id"] for entry in objects] == ids and all(entry["name"] for entry in objects)
    assert isinstance(first(ADMIN, id_lists="texts")["teacher_ids"][0], str)
    v1 = "/api/v1/classes?semester_id=10101"
    assert first(v1, id_lists="texts")["admin_class_ids"] == [str(entry) for entry in ids]


def test_people_in_expanded_relations() -> None:
    path = f"{CLASSES}&expand=teachers"
    flat = first(path)["teachers"]
    nested = first(path, expanded_people="nested")["teachers"]
    assert [teacher["reflection"] for teacher in nested] == flat
    assert [teacher["reflection_id"] for teacher in nested] == [teacher["id"] for teacher in flat]


def test_students_of_administrative_classes() -> None:
    expanded = f"{ADMIN}?expand=students,teachers"
    students = first(expanded)["students"]
    assert students and "students" not in first(ADMIN)
    assert first(ADMIN, admin_class_students="always")["students"] == students
    assert first(expanded, admin_class_students="ids")["students"] == [student["id"] for student in students]
    assert first(expanded, admin_class_students="empty")["students"] == []
    absent = first(expanded, admin_class_students="absent")
    assert "students" not in absent and absent["teachers"]
    assert Local(admin_class_students="refused").get(expanded).status_code == 422
    assert "students" not in first(ADMIN, admin_class_students="refused")
    without = first(expanded, teacher_ids="absent")
    assert "teacher_ids" not in without and without["teachers"]


def test_students_of_v1_administrative_classes() -> None:
    path = "/api/v1/admin-classes"
    listed = first(path)
    alone = f"{path}/{listed['id']}"
    for reading, shown in (("alone", None), ("empty", []), ("nowhere", None)):
        local = Local(v1_admin_class_students=reading)
        assert local.get(path).json()[0].get("students") == shown
        expected = None if reading == "nowhere" else listed["students"]
        assert local.get(alone).json().get("students") == expected


def test_v1_teachers() -> None:
    path = "/api/v1/classes?semester_id=10101"
    flat, nested = first(path)["teachers"][0], first(path, v1_teachers="nested")["teachers"][0]
    assert nested == {"reflection": flat["reflection"]}


def test_student_ids_of_cards() -> None:
    card = Local().app.platform.store.rows("cards", 101)[0].values["card_id"]
    path = f"/api/v1/studentcard/cards/{card}"
    assert Local().get(path).json().keys() >= {"id", "rid"}
    assert "id" not in Local(student_ids="rid").get(path).json()


STRUCTURES = "/api/v3/structure/structures"


def test_archived_rows() -> None:
    archived = f"{STRUCTURES}?status=archived"
    assert [row["status"] for row in Local().get(archived).json()] == ["archived"]
    whole = Local().get(f"{STRUCTURES}?paginated=0").json()
    for reading in ("by_id", "by_status"):
        local = Local(archived=reading)
        shown = local.get(f"{STRUCTURES}?paginated=0").json()
        assert shown == [row for row in whole if row["status"] != "archived"]
        assert local.get(archived).json() == Local().get(archived).json()
        terms = "/api/v3/term/system.graduates_in/terms"
        assert len(local.get(terms).json()) < len(Local().get(terms).json())
        assert local.get(f"{terms}?archived_at_is_empty=0").json()


@pytest.mark.parametrize("reading", ["words", "numbers", "own"])
def test_the_status_of_administrative_classes(reading: str) -> None:
    spelt = {"words": ("normal", "archived"), "numbers": (1, 2), "own": ("on", "off")}[reading]
    local = Local(archived="by_id", admin_class_status=reading)
    store = local.app.platform.store
    row = store.rows("admin_classes", 101)[0]
    assert local.get(ADMIN).json()[0]["status"] == spelt[0]
    store.update("admin_classes", row.key, {"status": "archived"})
    assert row.key not in [shown["id"] for shown in local.get(ADMIN).json()]
    for path in (f"{ADMIN}?status={spelt[1]}", f"{ADMIN}?id_in={row.key}"):
        assert [(shown["id"], shown["status"]) for shown in local.get(path).json()] == [(row.key, spelt[1])]
    strict = Local(archived="by_status")
    strict.app.platform.store.update("admin_classes", row.key, {"status": "archived"})
    assert strict.get(f"{ADMIN}?id_in={row.key}").json() == []


def test_a_status_that_does_not_exist() -> None:
    path = f"{ADMIN}?status=nonsense"
    assert Local().get(path).json() == []
    assert Local(unknown_status="ignored").get(path).json() == Local().get(ADMIN).json()
    assert Local(unknown_status="422").get(path).status_code == 422
    assert Local(unknown_status="500").get(path).status_code == 500


def test_structure_parent_id() -> None:
    path = "/api/v3/structure/structures"
    assert "parent_id" not in first(path)
    assert first(path, structure_parent_id="present")["parent_id"] == 0


def test_terms() -> None:
    path = "/api/v3/term/course.subject/terms?per_page=2&page=2"
    assert len(Local().get(path).json()) == 9
    answer = Local(terms="paged").get(path)
    assert len(answer.json()) == 2
    assert answer.headers["X-Pagination-Total-Count"] == "9"


def test_unpaged() -> None:
    path = f"{STUDENTS}?paginated=0"
    honoured = Local().get(path)
    assert len(honoured.json()) > 50
    assert "X-Pagination-Total-Count" not in honoured.headers
    ignored = Local(unpaged="ignored").get(path)
    assert len(ignored.json()) == 20
    assert "X-Pagination-Total-Count" in ignored.headers
    assert Local(unpaged="refused").get(path).status_code == 422


def test_pagination_headers() -> None:
    answer = Local(pagination_headers="absent").get(STUDENTS)
    assert len(answer.json()) == 20
    assert not [name for name in answer.headers if name.startswith("x-pagination")]


def test_per_page() -> None:
    clamped = Local(max_per_page=30).get(f"{STUDENTS}?per_page=1000")
    assert len(clamped.json()) == 30
    assert clamped.headers["X-Pagination-Per-Page"] == "30"
    refusing = Local(max_per_page=30, per_page="refused")
    assert refusing.get(f"{STUDENTS}?per_page=31").status_code == 422
    assert refusing.get(f"{STUDENTS}?per_page=30").status_code == 200
    few = Local(max_per_page=7, per_page="refused")
    assert few.get(f"{STUDENTS}?per_page=8").status_code == 422
    assert len(few.get(STUDENTS).json()) == 7


def test_page_past_end() -> None:
    path = f"{STUDENTS}?per_page=7&page=1000"
    assert Local().get(path).json() == []
    assert Local(page_past_end="404").get(path).status_code == 404
    answer = Local(page_past_end="last").get(path)
    assert answer.json() == Local().get(f"{STUDENTS}?paginated=0").json()[-len(answer.json()) :] != []
    assert answer.headers["X-Pagination-Current-Page"] == answer.headers["X-Pagination-Page-Count"]


def test_ignored_parameters() -> None:
    path = f"{STUDENTS}?name_like=nobody"
    assert Local().get(path).json() == []
    assert Local(ignored=("name_like",)).get(path).json() == Local().get(STUDENTS).json()


@pytest.mark.parametrize(
    ("reading", "basic", "full"), [("either", 200, 200), ("basic", 200, 403), ("all", 403, 200)]
)
def test_people_scope(reading: str, basic: int, full: int) -> None:
    local = Local(people_scope=reading)
    assert local.get(STUDENTS, scope="school.101 student.read_basic").status_code == basic
    assert local.get(STUDENTS, scope="school.101 student.read_all").status_code == full


def test_refused_scopes() -> None:
    scope = "school.101 student.read_all no.such_scope"
    assert Local().get(STUDENTS, scope=scope).status_code == 400
    assert Local(refused_scopes="drop").get(STUDENTS, scope=scope).status_code == 200
    assert Local(refused_scopes="drop").get(STUDENTS, scope="school.101 no.such_scope").status_code == 403


@pytest.mark.parametrize(
    ("reading", "status", "body"),
    [("404", 404, None), ("null", 200, None), ("empty", 200, {}), ("list", 200, [])],
)
def test_missing_assessment(reading: str, status: int, body: object) -> None:
    local = Local(missing_assessment=reading)
    store = local.app.platform.store
    live = [row.key for row in store.rows("classes", 10101) if row.deleted_at is None]
    without = next(key for key in live if not store.rows("assessments", key))
    answer = local.get(f"/api/v3/class-assessment/classes/{without}/assessment?expand=items")
    assert answer.status_code == status
    assert status == 404 or answer.json() == body


def test_unknown_ids() -> None:
    for path in (
        "/api/v3/klass/classes?semester_id=99",
        "/api/v3/klass/class-selections?semester_id=99",
        "/api/v3/term/no.such/terms",
        "/api/v3/class-assessment/class/grades?class_ids=99",
    ):
        assert Local().get(path).status_code == 404
        assert Local(unknown_ids="empty").get(path).json() == []


@pytest.mark.parametrize("reading", ["message", "error", "errors", "empty"])
def test_error_body(reading: str) -> None:
    answer = Local(error_body=reading).get("/api/v3/nothing")
    text = "no such path: /api/v3/nothing"
    expected: dict[str, object] = {
        "message": {"message": text},
        "error": {"error": {"code": 404, "message": text}},
        "errors": {"errors": [text]},
    }
    assert answer.status_code == 404
    assert answer.content == b"" if reading == "empty" else answer.json() == expected[reading]


def test_schools_header() -> None:
    assert Local().get("/api/v1/schools", **{"x-school-id": ""}).status_code == 200
    required = Local(schools_header="required")
    assert required.get("/api/v1/schools", **{"x-school-id": ""}).status_code == 422
    assert required.get("/api/v1/schools").status_code == 200


def test_decimals() -> None:
    assert first(GRADES)["full_score"] == "100"
    assert first(GRADES, decimals="fixed")["full_score"] == "100.00"
    assert first(GRADES, decimals="number")["full_score"] == 100
    real = first(GRADES)["real_score"]
    assert f'"real_score":{real},' in Local(decimals="number").get(GRADES).text


def test_extra_fields() -> None:
    extra = first(STUDENTS, extra_fields="some")
    plain = first(STUDENTS)
    assert extra.keys() - plain.keys() == {"x_source", "x_note"}
    assert {name: extra[name] for name in plain} == plain


def test_nested_fields() -> None:
    def teachers(**readings: Any) -> Any:
        return first(CLASSES + "&expand=teachers", **readings)["teachers"]

    assert teachers(nested_fields="some") == [{"x_color": "#1f6feb"} | teacher for teacher in teachers()]
    assert first(STUDENTS, nested_fields="some") == first(STUDENTS)


def test_enums() -> None:
    rows = Local(enums="unknown").get(f"{STUDENTS}?paginated=0").json()
    odd = [row for row in rows if row["status"] == "unheard_of"]
    assert odd
    assert len(odd) * 5 < len(rows)


def test_the_defaults_are_what_the_help_lists_first() -> None:
    for name, field in Readings.__dataclass_fields__.items():
        assert field.metadata["help"].strip(), name
        assert field.default in field.metadata.get("choices", [field.default])


def test_other_grades() -> None:
    classes = Local().get(CLASSES).json()
    path = f"/api/v3/class-assessment/class/grades?class_ids={','.join(str(row['id']) for row in classes)}"
    plain = Local().get(f"{path}&paginated=0").json()
    assert {row["source"] for row in plain} == {"class"}
    beside = Local(other_grades="beside").get(f"{path}&paginated=0").json()
    others = [row for row in beside if row["source"] != "class"]
    assert {row["source"] for row in others} == {"moral", "dorm"}
    assert [row for row in beside if row["source"] == "class"] == plain
    assert len({row["id"] for row in beside}) == len(beside)
    # One of each source a student, of no assessment of a course class.
    assert len({(row["source"], row["owner_id"]) for row in others}) == len(others)
    assert {row["source_id"] for row in others}.isdisjoint(row["source_id"] for row in plain)
