"""Attendance in the lake: week by week what the platform has, found again when it is marked late."""

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from unittest.mock import patch

import dagster as dg
import pytest

from assets.loads import ATTENDANCE
from assets.shared.load_kind import asset_key
from assets.shared.partitions import ATTENDANCE_WEEKS
from campus.attendance.plan import SAMPLED_SESSIONS
from campus.registry import ATTENDANCE as ATTENDANCE_RESOURCES
from loading.attendance import loader as attendance_loading
from loading.partition_keys import week_key
from pipelines.definitions import load_definitions
from pipelines.resources import open_runtime
from pipelines.runs.partition_selection import RANGE_END, RANGE_START
from pipelines.settings.options import AttendanceOptions
from tests.kits.truth.attendance_truth import RECORDS, SCHOOL, held, truth
from tests.kits.worlds.clock import clock_at
from tests.kits.worlds.night_ticks import carry_out, tick
from tests.kits.worlds.world import Load, World

TODAY = date(2025, 5, 16)  # the simulator's, a Friday of week 13
FIRST = date(2025, 2, 17)  # a Monday
SEMESTER = 10101
WEEKS = 20
# Of a school with two semesters.
PAST, CURRENT = 10101, 10102
# What attendance is asked with, and attendance itself.
CLASSES = " or ".join(
    f'key:"raw/{name}"'
    for name in (
        "students",
        "classes",
        "class_members",
        "user_fields",
        "v1_users",
        "v1_semesters",
        "v1_classes",
        "v1_class_students",
        "timetable_days",
    )
)
ALONE = 'group:"attendance"'


@pytest.fixture(scope="module")
def school(make_world: Callable[..., World]) -> World:
    """A school whose attendance has been loaded once. What a test changes, the next one finds changed."""
    world = make_world("small", students=16)
    left = world.platform.rows("students", SCHOOL)[0]["key"]
    world.platform.delete("reflections", left)
    assert world.load("first", select=f"{CLASSES} or {ALONE}").problems == []
    return world


def asked(world: World) -> tuple[list[int], list[date], set[tuple[str, str, str]]]:
    """Which students, the sessions of which days, and which sessions the platform has been asked for: those
    once among the last that were asked for again because nobody has marked them."""
    log = [entry for entry in world.platform.log() if entry["path"].endswith("/attendances")]
    students = [int(entry["path"].split("/")[4]) for entry in log if "/students/" in entry["path"]]
    classes = [(entry["path"], entry["query"]) for entry in log if "/classes/" in entry["path"]]
    days = [date.fromisoformat(query["date"]) for _, query in classes]
    return students, days, {(path, query["date"], query["lesson"]) for path, query in classes}


def sync(world: World, **options: Any) -> Load:
    """Load attendance alone, as a sync would, and see what is asked for."""
    world.platform.clear_log()
    return world.load(select=ALONE, **options)


def backfill(world: World, first: int, last: int) -> dg.ExecuteInProcessResult:
    """Load some weeks as somebody does who chooses them in the UI."""
    world.platform.clear_log()
    keys = [week_key(SCHOOL, SEMESTER, week) for week in (first, last)]
    with open_runtime(world.settings) as runtime:
        job = load_definitions(world.settings, runtime).resolve_job_def(ATTENDANCE)
        tags = dict(zip((RANGE_START, RANGE_END), keys, strict=True))
        return job.execute_in_process(instance=world.instance, tags=tags, raise_on_error=False)


def metadata(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """What was told of each week of records."""
    materializations = [
        event.step_materialization_data.materialization
        for event in result.all_events
        if event.is_step_materialization
    ]
    return {
        materialization.partition or "": {
            name: entry.value for name, entry in materialization.metadata.items()
        }
        for materialization in materializations
        if materialization.asset_key == asset_key(RECORDS)
    }


def test_the_first_load_is_what_the_platform_has(school: World) -> None:
    assert held(school) == truth(school)
    assert {row["_week"] for row in school.held(RECORDS)} == set(range(1, 14))
    left = {entry["key"] for entry in school.platform.rows("reflections", SCHOOL) if entry["trashed"]}
    assert left & {row["student_id"] for row in school.held(RECORDS)}
    # Of the platform, whose clock is not ours.
    days = {row["platform_day"] for row in school.log("load_log") if row["resource"] == RECORDS}
    assert days == {TODAY}


def test_its_requests_are_those_of_the_cheaper_route(school: World) -> None:
    students, days, sessions_asked = asked(school)
    log = [row for row in school.log("load_log") if row["resource"] == RECORDS]
    assert sum(row["requests"] for row in log) == len(students) + len(days)
    sessions = [row for row in school.held("attendance_sessions") if row["scheduled"]]
    assert len(students) == len(set(students))
    assert len(students) + len(sessions_asked) < len(sessions)


def test_weeks_are_partitions_also_those_to_come(school: World) -> None:
    keys = school.instance.get_dynamic_partitions(ATTENDANCE_WEEKS.name or "")
    assert list(keys) == [week_key(SCHOOL, SEMESTER, week) for week in range(1, WEEKS + 1)]
    for spec in ATTENDANCE_RESOURCES:
        loaded = school.instance.get_materialized_partitions(asset_key(spec.name))
        assert loaded == set(keys[:13])


def test_the_routes_and_the_statistics_are_reconciled(school: World) -> None:
    rows = [row for row in school.log("stated_counts") if row["resource"].startswith("attendance")]
    assert {row["measure"] for row in rows} == {
        "sampled records that both routes show alike",
        "sessions whose statistics agree with their records",
        "students that the statistics of sessions count",
    }
    assert all(row["agrees"] for row in rows)
    assert sum(row["actual"] for row in rows if row["resource"] == RECORDS) > 0


def test_a_later_sync_asks_for_the_window_alone_and_changes_nothing(school: World) -> None:
    records = held(school)
    first = sync(school)
    assert first.problems == [] and held(school) == records
    # By students no statistics come; from now on the window has them.
    window = TODAY - timedelta(days=14)
    inside = [row for row in school.held("attendance_sessions") if row["date"] >= window]
    assert None not in {row["attendance_rate"] for row in inside}

    before = school.versions()
    assert sync(school).problems == []
    assert school.versions() == before
    students, days, sessions_asked = asked(school)
    assert min(days) >= window and max(days) == TODAY
    unmarked_today = len(sessions_asked) - len(inside)
    assert 0 <= unmarked_today < 6
    # The students who show what no schedule has: far fewer than there are.
    assert 0 < len(students) < 6


def test_a_wider_window_is_a_setting(school: World) -> None:
    options = school.settings.options.model_copy(update={"attendance": AttendanceOptions(window_days=0)})
    assert sync(school, options=options).problems == []
    _, days, _ = asked(school)
    assert set(days) == {TODAY}


def test_late_marks_within_the_window_are_found_and_older_ones_by_a_full_load(school: World) -> None:
    rows = truth(school).values()
    young = next(row["id"] for row in rows if timedelta(8) < TODAY - row["checked_at"] <= timedelta(14))
    old = next(row["id"] for row in rows if row["checked_at"] < TODAY - timedelta(days=30))
    for key in (young, old):
        school.platform.update(RECORDS, key, status="lated", created_date=TODAY.isoformat())
    assert sync(school).problems == []
    assert held(school)[young] == truth(school)[young]
    assert held(school)[old] != truth(school)[old]
    assert sync(school, full=True).problems == []
    assert held(school) == truth(school)


def test_a_week_is_loaded_from_the_ui(school: World) -> None:
    [key, other] = [
        next(row["id"] for row in truth(school).values() if row["checked_at"] == FIRST + timedelta(days))
        for days in (7, 14)
    ]
    for record_id in (key, other):
        school.platform.update(RECORDS, record_id, status="early_left")
    result = backfill(school, 2, 2)
    assert result.success
    [(partition, values)] = metadata(result).items()
    assert partition == week_key(SCHOOL, SEMESTER, 2)
    assert values["status"] == "ok" and values["changed"] == 1 and "requests by" in values["route"]
    assert values["dagster/partition_row_count"] == values["received"] > 0
    assert values["cursor"] == str(TODAY)
    assert held(school)[key]["status"] == "early_left" != held(school)[other]["status"]
    assert backfill(school, 1, 4).success
    assert held(school) == truth(school)


def test_a_week_to_come_has_nothing_to_ask_for(school: World) -> None:
    result = backfill(school, 15, 16)
    assert result.success
    assert metadata(result) == {}
    assert asked(school) == ([], [], set())


def test_new_sessions_and_late_marks_come_with_the_days(school: World) -> None:
    unmarked = len(held(school))
    school.platform.let_days_pass(5)
    assert school.load(select=f"{CLASSES} or {ALONE}").problems == []
    assert len(held(school)) > unmarked
    assert held(school) == truth(school)
    assert max(row["date"] for row in school.held("attendance_sessions")) >= TODAY + timedelta(days=4)


def test_a_class_that_fails_keeps_its_rows(school: World) -> None:
    class_id = next(row["class_id"] for row in truth(school).values())
    path = f"/api/v1/classes/{class_id}/attendances"
    before = held(school)
    school.platform.set_faults({"kind": "status", "status": 403, "path": path})
    [problem] = sync(school).problems
    school.platform.set_faults()
    assert f"class {class_id}" in problem and RECORDS in problem
    assert held(school) == before
    assert sync(school).problems == []


def test_a_student_beside_the_sessions_who_fails_is_told(school: World) -> None:
    sync(school)
    student = asked(school)[0][0]
    path = f"/api/v1/students/{student}/attendances"
    school.platform.set_faults({"kind": "status", "status": 403, "path": path})
    [problem] = sync(school).problems
    school.platform.set_faults()
    assert f"student {student}" in problem
    # What he did not tell is asked for again.
    assert sync(school).problems == []


def test_a_run_that_is_cut_off_is_gone_on_with(school: World) -> None:
    commit, committed = attendance_loading.commit_slice, list[Any]()  # type: ignore[attr-defined]

    def cut_off(*arguments: Any, **keywords: Any) -> Any:
        if len(committed) == 6:
            raise MemoryError("the machine stops here")
        committed.append(commit(*arguments, **keywords))
        return committed[-1]

    with patch.object(attendance_loading, "commit_slice", cut_off):
        result = backfill(school, 1, 13)
    assert not result.success and len(committed) == 6
    with open_runtime(school.settings) as runtime:
        job = load_definitions(school.settings, runtime).resolve_job_def(ATTENDANCE)
        first, last = (week_key(SCHOOL, SEMESTER, week) for week in (1, 13))
        tags = {RANGE_START: first, RANGE_END: last}
        again = job.execute_in_process(
            instance=school.instance, tags=tags | {"dagster/root_run_id": result.run_id}
        )
    assert again.success
    skipped = [week for week, values in metadata(again).items() if "already" in values["status"]]
    assert skipped == [week_key(SCHOOL, SEMESTER, week) for week in (1, 2, 3)]
    assert held(school) == truth(school)


def test_records_that_vanish_stop_a_week_until_they_are_accepted(school: World) -> None:
    first, last = TODAY - timedelta(days=4), TODAY
    gone = [row["id"] for row in truth(school).values() if first <= row["checked_at"] <= last]
    for entry in school.platform.rows("attendance_sessions", SCHOOL):
        if first <= date.fromisoformat(entry["row"]["date"]) <= last:
            school.platform.destroy("attendance_sessions", entry["key"])
    [problem] = sync(school).problems
    assert "--accept-vanished" in problem and ":13" in problem
    assert gone[0] in held(school)
    assert sync(school, accept_vanished=True).problems == []
    assert held(school) == truth(school)
    tombstones = [row for row in school.held(RECORDS, alive=False) if row["_deleted_at"]]
    assert {row["id"] for row in tombstones} >= set(gone)


def test_the_weeks_of_a_semester_that_is_gone_are_retired(school: World) -> None:
    days = {"start_at": "2025-05-12", "end_at": "2025-05-18"}
    added = school.platform.insert("semesters", SCHOOL, name="短学期", is_current=False, **days)["key"]
    [problem] = sync(school).problems
    assert "the classes of the semester could not be loaded" in problem
    name = ATTENDANCE_WEEKS.name or ""
    assert week_key(SCHOOL, added, 1) in school.instance.get_dynamic_partitions(name)
    school.platform.destroy("semesters", added)
    assert sync(school, accept_vanished=True).problems == []
    assert len(school.instance.get_dynamic_partitions(name)) == WEEKS


def test_a_semester_whose_dates_move_is_filed_by_its_new_weeks(school: World) -> None:
    begins = (FIRST + timedelta(days=7)).isoformat()
    school.platform.update("semesters", SEMESTER, start_at=begins)
    assert school.load(select=f"{CLASSES} or {ALONE}").problems == []
    assert held(school) == truth(school)
    for name, day in ((RECORDS, "checked_at"), ("attendance_sessions", "date")):
        # The days before its beginning count as the first week.
        assert all(row["_week"] == max((row[day] - FIRST).days // 7, 1) for row in school.held(name))
    sync(school)
    students, days, _ = asked(school)
    assert len(students) < 6 and min(days) >= TODAY - timedelta(days=14)


@pytest.fixture(scope="module")
def two_semesters(make_world: Callable[..., World]) -> World:
    """A school of a past and a current semester, all of which was loaded on TODAY."""
    world = make_world("two_semesters", students=8)
    with clock_at(TODAY):
        assert world.load(select=f"{CLASSES} or {ALONE}").problems == []
    return world


def correct_late(world: World, status: str) -> dict[int, int]:
    """Correct a mark of the second week of each semester. Returns the record of each semester."""
    weeks = {(row["_semester_id"], row["_week"]): row["id"] for row in world.held(RECORDS)}
    corrected = {semester: weeks[semester, 2] for semester in (PAST, CURRENT)}
    for key in corrected.values():
        world.platform.update(RECORDS, key, status=status)
    return corrected


def arrived(world: World, corrected: dict[int, int]) -> set[int]:
    """The semesters whose corrected mark is in the lake."""
    return {semester for semester, key in corrected.items() if held(world)[key] == truth(world)[key]}


def read_whole(load: Load) -> dict[int, int]:
    """How many weeks of each semester a load read whole."""
    whole = [row["slice"] for row in load.log if row["resource"] == RECORDS and row["whole"]]
    return Counter(int(slice_.split(":")[1]) for slice_ in whole)


def test_late_corrections_arrive_within_the_promised_days(two_semesters: World) -> None:
    """Syncs read each semester whole within seven days, one a night, also where nights were missed."""
    world = two_semesters
    corrected = correct_late(world, "early_left")
    arrivals, requests, weeks = {}, {}, {}
    for day, since_last in ((5, 5), (6, 1), (7, 1)):
        today = date.fromisoformat(world.platform.let_days_pass(since_last))
        world.platform.clear_log()
        with clock_at(today):
            load = world.load(select=f"{CLASSES} or {ALONE}")
        assert load.problems == []
        arrivals[day], weeks[day] = arrived(world, corrected), read_whole(load)
        students, days, _ = asked(world)
        requests[day] = len(students) + len(days)
    assert arrivals == {5: set(), 6: {PAST}, 7: {PAST, CURRENT}}
    # Each week of the past semester once, and those in the window of the current semester every night.
    assert [weeks[day][PAST] for day in (5, 6, 7)] == [0, 22, 0]
    assert weeks[7][CURRENT] == 14 and max(weeks[5][CURRENT], weeks[6][CURRENT]) < 4
    # A request a student and the sample of sessions more than a quiet night, and no more.
    assert requests[6] <= requests[5] + 8 + SAMPLED_SESSIONS
    assert requests[7] <= requests[5] + 8 + SAMPLED_SESSIONS
    assert held(world) == truth(world)


def test_scheduled_nights_read_whole_by_the_same_ages(two_semesters: World) -> None:
    """Two weeks after the first load, the runs that the schedule's sensor requests do as the syncs did."""
    world = two_semesters
    corrected = correct_late(world, "absent")
    for days, semesters in ((6, {PAST}), (1, {PAST, CURRENT})):
        today = date.fromisoformat(world.platform.let_days_pass(days))
        with clock_at(today):
            assert world.discover().success
            [request] = tick(world.settings, world.instance).requests
            assert carry_out(world, request).success
        assert arrived(world, corrected) == semesters
    assert held(world) == truth(world)
