"""Attendance: two routes, one story, and one that a school would recognise."""

from collections import Counter
from datetime import date
from typing import Any

import httpx
import pytest

from simulator.process import RunningSimulator
from simulator.school.timetable.weeks import is_holiday, teaching_days
from simulator.settings import Size
from simulator.store.statistics import statistics
from tests.kits.platforms.simulated import Local, client

SEMESTER = 10102
CLASS = 1010200001
Record = dict[str, Any]


def session_of(
    platform: httpx.Client | Local, class_id: int, day: str, lesson: int, extra_query: str = ""
) -> Any:
    path = f"/api/v1/classes/{class_id}/attendances?date={day}&lesson={lesson}{extra_query}"
    return (
        platform.get(path).raise_for_status().json()
        if isinstance(platform, httpx.Client)
        else platform.get(path)
    )


def sessions(simulator: RunningSimulator, semester_id: int = SEMESTER) -> list[Record]:
    entries = simulator.rows("attendance_sessions", 101, semester_id)
    return [entry["row"] for entry in entries if not entry["trashed"]]


def of_student(session: httpx.Client, student: int, query: str = "") -> list[Record]:
    answer = session.get(f"/api/v1/students/{student}/attendances{query}")
    return list(answer.raise_for_status().json())


def without(record: Record, *names: str) -> Record:
    return {name: value for name, value in record.items() if name not in names}


def test_both_routes_tell_the_same_story(simulator: RunningSimulator, school: httpx.Client) -> None:
    students = [e["key"] for e in simulator.rows("students", 101) if not e["trashed"]]
    by_student = {
        record["id"]: (student, record) for student in students for record in of_student(school, student)
    }
    by_session = {
        record["id"]: (record["student"]["id"], record)
        for made in sessions(simulator)
        for record in session_of(school, made["class_id"], made["date"], made["lesson"])["list"]
        if record["student"]["id"] in students
    }
    assert len(by_student) > 5_000
    assert by_student.keys() == by_session.keys()
    for key, (student, record) in by_student.items():
        assert by_session[key][0] == student
        assert without(record, "klass") == without(by_session[key][1], "student")


def test_records_have_the_fields_of_the_specification(school: httpx.Client) -> None:
    students = school.get(f"/api/v1/classes/{CLASS}/students").json()
    records = of_student(school, students[0]["id"])
    assert records[0].keys() == {
        "id",
        "status",
        "status_label",
        "absence_label",
        "conclusion_label",
        "checked_at",
        "lesson",
        "created_date",
        "created_time",
        "created_date_label",
        "klass",
    }
    when = [(record["checked_at"], record["lesson"]) for record in records]
    assert when == sorted(when, reverse=True)
    assert records[0]["klass"].keys() == {"name", "class_name", "id", "csin", "teachers", "classroom"}
    assert {r["created_date_label"] for r in records} >= {"今天", "", None}
    older = of_student(school, students[0]["id"], "?semester_id=10101")
    assert max(r["checked_at"] for r in older) < min(r["checked_at"] for r in records)


def test_statistics_add_up(simulator: RunningSimulator, school: httpx.Client) -> None:
    for made in sessions(simulator)[::7]:
        detail = session_of(school, made["class_id"], made["date"], made["lesson"])
        counts = Counter(record["status"] for record in detail["list"])
        numbers = detail["statistics"]
        assert numbers == made["statistics"]
        assert numbers["normal"] == counts["normal"]
        assert numbers["late"] == counts["lated"] + counts["early_left"]
        assert numbers["absent"] == counts["absent"] + counts["absent_from_duty"]
        present = numbers["normal"] + numbers["late"]
        assert numbers["attendance_rate"] == round(100 * present / counts.total(), 2)


def test_sessions_take_place_when_the_schedule_says(
    simulator: RunningSimulator, school: httpx.Client
) -> None:
    classes = {row["id"]: row for row in school.get("/api/v1/classes?$per-page=100").json()}
    moved = 0
    for made in [*sessions(simulator, 10101), *sessions(simulator)]:
        day, klass = date.fromisoformat(made["date"]), classes[made["class_id"]]
        first = date(2024, 8, 26) if klass["semester_id"] == 10101 else date(2025, 2, 17)  # Mondays
        week = (day - first).days // 7 + 1
        assert klass["start_at"] <= week <= klass["end_in"]
        assert klass["week_type"] in (0, 2 - week % 2)
        assert day <= date(2025, 5, 16)
        assert not is_holiday(day)
        times = [(entry["day"], entry["lesson"]) for entry in klass["schedules"]]
        moved += (day.isoweekday(), made["lesson"]) not in times
    assert moved > 0, "a lesson that was moved in the middle of a semester has sessions at its old time"
    assert moved < 20


def test_a_school_would_recognise_it() -> None:
    store = Local(Size(schools=1, students=240)).app.platform.store
    term = store.term(SEMESTER)
    assert term is not None
    days = teaching_days(term, "monday")
    absent: Counter[object] = Counter()
    total: Counter[object] = Counter()
    leaves: Counter[str] = Counter()
    late_marks = planned = recorded = expected = actual = 0
    for class_id in store.class_ids([SEMESTER]):
        done = store.rows("attendance_sessions", class_id)
        recorded += len(done)
        (klass,) = (row for row in store.rows("classes", SEMESTER) if row.key == class_id)
        members = set(klass.values["students"])
        plan = store.attendance.plan(class_id)
        assert plan is not None
        planned += sum(day.day <= store.today for day, _ in plan.meetings(days))
        for made in done:
            rows = store.rows("attendance_records", made.key)
            expected += len(members)
            actual += len(members & {row.values["student_id"] for row in rows})
            for row in rows:
                values = row.values
                weekday = date.fromisoformat(values["checked_at"]).isoweekday()
                late_marks += values["created_date"] > values["checked_at"]
                for group in (weekday, values["student_id"], "all"):
                    total[group] += 1
                    absent[group] += values["status"] == "absent"
                if values["status"] == "absent":
                    leaves[values["absence_label"]] += 1
                else:
                    assert values["absence_label"] == ""
    rates = {group: absent[group] / total[group] for group in total}
    assert 0.02 < rates["all"] < 0.08
    assert min(rates[1], rates[5]) > max(rates[2], rates[3], rates[4])
    students = [group for group in total if isinstance(group, int) and group > 5]
    chronic = [s for s in students if rates[s] > 0.1]
    assert 0.01 < len(chronic) / len(students) < 0.12
    assert leaves.keys() == {"病假", "事假", "公假", ""}
    assert 0.02 < late_marks / total["all"] < 0.2
    assert 0.02 < 1 - recorded / planned < 0.15
    assert 0.002 < 1 - actual / expected < 0.01


def test_who_has_left_stays_in_the_classes_of_the_time() -> None:
    local = Local(Size(students=400))
    store = local.app.platform.store
    gone = {row.key for row in store.rows("students", 101) if row.deleted_at}
    assert gone
    recorded_students = set()
    for class_id in store.class_ids([10101]):
        for made in store.rows("attendance_sessions", class_id):
            recorded_students |= gone & {
                row.values["student_id"] for row in store.rows("attendance_records", made.key)
            }
    assert recorded_students, "attendance of students who left later stays in their class's route"
    student = recorded_students.pop()
    path = f"/api/v1/students/{student}/attendances?semester_id=10101"
    assert local.get(path).status_code == 404
    archived = Local(Size(students=400), left_users="archived").get(path).json()
    assert archived
    shown = local.get(
        "/api/v1/classes/{id}/attendances?date={d}&lesson={n}".format(
            id=archived[0]["klass"]["id"], d=archived[0]["checked_at"], n=archived[0]["lesson"]
        )
    )
    assert student in [record["student"]["id"] for record in shown.json()["list"]]


UNRECORDED = (CLASS, "2025-05-10", 1)  # a Saturday


def test_a_session_without_records(school: httpx.Client) -> None:
    detail = session_of(school, *UNRECORDED)
    assert detail == {
        "statistics": {"attendance_rate": 0, "normal": 0, "late": 0, "absent": 0},
        "list": [],
    }
    assert session_of(Local(unrecorded="404"), *UNRECORDED).status_code == 404


def test_now_is_the_platforms_today(simulator: RunningSimulator, school: httpx.Client) -> None:
    made = next(made for made in sessions(simulator) if made["date"] == "2025-05-16")
    dated = session_of(school, made["class_id"], made["date"], made["lesson"])
    assert dated["list"]
    assert session_of(school, made["class_id"], "now", made["lesson"]) == dated


@pytest.mark.parametrize("query", ["", "?date=now", "?lesson=1", "?date=x&lesson=1", "?date=now&lesson=0"])
def test_date_and_lesson_are_needed(school: httpx.Client, query: str) -> None:
    assert school.get(f"/api/v1/classes/{CLASS}/attendances{query}").status_code == 422


def test_the_semester_of_a_session(simulator: RunningSimulator) -> None:
    old = sessions(simulator, 10101)[0]
    session_key = (old["class_id"], old["date"], old["lesson"])
    assert session_of(Local(), *session_key).json()["list"]
    assert session_of(Local(v1_without_semester="current"), *session_key).json()["list"] == []
    assert session_of(Local(v1_without_semester="current"), *session_key, "&semester_id=10101").json()["list"]
    assert session_of(Local(), *session_key, f"&semester_id={SEMESTER}").json()["list"] == []


def test_which_id_students_carry(simulator: RunningSimulator) -> None:
    made = sessions(simulator)[0]
    session_key = (made["class_id"], made["date"], made["lesson"])
    for reading, names in (("id", {"id"}), ("rid", {"rid"}), ("both", {"id", "rid"})):
        student = session_of(Local(student_ids=reading), *session_key).json()["list"][0]["student"]
        assert student.keys() & {"id", "rid"} == names
        assert "usin" in student


def test_rates_and_absence_from_duty() -> None:
    store = Local().app.platform.store
    row = store.rows("attendance_records", store.rows("attendance_sessions", CLASS)[0].key)[0]
    marks = ["normal", "lated", "absent", "absent_from_duty", "absent_from_duty", "normal", "normal"]
    for key, status in enumerate(marks):
        store.insert("attendance_records", 1010200001999, {"id": key, "status": status})
    rows = store.rows("attendance_records", 1010200001999)
    for options, expected in (
        ({}, (57.14, 3, 1, 3)),
        ({"rate_decimals": "1"}, (57.1, 3, 1, 3)),
        ({"rate_decimals": "0"}, (57, 3, 1, 3)),
        ({"absent_from_duty": "apart"}, (80, 3, 1, 1)),
    ):
        made = statistics(Local(**options).app.platform.readings, rows)
        assert tuple(made.values()) == expected
    assert row.values["status"] in ("normal", "lated", "absent", "early_left", "absent_from_duty")


def test_records_and_sessions_change(unsettled: RunningSimulator) -> None:
    made = sessions(unsettled)[3]
    session_key = (made["class_id"], made["date"], made["lesson"])
    with client(unsettled) as school:
        before = session_of(school, *session_key)
        record = before["list"][0]
        student = record["student"]["id"]
        unsettled.update("attendance_records", record["id"], status="early_left", absence_label="事假")
        after = session_of(school, *session_key)
        assert after["list"][0]["status"] == "early_left"
        assert after["statistics"] != before["statistics"] or record["status"] in ("lated", "early_left")
        mine = {r["id"]: r for r in of_student(school, student)}
        assert mine[record["id"]]["absence_label"] == "事假"
        unsettled.destroy("attendance_records", record["id"])
        assert record["id"] not in [r["id"] for r in session_of(school, *session_key)["list"]]
        assert record["id"] not in [r["id"] for r in of_student(school, student)]
        new = unsettled.insert("attendance_records", made["id"], student_id=student, status="lated")["key"]
        assert new in [r["id"] for r in of_student(school, student)]
        assert session_of(school, *session_key)["list"][-1]["student"]["id"] == student
        unsettled.update("attendance_sessions", made["id"], statistics={"normal": 1})
        assert session_of(school, *session_key)["statistics"] == {"normal": 1}
        unsettled.destroy("attendance_sessions", made["id"])
        assert session_of(school, *session_key)["list"] == []
        assert new not in [r["id"] for r in of_student(school, student)]


def test_a_session_can_be_recorded_later(unsettled: RunningSimulator) -> None:
    with client(unsettled) as school:
        assert session_of(school, *UNRECORDED)["list"] == []
        unsettled.insert("attendance_sessions", CLASS, date=UNRECORDED[1], lesson=UNRECORDED[2])
        recorded = session_of(school, *UNRECORDED)["list"]
        assert len(recorded) > 20
        student = recorded[0]["student"]["id"]
        assert recorded[0]["id"] in [r["id"] for r in of_student(school, student)]


def test_days_pass() -> None:
    local = Local(Size(schools=1, students=120))
    store = local.app.platform.store

    def keys() -> dict[str, set[int]]:
        keys_by_day: dict[str, set[int]] = {}
        for class_id in store.class_ids([SEMESTER]):
            for row in store.rows("attendance_sessions", class_id):
                keys_by_day.setdefault(row.values["date"], set()).add(row.key)
        return keys_by_day

    every_week = CLASS + 2
    store.insert("attendance_sessions", every_week, {"date": "2025-05-11", "lesson": 1})
    before = keys()
    store.let_days_pass(5)
    after = keys()
    assert store.today.isoformat() == "2025-05-21"
    assert max(before) <= "2025-05-16" < max(after) <= "2025-05-21"
    assert all(before[day] <= after[day] for day in before)
    assert any(before[day] < after[day] for day in before), "late marks came in"
    assert "2025-05-11" in after
    added = set[int]().union(*after.values()) - set[int]().union(*before.values())
    assert any(key // 1_000 == every_week for key in added), "a changed class goes on too"


def test_days_pass_over_http(unsettled: RunningSimulator) -> None:
    with client(unsettled) as school:
        week = school.get(f"/api/v1/semesters/{SEMESTER}").json()["current_week"]
        assert unsettled.let_days_pass(7) == "2025-05-23"
        assert school.get(f"/api/v1/semesters/{SEMESTER}").json()["current_week"] == week + 1


def test_a_deleted_class_takes_its_attendance_along() -> None:
    local = Local()
    made = local.app.platform.store.rows("attendance_sessions", CLASS)[0]
    session_key = (CLASS, made.values["date"], made.values["lesson"])
    student = session_of(local, *session_key).json()["list"][0]["student"]["id"]
    path = f"/api/v1/students/{student}/attendances"
    assert CLASS in [record["klass"]["id"] for record in local.get(path).json()]
    local.app.platform.store.delete("classes", CLASS)
    assert session_of(local, *session_key).status_code == 404
    assert CLASS not in [record["klass"]["id"] for record in local.get(path).json()]


def test_unknown_statuses() -> None:
    local = Local(enums="unknown")
    made = local.app.platform.store.rows("attendance_sessions", CLASS)[0].values
    records = session_of(local, CLASS, made["date"], made["lesson"]).json()["list"]
    statuses = Counter(record["status"] for record in records)
    assert 0 < statuses["unheard_of"] < statuses.total()
