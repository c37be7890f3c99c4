"""What the simulator lets callers change, and what it refuses, by the specification's own words."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import Local, client
from tests.kits.waiting import until

USERS = "/api/v1/reflections"
FIELDS = "/api/v1/reflection-fields"
CARDS = "/api/v1/studentcard/cards"
DEVICES = "/api/v1/classroompad/devices"
CLASS = 1010200001
PUPIL = {"usin": "N1", "name": "新同学", "role": 1, "graduates_in": 2025, "outer_id": "x-1"}


@pytest.fixture
def local() -> Local:
    return Local(live_swipes="lesson")


def made(local: Local, **fields: Any) -> dict[str, Any]:
    answer = local.write("POST", USERS, json={**PUPIL, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_a_new_student_shows_in_both_generations(local: Local) -> None:
    user = made(local, gender="f", boarding="住校", password="secret-word", entered_at="2024-09-01")
    [row] = local.get(f"{USERS}?outer_id=x-1").json()
    assert row == user
    assert "password" not in row
    shown_fields = ("usin", "name", "role", "graduates_in", "gender", "boarding", "status", "entered_at")
    assert [row[name] for name in shown_fields] == ["N1", "新同学", 1, 2025, "f", "住校", 1, "2024-09-01"]
    [reflection] = local.get(
        "/api/v3/reflection/reflections?role=student&paginated=0&updated_at_egt=2020-01-01"
    ).json()[-1:]
    assert (reflection["id"], reflection["usin"], reflection["outer_id"]) == (user["id"], "N1", "x-1")
    [student] = local.get(f"/api/v3/reflection/students?id_in={user['id']}").json()
    assert student["graduates_in_id"] is not None


def test_a_user_is_changed_and_removed_by_id(local: Local) -> None:
    key = made(local)["id"]
    before = local.get(f"{USERS}?outer_id=x-1").json()[0]
    for method, name in (("PATCH", "改名"), ("PUT", "再改")):
        assert local.write(method, f"{USERS}/{key}", json={"name": name, "status": 4}).status_code == 200
        assert local.get(f"{USERS}?outer_id=x-1").json() == [{**before, "name": name, "status": 4}]
    assert local.write("DELETE", f"{USERS}/{key}").status_code == 204
    assert local.get(f"{USERS}?outer_id=x-1").json() == []
    assert local.write("DELETE", f"{USERS}/{key}").status_code == 404
    assert local.get(f"/api/v3/reflection/students?id_in={key}").json() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"usin": ""}, "usin is required"),
        ({"name": None}, "name is required"),
        ({"graduates_in": None}, "graduates_in is required"),
        ({"role": 3}, "role must be one of 1, 2, 8"),
        ({"role": None}, "role is required"),
        ({"gender": "x"}, "gender must be one of"),
        ({"status": 3}, "status must be one of"),
        ({"boarding": "外星"}, "boarding must be one of its options"),
        ({"name": "长" * 256}, "name must have 255 letters at most"),
        ({"entered_at": "1.9.2024"}, "entered_at must be YYYY-MM-DD"),
        ({"graduates_in": "2027"}, "graduates_in must be a number"),
    ],
)
def test_what_a_user_must_not_be_is_refused(local: Local, change: dict[str, Any], words: str) -> None:
    answer = local.write("POST", USERS, json={**PUPIL, **change})
    assert (answer.status_code, words in answer.json()["message"]) == (422, True), answer.text


def test_teachers_and_guardians_have_their_own_rules(local: Local) -> None:
    pupil = made(local)["id"]
    teacher = local.write(
        "POST", USERS, json={"usin": "T1", "name": "新老师", "role": 2, "title": "一级"}
    ).json()
    assert local.get(f"/api/v3/reflection/teachers?id_in={teacher['id']}").json()[0]["name"] == "新老师"
    guardian = {
        "usin": "G1",
        "name": "家长",
        "role": 8,
        "student_id": pupil,
        "guardian_role": 2,
        "outer_id": "g",
    }
    assert local.write("POST", USERS, json=guardian).status_code == 201
    assert local.get(f"{USERS}?outer_id=g").json() == []
    [row] = local.get(f"{USERS}?outer_id=g&role=8").json()
    assert (row["student_id"], row["guardian_role"]) == (pupil, 2)


def test_readings_of_people() -> None:
    strict = Local(outer_id_twice="refused", taken="409", created_user="200", user_change="PUT")
    assert strict.write("POST", USERS, json=PUPIL).status_code == 200
    assert strict.write("POST", USERS, json={**PUPIL, "usin": "N2"}).status_code == 409
    assert strict.write("POST", USERS, json={**PUPIL, "outer_id": "x-2"}).status_code == 409
    [user] = strict.get(f"{USERS}?outer_id=x-1").json()
    assert strict.write("PATCH", f"{USERS}/{user['id']}", json={"name": "a"}).status_code == 405
    lenient = Local()
    made(lenient)
    made(lenient, usin="N2")
    assert len(lenient.get(f"{USERS}?outer_id=x-1").json()) == 2
    assert made(lenient, usin="N3", outer_id="y", name="😀")["name"] == "😀"
    narrow = Local(four_byte_text="refused")
    assert narrow.write("POST", USERS, json={**PUPIL, "name": "😀"}).status_code == 422
    own = Local(write_scopes="own")
    assert own.write("POST", USERS, json=PUPIL).status_code == 403
    assert own.write("POST", USERS, scope="school.101 user.write", json=PUPIL).status_code == 201


def test_fields_of_users(local: Local) -> None:
    field = {"name": "bus", "label": "校车", "role": 1, "type": 2, "options": ["1号", "2号"]}
    assert local.write("POST", FIELDS, json=field).is_success
    assert field in local.get(FIELDS).json()
    assert made(local, bus="2号")["bus"] == "2号"
    assert local.write("PATCH", f"{FIELDS}/bus", json={"label": "班车"}).is_success
    assert {**field, "label": "班车"} in local.get(FIELDS).json()
    for wrong in ({"name": "校车"}, {"role": 8}, {"type": 3}, {"type": 1}, {"options": None}):
        assert local.write("POST", FIELDS, json={**field, "name": "other", **wrong}).status_code == 422, wrong
    assert local.write("DELETE", f"{FIELDS}/bus").is_success
    assert "bus" not in {row["name"] for row in local.get(FIELDS).json()}
    assert local.write("DELETE", f"{FIELDS}/bus").status_code == 404


def lesson(local: Local, query: str = "") -> dict[int, str]:
    detail = local.get(f"/api/v1/classes/{CLASS}/attendances?date=2025-10-16&lesson=9{query}").json()
    return {record["student"]["id"]: record["status"] for record in detail["list"]}


@pytest.mark.parametrize(("reading", "others_stay"), [("kept", True), ("lost", False)])
def test_marks_of_a_lesson(reading: str, others_stay: bool) -> None:
    local = Local(unmentioned_marks=reading)
    target = f"/api/v1/classes/{CLASS}/attendances?checked_at=2025-10-16&lesson=9"
    students = local.get(f"/api/v1/classes/{CLASS}/students").json()
    first, other = students[0], students[1]
    marks = [{"rid": first["id"], "result": "lated"}, {"usin": other["usin"], "result": "absent"}]
    assert lesson(local) == {}
    assert local.write("PUT", target, json=marks).status_code == 204
    assert lesson(local) == {first["id"]: "lated", other["id"]: "absent"}
    shown = local.get(f"/api/v1/students/{first['id']}/attendances").json()
    [record] = [row for row in shown if (row["checked_at"], row["lesson"]) == ("2025-10-16", 9)]
    assert record["status"] == "lated"
    assert local.write("PUT", target, json=[{"rid": first["id"], "result": "normal"}]).status_code == 204
    assert lesson(local) == {first["id"]: "normal"} | ({other["id"]: "absent"} if others_stay else {})
    for wrong in ({"rid": first["id"], "result": "absent_from_duty"}, {"rid": 1, "result": "normal"}):
        assert local.write("PUT", target, json=[wrong]).status_code == 422


def meeting(local: Local, weekday: int) -> tuple[int, dict[str, int]]:
    """A class of the current semester, and when and where it meets first on a weekday."""
    [semester] = [row["id"] for row in local.get("/api/v1/semesters").json() if row["is_current"]]
    classes = local.get(f"/api/v1/classes?semester_id={semester}&$per-page=100").json()
    return next(
        (row["id"], when)
        for row in classes
        for when in row["schedules"]
        if (when["day"], when["lesson"]) == (weekday, 1)
    )


def test_swipes_taken_offline_may_be_sent_again(local: Local) -> None:
    today = local.app.platform.store.today
    class_id, when = meeting(local, today.isoweekday())
    students = local.get(f"/api/v1/classes/{class_id}/students").json()
    swipes = [{"rid": row["id"], "created_at": f"{today} 07:58:00"} for row in students[:2]]
    swipes.append({"usin": "nobody", "created_at": f"{today} 07:58:00"})
    target = f"/api/v1/classrooms/{when['location_id']}/attendance-logs"
    results = local.write("POST", target, json=swipes).json()
    assert results[2]["status"] == "invalid"
    assert results[0]["klass"]["id"] == class_id
    again = local.write("POST", target, json=swipes).json()
    assert [row["status"] for row in again] == ["exists", "exists", "invalid"]
    assert local.write("POST", target, json=[{"rid": 1, "created_at": "soon"}]).status_code == 422


def test_cards_and_displays(local: Local) -> None:
    pupil = made(local)
    login = {"card_id": "new-card", "username": "N1", "password": "123456"}
    assert local.write("POST", CARDS, data={**login, "password": "wrong"}).json() == {
        "errors": ["用户名或密码错误"]
    }
    assert local.write("POST", CARDS, json=login).status_code == 415
    assert local.write("POST", CARDS, data={**login, "card_id": "卡" * 86}).status_code == 422
    assert local.write("POST", CARDS, data=login).status_code == 201
    assert local.get(f"{CARDS}/new-card").json()["usin"] == "N1"
    assert local.write("POST", CARDS, data=login).status_code == 422
    result = local.write("POST", f"{CARDS}/new-card/attendance", data={"classroom_id": 7}).json()
    assert (result["status"], result["reflection"]["rid"]) == ("invalid", pupil["id"])
    assert local.write("POST", f"{CARDS}/no-card/attendance", data={"classroom_id": 7}).status_code == 404
    assert local.write("DELETE", f"{CARDS}/new-card").status_code == 204
    assert local.get(f"{CARDS}/new-card").status_code == 404
    assert local.write("DELETE", f"{CARDS}/new-card").status_code == 422

    assert local.write("POST", DEVICES, data={"device_id": "AA:BB", "classroom_id": 900001}).is_success
    assert local.get(f"{DEVICES}/AA:BB").json()["id"] == 900001
    assert local.write("DELETE", f"{DEVICES}/AA:BB").status_code == 204
    assert local.get(f"{DEVICES}/AA:BB").status_code == 404
    assert Local(form_bodies="json").write("POST", CARDS, data=login).status_code == 415


def test_a_live_swipe_is_success_once(local: Local) -> None:
    class_id, when = meeting(local, local.app.platform.store.today.isoweekday())
    student = local.get(f"/api/v1/classes/{class_id}/students").json()[0]
    target = f"/api/v1/students/{student['id']}/attendances"
    room = {"classroom_id": when["location_id"]}
    first, second = (local.write("POST", target, data=room).json() for _ in range(2))
    assert first["status"] in ("success", "exists")
    assert (second["status"], second["klass"]["id"]) == ("exists", class_id)


@pytest.fixture
def faulty() -> Iterator[tuple[RunningSimulator, httpx.Client]]:
    with running(schools=1, students=20) as simulator, client(simulator, "school.101") as session:
        yield simulator, session


def outer_ids(session: httpx.Client) -> int:
    return len(session.get(f"{USERS}?outer_id=x-1").json())


def test_faults_before_and_after_a_write(faulty: tuple[RunningSimulator, httpx.Client]) -> None:
    simulator, session = faulty
    for kind, happens in (("status", 0), ("html", 0), ("after", 1), ("reset", 1), ("truncated", 1)):
        simulator.set_faults({"kind": kind, "method": "POST", "path": USERS, "times": 1, "status": 502})
        before = outer_ids(session)
        try:
            session.post(USERS, json={**PUPIL, "usin": f"N-{kind}"})
        except httpx.TransportError:
            assert kind == "reset"
        assert outer_ids(session) - before == happens, kind
    simulator.set_faults({"kind": "reset", "method": "DELETE", "times": 1})
    key = session.get(f"{USERS}?outer_id=x-1").json()[0]["id"]
    with pytest.raises(httpx.TransportError):
        session.delete(f"{USERS}/{key}")
    assert outer_ids(session) == 2


def test_a_write_that_happens_after_its_504(faulty: tuple[RunningSimulator, httpx.Client]) -> None:
    simulator, session = faulty
    simulator.set_faults(
        {"kind": "late", "method": "POST", "path": USERS, "times": 1, "status": 504, "seconds": 0.3}
    )
    began = time.monotonic()
    assert session.post(USERS, json=PUPIL).status_code == 504
    assert until(lambda: outer_ids(session), "the write happens") == 1
    assert time.monotonic() - began >= 0.3
