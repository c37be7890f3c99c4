"""Attendance by either route: what is read is what is there, and both show the same."""

import asyncio
import datetime as dt
from collections import Counter
from dataclasses import replace
from typing import Any

import httpx
import pytest

from campus.account import Drift
from campus.attendance.calendar import Meeting, Session
from campus.attendance.plan import is_whole_cheaper
from campus.attendance.requests import RECORDS, ask_student
from campus.attendance.routes import StudentSubset
from campus.attendance.semester import Refusals, Semester
from campus.fetch.reader import Reader, drive_readings
from campus.http.client import Client
from campus.sources.gathered import Gathered
from simulator.http.faults import Fault
from tests.kits.platforms.attended import SCHOOL, TODAY, Found, School

# Whatever the platform made of what the specification leaves open about attendance and what it is asked with.
READINGS: list[dict[str, Any]] = [
    {},
    {"v1_class_ids": "other"},
    {"student_ids": "rid"},
    {"student_ids": "both"},
    {"session_student_ids": "other", "left_users": "archived"},
    {"left_users": "archived"},
    {"v1_students": "nested"},
    {"unlisted": "400"},
    {"unrecorded": "404"},
    {"unrecorded": "422"},
    {"rate_decimals": "0"},
    {"absent_from_duty": "apart"},
    {"week_start": "start"},
    {"v1_semester_ids": "other"},
    {"v1_semester_ids": "shifted", "v1_current_week": "clamped"},
    {"v1_lesson_days": "fewer"},
    {"v1_class_weeks": "as_specified"},
    {"v1_class_weeks": "unbounded"},
    {"v1_is_current": "present"},
    {"v1_without_semester": "current"},
    {"v1_scopes": "each"},
    {"v1_pagination_headers": "absent", "v1_max_per_page": 7},
    {"extra_fields": "some", "error_body": "empty"},
]


@pytest.fixture(scope="module")
def school() -> School:
    """A school that nobody has left."""
    return School()


@pytest.fixture(scope="module")
def semester(school: School) -> Semester:
    return school.semester()


@pytest.fixture(scope="module")
def by_sessions(school: School, semester: Semester) -> Found:
    return school.by_sessions(semester)


@pytest.mark.parametrize(
    "readings", READINGS, ids=lambda options: " ".join(map(str, options.values())) or "plain"
)
def test_either_route_reads_what_is_there(readings: dict[str, Any]) -> None:
    school = School(**readings)
    left = school.leave()
    begin = "first_day" if readings.get("week_start") == "start" else "monday"
    semester = school.semester(weeks_begin=begin)
    weeks = school.weeks(semester)[-6:]
    true = {
        key: row
        for key, row in school.true_records().items()
        if semester.calendar.week_of(row["checked_at"]) in weeks
    }
    assert left in {row["student_id"] for row in true.values()}
    for result in (school.by_students(semester, weeks), school.by_sessions(semester, weeks)):
        assert result.records == true
        assert result.disagreeing == []
        assert not any(account.failed or account.bad for account in result.accounts.values())


def test_whom_classes_alone_list_and_who_shows_nothing_is_in_the_sessions() -> None:
    school = School(v1_unknown_student="empty")
    left = school.leave()
    semester = school.semester()
    listed = replace(semester, askable=semester.askable | {left}, unlisted=frozenset({left}))
    true = school.true_records()
    assert left in {row["student_id"] for row in true.values()}
    assert school.by_students(listed).records == true
    assert school.by_sessions(listed).disagreeing == []


def test_both_routes_have_the_same_sessions(school: School, semester: Semester, by_sessions: Found) -> None:
    by_students = school.by_students(semester)
    assert by_students.records == by_sessions.records == school.true_records()
    plain = [
        {key: (row["scheduled"], row["week"], row["semester_id"]) for key, row in result.sessions.items()}
        for result in (by_students, by_sessions)
    ]
    assert plain[0] == plain[1]
    assert {row["attendance_rate"] for row in by_students.sessions.values()} == {None}
    assert None not in {row["attendance_rate"] for row in by_sessions.sessions.values()}


def marked(result: Found) -> set[Session]:
    """The sessions that have records."""
    return {Session(row["class_id"], row["checked_at"], row["lesson"]) for row in result.records.values()}


def test_the_requests_are_known_beforehand(school: School, semester: Semester, by_sessions: Found) -> None:
    weeks = school.weeks(semester)
    possible_sessions = semester.possible(weeks)
    moved = by_sessions.sessions.keys() - possible_sessions
    cross_check_students = semester.cross_check_students(possible_sessions)
    # That nobody has marked a session is asked for twice.
    unmarked = (possible_sessions | moved) - marked(by_sessions)
    assert by_sessions.requests == len(possible_sessions) + len(moved) + len(cross_check_students) + len(
        unmarked
    )
    assert len(cross_check_students) < len(semester.students) / 2
    compared = sorted(possible_sessions)[:3]
    result = school.by_students(semester, weeks, compared)
    assert result.requests == len(semester.students) + len(compared)
    assert [check.name for check in result.checks if "both routes" in check.name] != []


def test_a_lesson_that_was_moved_is_found_by_those_who_were_there(
    school: School, semester: Semester, by_sessions: Found
) -> None:
    moved = [key for key, row in by_sessions.sessions.items() if not row["scheduled"]]
    assert moved and {key.class_id for key in moved} < {times.class_id for times in semester.classes}
    blind = school.by_sessions(semester, cross_check_students=False)
    assert by_sessions.sessions.keys() - blind.sessions.keys() == set(moved)


def test_classes_meet_as_their_weeks_and_times_say(semester: Semester, by_sessions: Found) -> None:
    recorded = {
        Session(row["class_id"], row["checked_at"], row["lesson"]) for row in by_sessions.records.values()
    }
    scheduled = {session for number in range(1, 14) for session in semester.scheduled(number)}
    beyond = {key for key, row in by_sessions.sessions.items() if not row["scheduled"]}
    assert recorded - scheduled == beyond
    parities = {
        times.class_id: {
            semester.calendar.week_of(s.day) % 2 for s in recorded if s.class_id == times.class_id
        }
        for times in semester.classes
    }
    types = {times.class_id: times.week_type for times in semester.classes}
    assert {types[key]: week_parities for key, week_parities in parities.items() if types[key]} == {
        1: {1},
        2: {0},
    }
    timeless = [times.class_id for times in semester.classes if not times.meetings]
    assert timeless and not any(session.class_id in timeless for session in scheduled | recorded)


def test_a_session_that_nobody_marked_has_a_row_and_no_record(
    school: School, semester: Semester, by_sessions: Found
) -> None:
    marked = {
        Session(row["class_id"], row["checked_at"], row["lesson"]) for row in by_sessions.records.values()
    }
    unmarked = by_sessions.sessions.keys() - marked
    assert len(unmarked) > 5
    assert any(session.day == TODAY for session in unmarked), "whose roll is not due yet"
    for session in unmarked:
        row = by_sessions.sessions[session]
        assert row["scheduled"] and session.day <= TODAY
        assert (row["normal"], row["late"], row["absent"]) == (0, 0, 0)
    # Nobody is made absent by it.
    assert Counter(row["status"] for row in by_sessions.records.values())["absent"] == sum(
        row["absent"] for row in by_sessions.sessions.values()
    ) - sum(row["status"] == "absent_from_duty" for row in by_sessions.records.values())


def test_a_refusal_is_no_record_where_other_sessions_are_shown(by_sessions: Found) -> None:
    school = School(unrecorded="422")
    semester = school.semester()
    result = school.by_sessions(semester)
    unmarked = by_sessions.sessions.keys() - marked(by_sessions)
    assert result.sessions.keys() == by_sessions.sessions.keys()
    assert {result.sessions[session]["attendance_rate"] for session in unmarked} == {None}
    # Those that may have been by some reading of the schedules are among them.
    assert semester.refusals.unrecorded >= unmarked
    assert not any(account.failed for account in result.accounts.values())


def test_a_week_that_nobody_recorded_is_told_by_sessions_of_other_weeks() -> None:
    school = School(unrecorded="422")
    semester = school.semester()
    week = school.weeks(semester)[-1]
    for session in marked(school.by_sessions(semester, [week])):
        for row in school.store.rows("attendance_sessions", session.class_id):
            if row.values["date"] == session.day.isoformat():
                school.store.delete("attendance_sessions", row.key)
    result = school.by_sessions(replace(semester, refusals=Refusals()), [week])
    assert result.sessions and not result.records
    assert not any(account.failed for account in result.accounts.values())


def test_a_question_that_is_refused_for_every_session_is_a_failure() -> None:
    school = School()
    school.faults.faults.append(Fault(kind="status", path="/api/v1/classes/*/attendances", status=422))
    semester = school.semester()
    result = school.by_sessions(semester, school.weeks(semester)[-1:])
    assert not result.sessions and not semester.refusals.unrecorded
    assert any(account.failed for account in result.accounts.values())


def test_who_has_left_is_in_the_sessions_alone() -> None:
    other = School()
    left = other.leave()
    semester = other.semester()
    assert left in semester.members and left not in semester.askable
    result = other.by_students(semester, [3])
    uncovered = semester.attended([left], semester.possible([3]))
    unmarked = uncovered - marked(result)
    assert result.requests == len(semester.students) + len(uncovered) + len(unmarked)
    own = [row for row in result.records.values() if row["student_id"] == left]
    assert own == [
        row
        for row in other.true_records().values()
        if row["student_id"] == left and semester.calendar.week_of(row["checked_at"]) == 3
    ]
    # One of whom we learn only by asking, too.
    unaware = replace(semester, askable=semester.askable | {left})
    assert other.by_students(unaware, [3]).records == result.records


def test_records_of_another_semester_are_left_out(school: School, semester: Semester) -> None:
    """As of a platform that heeds no semester_id."""
    last = semester.calendar.first + dt.timedelta(days=20)
    after = (last + dt.timedelta(days=1), semester.calendar.last)
    third = replace(semester, calendar=replace(semester.calendar, last=last), others=[after])
    own = {key: row for key, row in school.true_records().items() if row["checked_at"] <= last}
    assert school.by_students(third).records == school.by_sessions(third).records == own
    student = third.students[0]

    async def ask(client: Client) -> Gathered:
        reader = Reader(client, SCHOOL, RECORDS.scopes)
        return await drive_readings(reader, ask_student(reader, third, student))

    result = school.run(ask)
    strangers = sum(row["student_id"] == student for row in school.true_records().values()) - len(result.rows)
    assert result.drift[Drift("ignored_parameter", "semester_id")] == strangers > 0


def test_who_is_in_no_list_is_found_by_a_session_of_his_class(school: School, semester: Semester) -> None:
    stranger = semester.students[0]
    unaware = replace(
        semester, members={student: own for student, own in semester.members.items() if student != stranger}
    )
    marked = school.by_students(semester, [3]).records.values()
    compared = {row["class_id"]: Session(row["class_id"], row["checked_at"], row["lesson"]) for row in marked}
    whole = school.by_students(semester, [3], compared.values())
    assert stranger in {row["student_id"] for row in whole.records.values()}
    result = school.by_students(unaware, [3], compared.values())
    assert (result.records, result.sessions.keys()) == (whole.records, whole.sessions.keys())


def test_the_word_now_is_today_and_never_sent(school: School) -> None:
    async def details() -> list[Any]:
        transport = httpx.ASGITransport(school.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://platform") as session:
            credentials = {"client_id": "demo-client", "client_secret": "demo-secret"}
            body = {"grant_type": "client_credentials", "scope": "school.101", **credentials}
            token = (await session.post("/api/v3/oauth/tokens", json=body)).json()["access_token"]
            headers = {"authorization": f"Bearer {token}", "x-school-id": str(SCHOOL)}
            path = f"/api/v1/classes/{today.class_id}/attendances"
            days = [{"date": day, "lesson": today.lesson} for day in ("now", TODAY.isoformat())]
            answers = [await session.get(path, params=day, headers=headers) for day in days]
            log = (await session.get("/_simulator/log")).json()
            return [*(answer.json() for answer in answers), log]

    semester = school.semester()
    result = school.by_sessions(semester, [semester.calendar.week_of(TODAY)])
    today = next(
        Session(r["class_id"], r["checked_at"], r["lesson"])
        for r in result.records.values()
        if r["checked_at"] == TODAY
    )
    now, dated, log = asyncio.run(details())
    assert now == dated and {record["id"] for record in now["list"]} <= result.records.keys()
    sent = [entry["query"]["date"] for entry in log if "date" in entry["query"]]
    assert len(sent) > 100 and sent.count("now") == 1, "our own question above"


@pytest.mark.parametrize("rule", ["start", "next_monday", "sunday"])
def test_weeks_that_begin_elsewhere_lose_nothing(rule: str) -> None:
    """Biweekly classes are asked for in the other weeks as well, as long as nobody knows which are odd."""
    school = School(week_start=rule, today=dt.date(2024, 11, 15))
    semester = school.semester(weeks_begin="monday", other_rules=("first_day", "next_monday", "sunday"))
    assert semester.calendar.first == dt.date(2024, 9, 1), "a Sunday"
    true = school.true_records()
    times = {class_times.class_id: class_times.meetings for class_times in semester.classes}
    at_their_times = {
        key
        for key, row in true.items()
        if Meeting(row["checked_at"].isoweekday(), row["lesson"]) in times[row["class_id"]]
    }
    assert 0 < len(at_their_times) < len(true), "some lessons were moved, and those that were there show them"
    assert school.by_sessions(semester, cross_check_students=False).records.keys() >= at_their_times
    assert school.by_sessions(semester).records == school.by_students(semester).records == true


def test_a_class_in_session_outside_its_weeks_is_asked_for_in_all_of_them() -> None:
    school = School(v1_class_weeks="unbounded")
    semester = school.semester()
    weeks = school.weeks(semester)
    # Nobody is asked beside the sessions, but one of them shows that the weeks of a class say nothing.
    [seen, *others] = [
        Session(row["class_id"], row["checked_at"], row["lesson"])
        for row in school.true_records().values()
        if semester.calendar.week_of(row["checked_at"]) == weeks[-1]
    ]
    class_id = seen.class_id
    before = {session for session in semester.possible(weeks) if session.class_id == class_id}
    knowing = semester.with_attended([seen])
    after = {session for session in knowing.possible(weeks) if session.class_id == class_id}
    assert before < after and {session for session in others if session.class_id == class_id} <= after
    assert {session for n in weeks for session in knowing.scheduled(n)} == {
        session for n in weeks for session in semester.scheduled(n)
    }, "what is expected goes by the weeks still"


def test_the_literal_week_condition_schedules_nothing_but_loses_nothing(school: School) -> None:
    literal = school.semester(week_condition="as_specified")
    assert not any(literal.scheduled(number) for number in range(2, 13))
    result = school.by_students(literal)
    assert result.records == school.true_records()
    assert not any(row["scheduled"] for row in result.sessions.values() if row["week"] in range(2, 13))


def test_a_record_that_breaks_its_contract_is_set_aside_by_either_route() -> None:
    school = School()
    semester = school.semester()
    [first, *others] = [
        row for row in school.true_records().values() if semester.calendar.week_of(row["checked_at"]) == 3
    ]
    school.store.update("attendance_records", first["id"], {"id": "two"})
    for read in (school.by_students, school.by_sessions):
        result = read(semester, [2, 3])
        [bad] = result.accounts[3].bad
        assert bad.key is None and "id" in bad.reason
        assert not result.accounts[2].bad
        assert [result.records.get(row["id"]) for row in others] == others
        assert first["id"] not in result.records


def test_a_session_with_a_broken_record_is_not_compared_with_its_statistics() -> None:
    school = School()
    semester = school.semester()
    row = next(
        row for row in school.true_records().values() if semester.calendar.week_of(row["checked_at"]) == 3
    )
    school.store.update("attendance_records", row["id"], {"id": "two"})
    session = Session(row["class_id"], row["checked_at"], row["lesson"])
    for result in (school.by_students(semester, [3], [session]), school.by_sessions(semester, [3])):
        assert result.disagreeing == []


def test_a_student_beside_the_sessions_who_fails_is_told() -> None:
    school = School()
    semester = school.semester()
    witness = semester.cross_check_students(semester.possible([3]))[0]
    school.faults.faults.append(Fault(kind="status", path=f"/api/v1/students/{witness}/attendances"))
    assert list(school.by_sessions(semester, [3]).accounts[3].failed) == [witness]


def test_statistics_that_are_not_those_of_the_records_are_told() -> None:
    school = School()
    semester = school.semester()
    session = school.store.rows("attendance_sessions", semester.classes[0].class_id)[0]
    wrong = {"attendance_rate": 50, "normal": 1, "late": 0, "absent": 1}
    school.store.update("attendance_sessions", session.key, {"statistics": wrong})
    number = semester.calendar.week_of(dt.date.fromisoformat(session.values["date"]))
    result = school.by_sessions(semester, [number])
    whole, counts, session_check = result.disagreeing
    assert whole.expected - whole.actual == 1
    assert (session_check.expected, session_check.actual) == (2, counts.actual - counts.expected + 2)
    key = Session(
        session.values["class_id"], dt.date.fromisoformat(session.values["date"]), session.values["lesson"]
    )
    assert result.sessions[key]["normal"] == 1, "as sent"


def test_what_is_marked_late_is_there_when_it_is_read_again() -> None:
    school = School()
    before = school.by_sessions(school.semester(), [13])
    school.store.let_days_pass(9)
    after = school.by_sessions(school.semester(), [13])
    assert after.records.keys() > before.records.keys()
    assert after.sessions.keys() == before.sessions.keys()
    late = [after.records[key] for key in after.records.keys() - before.records.keys()]
    assert all(row["created_date"] > TODAY >= row["checked_at"] for row in late)


def test_a_part_leaves_the_rows_of_others_and_of_other_classes_alone(
    school: School, semester: Semester, by_sessions: Found
) -> None:
    """Sessions of the part's classes add up to the records of all, whoever of them was asked for."""
    students = frozenset(semester.students[:2])
    other_rows = [row for row in by_sessions.records.values() if row["student_id"] not in students]
    statuses: dict[Session, Counter[str | None]] = {}
    for row in other_rows:
        session = Session(row["class_id"], row["checked_at"], row["lesson"])
        statuses.setdefault(session, Counter())[row["status"]] += 1
    result = school.by_students(semester, subset=StudentSubset(students, statuses, frozenset()))
    own = {key for key, row in by_sessions.records.items() if row["student_id"] in students}
    assert result.records.keys() == own
    classes = {by_sessions.records[key]["class_id"] for key in own}
    assert {session.class_id for session in result.sessions} == classes
    assert result.sessions.keys() == {
        session_key for session_key in by_sessions.sessions if session_key.class_id in classes
    }
    assert result.requests == len(students)


@pytest.mark.parametrize(
    ("due", "doubtful", "whole", "is_whole"),
    [
        (0, 3, 100, False),
        (0, 100, 100, True),
        (60, 30, 100, False),
        (60, 40, 100, True),
        # So small a school that its window takes more requests than all of it.
        (60, 20, 30, False),
        (60, 30, 30, True),
    ],
)
def test_no_more_is_asked_than_a_whole_reading(due: int, doubtful: int, whole: int, is_whole: bool) -> None:
    assert is_whole_cheaper(due, doubtful, whole) is is_whole


def test_only_sessions_from_a_day_on_are_asked_for(school: School, semester: Semester) -> None:
    since = TODAY - dt.timedelta(days=9)
    whole = school.by_sessions(semester, [12])
    result = school.by_sessions(semester, [12], since)
    assert result.records == {key: row for key, row in whole.records.items() if row["checked_at"] >= since}
    assert 0 < len(result.records) < len(whole.records)
