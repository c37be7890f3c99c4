"""The v1 reads besides attendance: the same school as in v3, in the shapes of the specification."""

from datetime import date
from itertools import combinations
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.process import RunningSimulator
from simulator.resources import SOURCES
from simulator.school.timetable.weeks import week_of
from simulator.settings import Access, Size
from simulator.store.store import Store
from tests.kits.platforms.simulated import ALL, Local, client

SEMESTER = 10102
CLASSES = f"/api/v1/classes?semester_id={SEMESTER}&$per-page=100"
USERS = "/api/v1/reflections"
SETTINGS = "/api/v1/classroompad/attendance-settings"
UPDATES = "/api/v1/classroompad/check-updates"


def get(session: httpx.Client, target: str) -> Any:
    return session.get(target).raise_for_status().json()


def v3(session: httpx.Client, path: str) -> dict[int, dict[str, Any]]:
    mark = "&" if "?" in path else "?"
    return {row["id"]: row for row in get(session, f"/api/v3/{path}{mark}paginated=0")}


def test_classes_are_those_of_v3(school: httpx.Client) -> None:
    theirs = v3(school, f"klass/classes?semester_id={SEMESTER}")
    v1_classes = get(school, CLASSES)
    assert [row["id"] for row in v1_classes] == list(theirs)
    for row in v1_classes:
        other = theirs[row["id"]]
        same = ("school_id", "semester_id", "csin", "name", "class_name", "admin_class_ids")
        assert all(row[name] == other[name] for name in same)
        assert [t["id"] for t in row["teachers"]] == other["teachers"]
        assert [t["reflection"]["name"] for t in row["teachers"]] == [t["name"] for t in row["teachers"]]
        assert row["end_in"] > max(row["start_at"], 1)
        students = get(school, f"/api/v1/classes/{row['id']}/students")
        assert [student["id"] for student in students] == other["students"]
    assert any(row["week_type"] for row in v1_classes)
    assert any(0 in (e["day"], e["lesson"]) for row in v1_classes for e in row["schedules"])


def test_paging_carries_the_dollar_sign(school: httpx.Client) -> None:
    whole = get(school, CLASSES)
    answer = school.get(f"/api/v1/classes?semester_id={SEMESTER}&$per-page=5&$page=2&per_page=3&page=9")
    assert answer.json() == whole[5:10]
    assert answer.headers["X-Pagination-Per-Page"] == "5"
    assert answer.headers["X-Pagination-Total-Count"] == str(len(whole))
    plain = school.get("/api/v1/classes?per_page=1&page=7&paginated=0")
    assert len(plain.json()) == 20
    assert plain.headers["X-Pagination-Current-Page"] == "1"


def test_filters_of_classes(school: httpx.Client) -> None:
    whole = get(school, CLASSES)
    admin = whole[0]["admin_class_ids"][0]
    wanted = [row for row in whole if admin in row["admin_class_ids"]]
    assert 0 < len(wanted) < len(whole)
    assert get(school, f"{CLASSES}&admin_class_id={admin},7") == wanted
    for low, high in ((1, 2), (1, 20), (18, 20)):
        spanning = [row for row in whole if row["start_at"] <= high and row["end_in"] >= low]
        assert get(school, f"{CLASSES}&week_range={low}-{high}") == spanning
    assert len(get(school, f"{CLASSES}&week_range=1-2")) < len(whole)
    assert school.get(f"{CLASSES}&week_range=8").status_code == 422
    assert {row["semester_id"] for row in get(school, "/api/v1/classes?$per-page=100")} == {10101, SEMESTER}


def test_users_are_the_reflections(school: httpx.Client) -> None:
    theirs = v3(school, "reflection/reflections")
    users = get(school, f"{USERS}?$per-page=100")
    guardians = get(school, f"{USERS}?role=8&$per-page=100")
    assert {row["role"] for row in users} == {1, 2}
    assert [r["id"] for r in users] == [i for i, row in theirs.items() if row["role"] != "guardian"]
    assert [r["id"] for r in guardians] == [i for i, row in theirs.items() if row["role"] == "guardian"]
    students = {row["id"]: row for row in users if row["role"] == 1}
    assert all(row["usin"] == (theirs[row["id"]]["usin"] or "") for row in users)
    assert all(isinstance(row["graduates_in"], int) for row in students.values())
    assert all(row["student_id"] in students and row["guardian_role"] in (0, 1, 2) for row in guardians)
    assert all(row["idcard"] == "" or row["idcard"].startswith("000000") for row in users + guardians)
    assert not any("password" in row for row in users + guardians)


@pytest.mark.parametrize("name", ["usin", "outer_id", "status"])
def test_filters_of_users(school: httpx.Client, name: str) -> None:
    users = get(school, f"{USERS}?$per-page=100")
    value = next(row[name] for row in users if row[name])
    assert get(school, f"{USERS}?$per-page=100&{name}={value}") == [r for r in users if r[name] == value]


def test_custom_fields_say_what_users_carry(school: httpx.Client) -> None:
    fields = get(school, "/api/v1/reflection-fields")
    assert {field["type"] for field in fields} == {1, 2}
    assert all(field["name"].isalnum() and ("options" in field) == (field["type"] == 2) for field in fields)
    for user in get(school, f"{USERS}?$per-page=100"):
        for field in fields:
            if field["role"] == user["role"]:
                assert field["type"] == 1 or user[field["name"]] in (*field["options"], "")
            elif field["name"] not in {f["name"] for f in fields if f["role"] == user["role"]}:
                assert field["name"] not in user


def test_admin_classes_and_semesters(school: httpx.Client) -> None:
    theirs = v3(school, "admin_class/admin_classes?expand=students")
    admin_classes = get(school, "/api/v1/admin-classes")
    assert [row["id"] for row in admin_classes] == list(theirs)
    for row in admin_classes:
        assert row["school_id"] == "101"
        assert row["director"]["id"] == theirs[row["id"]]["teacher_ids"][0]
        assert [s["id"] for s in row["students"]] == [s["id"] for s in theirs[row["id"]]["students"]]
        assert get(school, f"/api/v1/admin-classes/{row['id']}") == row
    first = admin_classes[0]
    for name, value in (("name", first["name"]), ("classroom", first["classroom"]["name"])):
        assert get(school, f"/api/v1/admin-classes?{name}={value}") == [first]
    assert get(school, f"/api/v1/admin-classes?graduates_in={first['graduates_in']}") == admin_classes
    assert get(school, "/api/v1/admin-classes?graduates_in=1999") == []
    semesters = get(school, "/api/v1/semesters")
    assert [(s["id"], s["is_current"]) for s in semesters] == [(10101, False), (SEMESTER, True)]
    assert semesters[1] == get(school, f"/api/v1/semesters/{SEMESTER}")
    assert semesters[1]["current_week"] == 13
    assert semesters[1]["grade_maps"][first["grade_name"]] == first["graduates_in"]


def test_transcripts_follow_the_grades(school: httpx.Client) -> None:
    student = next(iter(v3(school, "reflection/students")))
    transcript = get(school, f"/api/v1/students/{student}/transcripts")
    courses = [course for group in transcript["grade_list"] for course in group["grade_list"]]
    assert transcript["total_credit"] == sum(course["credit"] for course in courses)
    assert transcript["gained_credit"] == sum(course["gained_credit"] for course in courses)
    shown = 0
    for course in courses:
        grades = get(
            school, f"/api/v3/class-assessment/class/grades?class_ids={course['class_id']}&paginated=0"
        )
        grade = next((g for g in grades if g["owner_id"] == student), None)
        assert all(isinstance(text, str) and text for text in course["evaluation"].values())
        if course["published"]:
            assert grade is not None
            assert course["evaluation"]["100"] == (grade["real_score"] or "-")
            assert course["published_at"] == grade["published_at"]
            shown += 1
        else:
            assert set(course["evaluation"].values()) == {"-"}
            assert course["published_at"] is None
    assert 0 < shown < len(courses)
    points = [(float(c["evaluation"]["gpa"]), c["credit"]) for c in courses if c["evaluation"]["gpa"] != "-"]
    average = sum(p * credit for p, credit in points) / sum(credit for _, credit in points)
    assert transcript["grade_point_average"] == pytest.approx(average, abs=0.005)


def _shared_rooms(every: int) -> int:
    """How many pairs of classes want a room at the same time of the week."""
    rows = Local(Size(students=200, double_booked=every)).get(CLASSES).json()
    times = [
        (row["id"], (entry["day"], entry["lesson"], entry["location_id"]))
        for row in rows
        for entry in row["schedules"]
        if entry["day"] and entry["lesson"]
    ]
    for row in rows:
        assert {e["location_id"] for e in row["schedules"]} <= {room["id"] for room in row["locations"]}
    return sum(first[1] == other[1] and first[0] != other[0] for first, other in combinations(times, 2))


def test_rooms_are_free_unless_they_are_to_be_double_booked() -> None:
    assert _shared_rooms(0) == 0
    assert _shared_rooms(5) > 0


def test_timetables(school: httpx.Client) -> None:
    classes = get(school, CLASSES)
    student = get(school, f"/api/v1/classes/{classes[0]['id']}/students")[0]["id"]
    mine = get(school, f"/api/v1/timetable/students/{student}")
    assert classes[0] in mine
    teacher = classes[0]["teachers"][0]["id"]
    taught = [row for row in classes if teacher in [t["id"] for t in row["teachers"]]]
    assert get(school, f"/api/v1/timetable/teachers/{teacher}") == taught
    room = classes[0]["locations"][0]["id"]
    room_classes = [row for row in classes if room in [e["location_id"] for e in row["schedules"]]]
    assert get(school, f"/api/v1/timetable/classrooms/{room}") == room_classes
    today = get(school, f"/api/v1/timetable/students/{student}?date=now")
    assert today == get(school, f"/api/v1/timetable/students/{student}?date=2025-05-16")  # a Friday, week 13
    expected = sorted(
        entry["lesson"]
        for row in mine
        for entry in row["schedules"]
        if entry["day"] == 5 and entry["lesson"] > 0
        if row["start_at"] <= 13 <= row["end_in"] and row["week_type"] != 2
    )
    assert [row["lesson"] for row in today] == expected
    lessons = {row["lesson"]: row for row in get(school, "/api/v1/timetable/structure")["lessons"]}
    for row in today:
        assert row["lesson_start_time"] == lessons[row["lesson"]]["start_time"]
        assert row["lesson_end_timestamp"] - row["lesson_start_timestamp"] == 45 * 60
    assert get(school, f"/api/v1/timetable/students/{student}?date=2025-05-17") == []
    days = get(school, "/api/v1/timetable/structure")["days"]
    assert [day["day"] for day in days if day["is_current"]] == [5]


def test_devices_cards_and_updates(simulator: RunningSimulator, school: httpx.Client) -> None:
    classroom = get(school, "/api/v1/classroompad/devices/pad-101-1")
    assert classroom["id"] == get(school, "/api/v1/admin-classes")[0]["classroom"]["id"]
    assert classroom["current_status"] in ("normal", "idle", "notice", "blank")
    assert school.get("/api/v1/classroompad/devices/pad-9").status_code == 404
    card = simulator.rows("cards", 101)[0]["row"]
    profile = get(school, f"/api/v1/studentcard/cards/{card['card_id']}")
    assert profile["rid"] == profile["id"] == card["student_id"]
    assert school.get("/api/v1/studentcard/cards/lost").status_code == 404
    assert all(isinstance(value, str) and value.isdigit() for value in get(school, SETTINGS).values())
    anybody = httpx.get(f"{simulator.base_url}{UPDATES}?client_id=demo-client")
    assert anybody.json()["latest_version"].count(".") == 2
    assert httpx.get(f"{simulator.base_url}{UPDATES}").status_code == 422


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/api/v1/classes/5/students", 404),
        ("/api/v1/classes/1020200001/students", 404),  # of another school
        ("/api/v1/classes?semester_id=99", 404),
        ("/api/v1/students/5/transcripts", 404),
        ("/api/v1/timetable/teachers/x", 422),
        ("/api/v1/timetable/classrooms/1?date=soon", 422),
        ("/api/v1/semesters/99", 404),
        (f"{USERS}?role=student", 422),
        (f"{USERS}?$page=0", 422),
    ],
)
def test_refusals(school: httpx.Client, target: str, status: int) -> None:
    assert school.get(target).status_code == status


def test_v1_follows_a_change_of_v3(unsettled: RunningSimulator) -> None:
    with client(unsettled) as session:
        new = unsettled.insert("classes", SEMESTER, name="新课")["key"]
        assert get(session, CLASSES)[-1]["name"] == "新课"
        unsettled.destroy("classes", new)
        assert new not in [row["id"] for row in get(session, CLASSES)]
        person = unsettled.insert("reflections", 101, name="新人", role="teacher", usin="T9")["key"]
        assert [row["id"] for row in get(session, f"{USERS}?usin=T9")] == [person]
        unsettled.update("v1_users", person, idcard="000000X", remark=None)
        shown = get(session, f"{USERS}?usin=T9")[0]
        assert (shown["idcard"], shown["remark"], shown["name"]) == ("000000X", None, "新人")
        assert "idcard" not in v3(session, "reflection/reflections")[person]
        unsettled.delete("v1_users", person)
        assert get(session, f"{USERS}?usin=T9") == []
        unsettled.update("attendance_settings", unsettled.rows("attendance_settings", 101)[0]["key"], x="1")
        assert get(session, SETTINGS)["x"] == "1"


@pytest.mark.parametrize("resource", ["reflections", "semesters", "admin_classes", "classes", "students"])
def test_a_broken_row_breaks_no_list(unsettled: RunningSimulator, resource: str) -> None:
    entry = unsettled.rows(resource, 101)[-1]
    values: tuple[Any, ...] = (None, "text", [[]], {"a": 1})
    for broken in values:
        unsettled.update(resource, entry["key"], **dict.fromkeys(entry["row"], broken))
        with client(unsettled) as session:
            for path in (USERS, "/api/v1/semesters", "/api/v1/admin-classes", "/api/v1/classes"):
                assert session.get(path).status_code == 200


def test_readings_of_lists() -> None:
    assert "x-pagination-page-count" not in Local(v1_pagination_headers="absent").get(CLASSES).headers
    v3_absent = Local(pagination_headers="absent").get(CLASSES).headers
    assert "x-pagination-page-count" in v3_absent
    assert len(Local(v1_max_per_page=7).get(CLASSES).json()) == 7
    assert len(Local(v1_max_per_page=7).get(f"{USERS}?$per-page=7&$page=2").json()) == 7
    plain = Local().get("/api/v1/reflection-fields").json()
    assert Local(user_fields="data").get("/api/v1/reflection-fields").json() == {"data": plain}
    current = Local(v1_without_semester="current").get("/api/v1/classes?$per-page=100").json()
    assert {row["semester_id"] for row in current} == {SEMESTER}


def test_other_class_ids_leave_csin() -> None:
    plain, other = Local().get(CLASSES).json(), Local(v1_class_ids="other").get(CLASSES).json()
    assert [row["csin"] for row in plain] == [row["csin"] for row in other]
    assert not {row["id"] for row in plain} & {row["id"] for row in other}
    students = Local(v1_class_ids="other").get(f"/api/v1/classes/{other[0]['id']}/students").json()
    assert students == Local().get(f"/api/v1/classes/{plain[0]['id']}/students").json()
    assert Local(v1_class_ids="other").get(f"/api/v1/classes/{plain[0]['id']}/students").status_code == 404


def test_users_that_left() -> None:
    size = Size(students=400)
    everybody = f"{USERS}?status=2&$per-page=100"
    assert Local(size).get(everybody).json() == []
    left = Local(size, left_users="archived").get(everybody).json()
    gone = Local(size).app.platform.store.rows("reflections", 101)
    assert [row["id"] for row in left] == [row.key for row in gone if row.deleted_at]


@pytest.mark.parametrize(
    ("reading", "classes", "users"),
    [("none", "", ""), ("user.read", "user.read", "user.read"), ("each", "class.read", "user.read")],
)
def test_scopes(reading: str, classes: str, users: str) -> None:
    local = Local(v1_scopes=reading)
    for path, scope in (("/api/v1/classes", classes), (USERS, users)):
        assert local.get(path, scope=f"school.101 {scope}").status_code == 200
        assert (local.get(path, scope="school.101").status_code == 403) is bool(scope)
    assert local.get("/api/v1/semesters", scope=ALL.replace("school.101", "")).status_code == 403
    assert Local(access=Access(), v1_scopes=reading).get("/api/v1/schools").status_code == 200


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 700), st.integers(0, 1000), st.sampled_from(["monday", "start"]))
def test_nobody_is_in_two_places_at_once(students: int, seed: int, week_start: str) -> None:
    store = Store(SOURCES, Size(schools=1, students=students, seed=seed, semesters=1))
    (semester_id,) = store.semester_ids(101)
    courses = [row for row in store.rows("classes", semester_id) if row.deleted_at is None]
    seen: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for row in courses:
        plan = store.attendance.plan(row.key)
        assert plan is not None
        assert len(plan.lessons) <= 5
        for meeting in (*plan.lessons, *plan.past):
            parties = [("room", meeting.room_id), *(("teacher", key) for key in row.values["teachers"])]
            parties += [("student", key) for key in row.values["students"]]
            for party in parties:
                seen.setdefault((*party, meeting.day, meeting.lesson), []).append(meeting[3:])
    assert seen
    for spans in seen.values():
        for (first, last), (other_first, other_last) in combinations(spans, 2):
            assert last < other_first or other_last < first


def test_weeks() -> None:
    sunday = date(2024, 9, 1)
    assert [week_of(sunday, date(2024, 9, day), "monday") for day in (1, 2, 8, 9)] == [1, 2, 2, 3]
    assert [week_of(sunday, date(2024, 9, day), "start") for day in (1, 7, 8)] == [1, 1, 2]
    assert [week_of(sunday, date(2024, 9, day), "next_monday") for day in (1, 2, 8, 9)] == [0, 1, 1, 2]
    wednesday = date(2025, 9, 3)
    assert [week_of(wednesday, date(2025, 9, day), "sunday") for day in (3, 6, 7)] == [1, 1, 2]


@pytest.mark.parametrize(("reading", "shift"), [("other", 7_000_000), ("shifted", 1)])
def test_v1_may_know_semesters_by_other_ids(reading: str, shift: int) -> None:
    platform = Local(v1_semester_ids=reading)
    theirs = platform.get("/api/v3/system/semesters").json()
    v1_semesters = platform.get("/api/v1/semesters").json()
    assert [row["id"] - shift for row in v1_semesters] == [row["id"] for row in theirs]
    assert [row["name"] for row in v1_semesters] == [row["name"] for row in theirs]
    assert platform.get(f"/api/v1/semesters/{v1_semesters[0]['id']}").json() == v1_semesters[0]
    [row, *_] = platform.get(f"/api/v1/classes?semester_id={SEMESTER + shift}").json()
    assert (row["semester_id"], row["csin"]) == (
        SEMESTER + shift,
        next(iter(platform.get(f"/api/v3/klass/classes?semester_id={SEMESTER}").json()))["csin"],
    )
    assert platform.get("/api/v1/timetable/structure?semester_id=10101").status_code == 404
    student = platform.get(f"/api/v1/classes/{row['id']}/students").json()[0]["id"]
    transcript = platform.get(f"/api/v1/students/{student}/transcripts").json()
    assert transcript["grade_list"][-1]["semester"] == v1_semesters[-1]
    attended = f"/api/v1/students/{student}/attendances"
    records = platform.get(f"{attended}?semester_id={SEMESTER + shift}").json()
    assert records and records == platform.get(attended).json()


def test_semesters_of_v1_may_look_otherwise() -> None:
    [autumn, spring] = (
        Local(
            v1_semester_names="other",
            v1_semester_outer_id="present",
            v1_semester_days="fewer",
            v1_current_week="clamped",
            v1_lesson_days="fewer",
        )
        .get("/api/v1/semesters")
        .json()
    )
    assert (autumn["name"], autumn["outer_id"]) == (" 2024—2025学年（第1学期）", "20241")
    assert (spring["name"], spring["outer_id"]) == (" 2024—2025学年（第二学期）", None)
    assert (autumn["start_at"], autumn["end_in"]) == ("2024-09-01", "2025-01-18")
    assert (autumn["current_week"], spring["current_week"]) == (22, 13)
    assert spring["lesson_days"] == [1, 2, 3, 4]
    [autumn, spring] = (
        Local(v1_current_week="absent", v1_semester_days="absent").get("/api/v1/semesters").json()
    )
    assert (autumn["current_week"], spring["current_week"]) == (None, 13)
    assert autumn["start_at"] is spring["end_in"] is None


def test_weeks_of_classes() -> None:
    plain, literal, unbounded = (
        {row["id"]: row for row in Local(v1_class_weeks=reading, v1_is_current="present").get(CLASSES).json()}
        for reading in ("within", "as_specified", "unbounded")
    )
    for key, row in plain.items():
        assert (literal[key]["start_at"], literal[key]["end_in"]) == (row["end_in"], max(row["start_at"], 2))
        assert unbounded[key]["end_in"] == row["start_at"] + 2
        # The platform is in week 13.
        is_on = row["start_at"] <= 13 <= row["end_in"] and row["week_type"] != 2
        assert {entry["is_current"] for entry in row["schedules"]} <= {is_on}


def test_rows_move_while_somebody_pages(unsettled: RunningSimulator) -> None:
    unsettled.set_faults({"kind": "moving", "change": "shrink", "path": USERS, "times": 1})
    with client(unsettled) as session:
        totals = [
            int(session.get(f"{USERS}?$per-page=10&$page={page}").headers["X-Pagination-Total-Count"])
            for page in (1, 2, 3)
        ]
    assert totals[0] - 1 == totals[1] == totals[2]
