"""Which weeks of attendance a night asks for, by what the load log says of them."""

from datetime import date
from pathlib import Path

from campus.attendance.calendar import Calendar
from campus.registry import ATTENDANCE
from loading.attendance.weeks import AttendanceSettings, Timeline, due_weeks
from loading.semesters import semesters_of
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import RETIRED
from warehouse.load.logs.load_log import now, record_load, slice_statuses

SCHOOL, SEMESTER = 101, 20
TODAY = date(2025, 5, 16)  # a Friday of week 13
SEMESTERS = semesters_of(SCHOOL, [], [], {})
TIMELINE = Timeline(SEMESTERS, {SEMESTER: Calendar(SEMESTER, date(2025, 2, 17), date(2025, 6, 29))}, TODAY)


def log(lake: Lake, week: int, status: str = "ok") -> None:
    """Say that a week was loaded, or retired, whole and just now."""
    for spec in ATTENDANCE:
        entry = {"sync_id": "night", "started_at": now(), "status": status, "complete": True}
        record_load(lake, TABLES[spec.name], slice_of(spec, SCHOOL, SEMESTER, week), entry)


def due(lake: Lake) -> dict[int, date | None]:
    since_by_week = due_weeks(lake, TIMELINE, slice_statuses(lake, SCHOOL), AttendanceSettings())
    return {week: since for (_, week), since in since_by_week.items()}


def test_a_week_that_comes_back_after_it_was_retired_is_as_good_as_new(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.ensure([TABLES[spec.name] for spec in ATTENDANCE])
    assert due(lake) == dict.fromkeys(range(1, 14))
    for week in range(1, 14):
        log(lake, week)
    window = dict.fromkeys((11, 12, 13), date(2025, 5, 2))
    assert due(lake) == window
    log(lake, 5, RETIRED)
    assert due(lake) == {5: None, **window}
    log(lake, 5)
    assert due(lake) == window
