"""How old data are: by the oldest of the last good loads, whatever was tried since."""

from datetime import datetime, timedelta
from typing import Any

from warehouse.age import Age, age_of, with_semesters

NIGHT = datetime(2026, 3, 2, 2)
MORNING, AFTERNOON = NIGHT + timedelta(hours=6), NIGHT + timedelta(hours=13)


def slice_(
    resource: str, good: datetime | None, *, tried: datetime | None = None, **said: Any
) -> dict[str, Any]:
    """A slice that was loaded at one time, and tried without success at another."""
    ended = tried or good
    status = "failed" if tried else "ok"
    requests = None if tried else 1
    row = {"resource": resource, "slice": "1", "status": status, "requests": requests}
    return {**row, "finished_at": ended, "complete_at": good, **said}


def test_it_is_the_oldest_of_the_last_good_loads() -> None:
    assert age_of([slice_("students", MORNING), slice_("scores", NIGHT)]) == Age(NIGHT, {})
    assert age_of([]) == Age(None, {})


def test_what_was_tried_and_failed_makes_nothing_younger_and_is_told() -> None:
    rows = [slice_("students", NIGHT, tried=AFTERNOON), slice_("scores", AFTERNOON)]
    assert age_of(rows) == Age(NIGHT, {"students": AFTERNOON}, frozenset({"students"}))
    # Nor does what was never loaded.
    assert age_of([slice_("students", None, tried=MORNING)]).as_of is None


def test_what_was_never_loaded_whole_is_not_older() -> None:
    never = slice_("grades", None, tried=MORNING, slice="1:21")
    loaded = slice_("grades", NIGHT, slice="1:20")
    broken = slice_("grades", NIGHT, tried=MORNING, slice="1:20")
    tried = {"grades": MORNING}
    assert age_of([never]) == Age(None, tried, never={"grades": ()})
    assert age_of([never, loaded]) == Age(NIGHT, tried, never={"grades": ("21",)})
    assert age_of([never, broken]) == Age(NIGHT, tried, frozenset({"grades"}), {"grades": ("21",)})


def test_the_semesters_that_were_never_loaded_whole_are_named() -> None:
    weeks = [slice_("attendance_records", None, tried=MORNING, slice=f"1:21:{week}") for week in (5, 6)]
    segment = slice_("datasets.marks", None, tried=MORNING, slice="1:3")
    good = [slice_("attendance_records", NIGHT, slice="1:20:5"), slice_("datasets.marks", NIGHT, slice="1:2")]
    never = age_of([*weeks, segment, *good, slice_("students", None, tried=MORNING)]).never
    assert with_semesters(never) == ["attendance_records (semester 21)", "datasets.marks", "students"]


def test_a_load_without_a_request_is_no_load() -> None:
    along = slice_("items", NIGHT, requests=0)
    assert age_of([along, slice_("assessments", MORNING)]) == Age(MORNING, {})
    # But of what is never asked for by itself it is all that is known.
    assert age_of([along]) == Age(NIGHT, {})


def test_weeks_that_are_settled_do_not_make_the_data_old() -> None:
    settled = slice_("attendance_records", NIGHT - timedelta(days=1), slice="1:2:5")
    due = slice_("attendance_records", NIGHT, slice="1:2:6")
    again = slice_("attendance_records", AFTERNOON, slice="1:2:7")
    assert age_of([settled, due, again]) == Age(NIGHT, {}), "a week read again at noon leaves the others"
    over_midnight = slice_("attendance_records", NIGHT - timedelta(hours=3), slice="1:2:5")
    assert age_of([over_midnight, due]).as_of == NIGHT - timedelta(hours=3)


def test_what_is_gone_from_the_platform_has_no_age() -> None:
    assert age_of([slice_("scores", NIGHT, status="retired"), slice_("students", MORNING)]).as_of == MORNING
