"""Teaching weeks that begin where the platform says: found out by a sync, told, the same in the models."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, datetime
from typing import Any
from unittest.mock import patch

import dagster as dg
import duckdb
import pytest

from campus.attendance.calendar import week_1_on
from loading.attendance.weeks import timeline_of
from pipelines.cli.doctor import run_doctor
from pipelines.platform import attendance_settings
from pipelines.settings.options import AttendanceOptions
from tests.kits.worlds.world import EARLY, World

SCHOOL, SEMESTER = 101, 10101
# A Friday of the semester that begins on Sunday, 2024-09-01: week 12 by calendar weeks, 11 by other rules.
TODAY = date(2024, 11, 15)
ATTENDED = " or ".join(
    (
        'group:"v1"',
        'group:"attendance"',
        *(f'key:"raw/{name}"' for name in ("students", "classes", "class_members")),
    )
)


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Our clock shows the platform's date."""
    with ExitStack() as stack:
        for place in (
            "loading.discovery.schools",
            "loading.attendance.weeks",
            "pipelines.cli.doctor.schools",
        ):
            stack.enter_context(patch(f"{place}.now", lambda: datetime(2024, 11, 15, 20)))
        yield


def with_rule(world: World, **attendance: Any) -> None:
    options = world.settings.options.model_copy(update={"attendance": AttendanceOptions(**attendance)})
    world.settings = world.settings.model_copy(update={"options": options})


def notes(result: dg.ExecuteInProcessResult) -> str:
    """What a discovery told the operator."""
    entries = [
        event.step_materialization_data.materialization.metadata.get("notes")
        for event in result.all_events
        if event.is_step_materialization
    ]
    return "\n".join(str(entry.value) for entry in entries if entry)


def true_records(world: World) -> set[int]:
    classes = {entry["key"] for entry in world.platform.rows("classes", SCHOOL) if not entry["trashed"]}
    return {
        entry["key"]
        for entry in world.platform.rows("attendance_records", SCHOOL)
        if not entry["trashed"] and entry["row"]["class_id"] in classes
    }


@pytest.fixture(scope="module")
def school(make_world: Callable[..., World]) -> World:
    return make_world("small", today=TODAY, week_start="start")


def test_the_rule_is_found_out_told_once_and_the_same_in_the_models(school: World) -> None:
    assert "teaching weeks begin by the rule 'first_day'" in notes(school.discover())
    assert "teaching weeks" not in notes(school.discover())
    assert school.load(select=ATTENDED).problems == []
    assert {row["id"] for row in school.held("attendance_records")} == true_records(school)
    first = week_1_on("first_day", date(2024, 9, 1))
    for row in school.held("attendance_records"):
        assert row["_week"] == (row["checked_at"] - first).days // 7 + 1
    assert school.publish().problem is None
    with duckdb.connect(str(school.settings.published), read_only=True) as connection:
        semester = connection.execute("select week_1_on, weeks_begin, weeks_known_by from core.dim_semester")
        assert semester.fetchall() == [(first, "first_day", "current_week")]
        records = connection.execute(
            "select count(*) from core.fct_attendance where week <> (date - date '2024-09-01') // 7 + 1"
        )
        assert records.fetchall() == [(0,)]


def test_days_that_count_from_sunday_are_the_same_weekdays(make_world: Callable[..., World]) -> None:
    world = make_world("small", today=TODAY, v1_days="sunday")
    world.discover()
    assert world.load(select='group:"v1"').problems == []
    world.discover()
    assert world.load(select=ATTENDED).problems == []
    assert {row["id"] for row in world.held("attendance_records")} == true_records(world)
    recorded = [row for row in world.held("attendance_sessions") if row["normal"] or row["late"]]
    assert all(row["date"].isoweekday() <= 5 for row in world.held("attendance_sessions") if row["scheduled"])
    assert sum(not row["scheduled"] for row in recorded) * 5 <= len(recorded)


def test_a_setting_that_disagrees_is_told_and_loses_nothing(
    school: World, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {row["id"] for row in school.held("attendance_records")}
    with_rule(school, weeks_begin="monday")
    message = notes(school.discover())
    assert "teaching weeks are counted by the rule 'monday' (setting)" in message
    assert "set attendance.weeks_begin in campus.yaml to auto" in message
    assert run_doctor(school.settings) == 1
    shown = capsys.readouterr().out
    assert "counted by the rule 'monday' (setting)" in shown and "fits first_day" in shown
    assert school.load(select=ATTENDED).problems == []
    assert {row["id"] for row in school.held("attendance_records")} == before
    with_rule(school)
    assert run_doctor(school.settings) == 0
    assert "teaching weeks begin by the rule 'first_day' (current_week" in capsys.readouterr().out
    assert school.load(select=ATTENDED).problems == []
    assert {row["id"] for row in school.held("attendance_records")} == before


def test_what_a_sunday_shows_is_remembered_on_monday(make_world: Callable[..., World]) -> None:
    world = make_world("small", today=TODAY, week_start="next_monday")
    world.discover()
    timeline = timeline_of(world.lake, SCHOOL, attendance_settings(world.settings))
    assert timeline.calendars[SEMESTER].other_rules == ("next_monday", "sunday"), "they differ on Sundays"
    for days, day in ((2, 17), (1, 18)):
        world.platform.let_days_pass(days)
        with patch("loading.discovery.schools.now", lambda day=day: datetime(2024, 11, day, 20)):
            world.discover()
        timeline = timeline_of(world.lake, SCHOOL, attendance_settings(world.settings))
        calendar = timeline.calendars[SEMESTER]
        assert (calendar.weeks_begin, calendar.other_rules) == ("next_monday", ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "readings",
    [
        {"v1_class_weeks": "unbounded", "v1_is_current": "present", "v1_current_week": "clamped"},
        {"v1_class_weeks": "as_specified", "v1_lesson_days": "fewer"},
    ],
    ids=lambda options: " ".join(options.values()),
)
def test_no_reading_of_weeks_loses_attendance(
    make_world: Callable[..., World], readings: dict[str, str]
) -> None:
    world = make_world("two_semesters", today=EARLY, **readings)
    assert world.load(select=ATTENDED).problems == []
    assert {row["id"] for row in world.held("attendance_records")} == true_records(world)
    assert world.publish().problem is None
