"""The endpoints, their parameters, and who may use them."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from simulator.process import RunningSimulator
from simulator.settings import Access, Size
from tests.kits.platforms.simulated import SCOPES, Local, client, token_request

SEMESTER = 10101
CLASS = 1010100001  # the first class of the first semester
Rows = list[dict[str, Any]]


def truth(simulator: RunningSimulator, resource: str, **query: int) -> Rows:
    """The rows that the platform shows to everybody."""
    return [entry["row"] for entry in simulator.rows(resource, 101, **query) if not entry["trashed"]]


def all_pages(session: httpx.Client, path: str, **query: Any) -> Rows:
    """A list page by page, as the headers lead."""
    rows: Rows = []
    page, count = 0, 1
    while page < count:
        page += 1
        answer = session.get(path, params={**query, "page": page}).raise_for_status()
        rows += answer.json()
        assert int(answer.headers["X-Pagination-Current-Page"]) == page
        count = int(answer.headers["X-Pagination-Page-Count"])
    assert int(answer.headers["X-Pagination-Total-Count"]) == len(rows)
    return rows


PAGED = {
    "/api/v3/system/semesters": ("semesters", {}),
    "/api/v3/structure/structures": ("structures", {}),
    "/api/v3/reflection/reflections": ("reflections", {}),
    "/api/v3/reflection/students": ("students", {}),
    "/api/v3/reflection/teachers": ("teachers", {}),
    "/api/v3/admin_class/admin_classes": ("admin_classes", {}),
    "/api/v3/klass/classes": ("classes", {"semester_id": SEMESTER}),
    "/api/v3/klass/class-selections": ("class_members", {"semester_id": SEMESTER}),
}


@pytest.mark.parametrize("path", PAGED)
def test_pages_add_up_to_the_true_rows(simulator: RunningSimulator, school: httpx.Client, path: str) -> None:
    resource, query = PAGED[path]
    expected = truth(simulator, resource, **query)
    assert expected
    assert all_pages(school, path, per_page=7, **query) == expected
    assert school.get(path, params={**query, "paginated": 0}).json() == expected
    first = school.get(path, params=query)
    assert first.headers["X-Pagination-Per-Page"] == "20"
    assert first.json() == expected[:20]


def test_terms_come_by_type(simulator: RunningSimulator, school: httpx.Client) -> None:
    subjects = school.get("/api/v3/term/course.subject/terms").json()
    assert subjects == [t for t in truth(simulator, "terms") if t["type"] == "course.subject"]
    science = next(t for t in subjects if t["name"] == "综合科学")
    children = school.get("/api/v3/term/course.subject/terms", params={"parent_id": science["id"]}).json()
    assert {t["name"] for t in children} == {"物理", "化学"}
    cohorts = school.get("/api/v3/term/system.graduates_in/terms", params={"sort": "-name"}).json()
    assert [t["name"] for t in cohorts] == sorted((t["name"] for t in cohorts), reverse=True)
    unarchived = school.get(
        "/api/v3/term/system.graduates_in/terms", params={"archived_at_is_empty": 1}
    ).json()
    assert unarchived == [t for t in cohorts if t["archived_at"] is None] != cohorts
    assert school.get("/api/v3/term/course.nothing/terms").status_code == 404


def test_assessment_items_scores_and_grades(simulator: RunningSimulator, school: httpx.Client) -> None:
    path = f"/api/v3/class-assessment/classes/{CLASS}/assessment"
    bare = school.get(path).json()
    assessment = school.get(path, params={"expand": "items"}).json()
    items = assessment.pop("items")
    assert assessment == bare
    assert items == [
        i for i in truth(simulator, "assessment_items") if i["assessment_id"] == assessment["id"]
    ]
    scores = truth(simulator, "scores", semester_id=SEMESTER)
    for item in items:
        got = all_pages(school, f"/api/v3/class-assessment/items/{item['id']}/scores", per_page=50)
        assert got == [s for s in scores if s["item_id"] == item["id"]]
    got = all_pages(school, "/api/v3/class-assessment/class/grades", class_ids=f"{CLASS},{CLASS + 1}")
    classes = (CLASS, CLASS + 1)
    assert got == [e["row"] for e in simulator.rows("grades", 101, SEMESTER) if e["parent"] in classes]


def test_expanded_relations(school: httpx.Client) -> None:
    expand = "grades,teachers,students,admin_class_ids,class_lessons,tag,nonsense"
    query = {"semester_id": SEMESTER, "per_page": 1}
    plain = school.get("/api/v3/klass/classes", params=query).json()[0]
    klass = school.get("/api/v3/klass/classes", params={**query, "expand": expand}).json()[0]
    assert [s["id"] for s in klass["students"]] == plain["students"]
    assert klass["teachers"][0].keys() == {"id", "name", "usin"}
    assert [g["id"] for g in klass["grades"]] == plain["grade_ids"]
    assert "nonsense" not in klass
    semester = school.get("/api/v3/system/semesters", params={"expand": "academic_year,category"}).json()[0]
    assert semester["academic_year"]["id"] == semester["academic_year_id"]
    admin = school.get(
        "/api/v3/admin_class/admin_classes", params={"expand": "teachers,students,classes"}
    ).json()[0]
    assert len(admin["students"]) == admin["student_nums"]
    assert [t["id"] for t in admin["teachers"]] == admin["teacher_ids"]
    assert admin["classes"]


STUDENTS = "/api/v3/reflection/students"
ADMIN = "/api/v3/admin_class/admin_classes"
CLASSES = f"/api/v3/klass/classes?semester_id={SEMESTER}"
FILTERS: list[
    tuple[str, str, str, Callable[[dict[str, Any]], object], Callable[[Any, dict[str, Any]], bool]]
] = [
    (STUDENTS, "students", "id_in", lambda r: f"{r['id']},1", lambda v, r: str(r["id"]) in v),
    (STUDENTS, "students", "name_in", lambda r: f"{r['name']},x", lambda v, r: r["name"] in v.split(",")),
    (STUDENTS, "students", "name_like", lambda r: r["name"][1], lambda v, r: v in r["name"]),
    (
        "/api/v3/reflection/reflections",
        "reflections",
        "role",
        lambda r: "guardian",
        lambda v, r: r["role"] == v,
    ),
    ("/api/v3/structure/structures", "structures", "type", lambda r: "grade", lambda v, r: r["type"] == v),
    (
        "/api/v3/structure/structures",
        "structures",
        "status",
        lambda r: "archived",
        lambda v, r: r["status"] == v,
    ),
    (ADMIN, "admin_classes", "teacher_id", lambda r: r["teacher_ids"][0], lambda v, r: v in r["teacher_ids"]),
    (ADMIN, "admin_classes", "id", lambda r: r["id"], lambda v, r: r["id"] == v),
    (ADMIN, "admin_classes", "name_like", lambda r: "(2)", lambda v, r: v in r["name"]),
    (ADMIN, "admin_classes", "place_id", lambda r: r["place_id"], lambda v, r: r["place_id"] == v),
    (
        CLASSES,
        "classes",
        "admin_class_id",
        lambda r: r["admin_class_ids"][0],
        lambda v, r: v in r["admin_class_ids"],
    ),
    (CLASSES, "classes", "updated_at_egt", lambda r: r["updated_at"], lambda v, r: r["updated_at"] >= v),
]


@pytest.mark.parametrize(("path", "resource", "name", "value_of", "holds"), FILTERS)
def test_filters(
    simulator: RunningSimulator,
    school: httpx.Client,
    path: str,
    resource: str,
    name: str,
    value_of: Callable[[dict[str, Any]], Any],
    holds: Callable[[Any, dict[str, Any]], bool],
) -> None:
    rows = truth(simulator, resource)
    rows = [r for r in rows if r.get("semester_id", SEMESTER) == SEMESTER]
    value = value_of(rows[1])
    got = school.get(
        path, params=httpx.QueryParams(httpx.URL(path).params).merge({"paginated": 0, name: value})
    )
    expected = [row for row in rows if holds(value, row)]
    assert got.json() == expected
    assert 0 < len(expected) < len(rows)


def test_filters_of_scores(simulator: RunningSimulator, school: httpx.Client) -> None:
    scores = truth(simulator, "scores", semester_id=SEMESTER)
    of_item: dict[int, Rows] = {}
    for score in scores:
        of_item.setdefault(score["item_id"], []).append(score)

    def check(wanted: Callable[[dict[str, Any]], bool], **query: object) -> None:
        item_id = next((i for i, rows in of_item.items() if 0 < sum(map(wanted, rows)) < len(rows)), None)
        assert item_id, f"no item tells {query} apart"
        path = f"/api/v3/class-assessment/items/{item_id}/scores"
        got = school.get(path, params={"paginated": 0, **{k: str(v) for k, v in query.items()}}).json()
        assert got == [row for row in of_item[item_id] if wanted(row)]

    owner = scores[3]["owner_id"]
    check(lambda s: s["owner_id"] == owner, owner_id_in=f"{owner},5")
    check(lambda s: s["type"] == "raw", type="raw")
    check(lambda s: not s["valid"], valid="false")
    check(lambda s: s["tag"] == "合作", tag="合作")
    check(lambda s: s["tag"] in ("合作", "专注"), tag_in="合作,专注")
    check(lambda s: s["score"] is not None and float(s["score"]) >= 9, score_egt="9.0")
    check(lambda s: s["score"] is not None and float(s["score"]) <= 4, score_elt=4)


def test_deleted_rows_show_only_with_trashed() -> None:
    local = Local(Size(students=400))
    for path, shows in (
        ("/api/v3/reflection/students", False),
        ("/api/v3/reflection/teachers", False),
        ("/api/v3/reflection/reflections", True),
        ("/api/v3/klass/classes?semester_id=10101", False),
        ("/api/v3/klass/class-selections?semester_id=10101", True),
    ):
        mark = "&" if "?" in path else "?"
        live = local.get(f"{path}{mark}paginated=0").json()
        both = local.get(f"{path}{mark}paginated=0&with_trashed=1").json()
        assert len(both) > len(live), path
        assert all(row in both for row in live)
        if shows:
            assert [row for row in both if row["deleted_at"] is None] == live
        else:
            assert "deleted_at" not in both[0]


def test_members_of_named_classes(simulator: RunningSimulator, school: httpx.Client) -> None:
    path = "/api/v3/klass/class-selections"
    got = school.get(
        path, params={"semester_id": SEMESTER, "class_id_in": f"{CLASS},7", "paginated": 0}
    ).json()
    entries = simulator.rows("class_members", 101, SEMESTER)
    assert got == [e["row"] for e in entries if e["parent"] == CLASS and not e["trashed"]]
    assert "class_id" not in got[0]


def test_structures_sorted_and_narrowed(school: httpx.Client) -> None:
    query = {"sort": "type,-id", "fields": "id,type", "paginated": 0}
    got = school.get("/api/v3/structure/structures", params=query).json()
    assert got == sorted(got, key=lambda r: (r["type"], -r["id"]))
    assert all(row.keys() == {"id", "type"} for row in got)


REFUSALS = [
    ("/api/v3/klass/class-selections", 422, "semester_id"),
    ("/api/v3/class-assessment/class/grades", 422, "class_ids"),
    ("/api/v3/class-assessment/class/grades?class_ids=1,x", 422, "class_ids"),
    ("/api/v3/class-assessment/class/grades?class_ids=5", 404, "5"),
    ("/api/v3/reflection/students?id_in=a", 422, "id_in"),
    ("/api/v3/reflection/students?page=0", 422, "page"),
    ("/api/v3/reflection/students?per_page=-5", 422, "per_page"),
    ("/api/v3/reflection/students?per_page=99999999999999999999", 422, "per_page"),
    ("/api/v3/reflection/students?paginated=maybe", 422, "paginated"),
    ("/api/v3/reflection/students?with_trashed=maybe", 422, "with_trashed"),
    ("/api/v3/reflection/students?updated_at_egt=yesterday", 422, "updated_at_egt"),
    ("/api/v3/klass/classes?semester_id=99", 404, "99"),
    ("/api/v3/class-assessment/classes/abc/assessment", 422, "id"),
    ("/api/v3/class-assessment/classes/5/assessment", 404, "5"),
    (f"/api/v3/class-assessment/classes/{CLASS + 100_000_000}/assessment", 404, ""),  # of another school
    ("/api/v3/class-assessment/items/5/scores", 404, "5"),
    ("/api/v3/nothing", 404, "/api/v3/nothing"),
    ("/api/v3/oauth/tokens", 405, ""),
]


@pytest.mark.parametrize(("target", "status", "word"), REFUSALS)
def test_what_makes_no_sense_is_refused_with_a_reason(
    school: httpx.Client, target: str, status: int, word: str
) -> None:
    answer = school.get(target)
    assert answer.status_code == status
    assert word in answer.json()["message"]


def test_a_url_has_its_limit(school: httpx.Client) -> None:
    answer = school.get("/api/v3/class-assessment/class/grades", params={"class_ids": ",".join(["1"] * 5000)})
    assert answer.status_code == 414


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"client_secret": "wrong"}, 401),
        ({"client_id": "nobody"}, 401),
        ({"grant_type": "password"}, 400),
        ({"grant_type": None}, 400),
        ({"scope": "school.999"}, 400),
        ({"scope": "semester.write"}, 400),
    ],
)
def test_token_requests_that_are_refused(
    simulator: RunningSimulator, changes: dict[str, Any], status: int
) -> None:
    answer = httpx.post(f"{simulator.base_url}/api/v3/oauth/tokens", json=token_request(**changes))
    assert answer.status_code == status
    assert "demo-secret" not in answer.text
    assert "access_token" not in answer.text


def test_a_token_request_is_json(simulator: RunningSimulator) -> None:
    answer = httpx.post(f"{simulator.base_url}/api/v3/oauth/tokens", data=token_request())
    assert answer.status_code == 400


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer nonsense", "Basic abc"])
def test_without_a_valid_token_nothing_is_read(simulator: RunningSimulator, authorization: str) -> None:
    headers = {"x-school-id": "101", "authorization": authorization}
    for path in ("/api/v1/schools", "/api/v3/system/semesters"):
        answer = httpx.get(f"{simulator.base_url}{path}", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["message"]


def test_tokens_expire() -> None:
    local = Local(access=Access(token_lifetime=0))
    answer = local.get("/api/v3/system/semesters")
    assert answer.status_code == 401
    assert "expired" in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/api/v3/system/semesters", "semester.read"),
        ("/api/v3/term/course.subject/terms", "term.read"),
        ("/api/v3/structure/structures", "structure.read"),
        ("/api/v3/reflection/reflections", "reflection.read_basic"),
        ("/api/v3/reflection/students", "student.read_all"),
        ("/api/v3/reflection/teachers", "teacher.read_basic"),
        ("/api/v3/admin_class/admin_classes", "admin_class.read"),
        ("/api/v3/klass/classes", "class.read"),
        (f"/api/v3/klass/class-selections?semester_id={SEMESTER}", "class.read"),
        (f"/api/v3/class-assessment/class/grades?class_ids={CLASS}", "class.read"),
    ],
)
def test_each_path_needs_its_scope_and_no_other(path: str, scope: str) -> None:
    local = Local()
    assert local.get(path, scope=f"school.101 {scope}").status_code == 200
    others = " ".join(other for other in SCOPES.split() if other.split(".")[0] != scope.split(".")[0])
    answer = local.get(path, scope=f"school.101 {others}")
    assert answer.status_code == 403
    assert scope in answer.json()["message"]
    assert local.get(path, scope="").status_code == 403


@pytest.mark.parametrize(
    ("reading", "of_classes", "of_grades"),
    [
        ("class.read", "class.read", "class.read"),
        ("klass.read", "klass.read", "klass.read"),
        ("split", "klass.read", "class.read"),
    ],
)
def test_the_scope_of_classes(reading: str, of_classes: str, of_grades: str) -> None:
    paths = {
        "/api/v3/klass/classes": of_classes,
        f"/api/v3/class-assessment/class/grades?class_ids={CLASS}": of_grades,
    }
    for path, scope in paths.items():
        other = {"class.read": "klass.read", "klass.read": "class.read"}[scope]
        either = Local(class_scope="either")
        assert either.get(path, scope=f"school.101 {other}").status_code == 200
        local = Local(class_scope=reading, refused_scopes="drop")
        assert local.get(path, scope=f"school.101 {scope}").status_code == 200
        assert local.get(path, scope=f"school.101 {other}").status_code == 403
    assert Local(class_scope="klass.read").get(path, scope="school.101 class.read").status_code == 400


def test_a_school_needs_its_header_and_scope(simulator: RunningSimulator) -> None:
    path = "/api/v3/system/semesters"
    with client(simulator, scope="school.101 semester.read", school=None) as session:
        assert session.get(path).status_code == 422
        assert session.get(path, headers={"x-school-id": "abc"}).status_code == 422
        assert session.get(path, headers={"X-School-Id": "101"}).status_code == 200
        answer = session.get(path, headers={"x-school-id": "102"})
        assert answer.status_code == 403
        assert "school.102" in answer.json()["message"]
        assert session.get("/api/v1/schools").status_code == 200


def test_only_allowed_schools_and_scopes() -> None:
    local = Local(access=Access(allowed_schools=(102,), scopes=("semester.read",)))
    schools = local.get("/api/v1/schools", scope="school.102", **{"x-school-id": "102"})
    assert [school["id"] for school in schools.json()] == [102]
    assert local.get("/api/v1/schools", scope="school.101").status_code == 400
    assert local.get("/api/v1/schools", scope="school.102 class.read").status_code == 400


def test_too_many_requests_are_told_to_wait() -> None:
    local = Local(access=Access(rate_limit=3))
    answers = [local.get("/api/v1/schools") for _ in range(6)]
    refused = [a for a in answers if a.status_code == 429]
    assert refused
    assert all(a.headers["Retry-After"] == "1" for a in refused)
