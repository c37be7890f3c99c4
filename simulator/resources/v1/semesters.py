"""The semesters of v1, with weeks and lessons."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Request, Response, json_response, parse_integer
from simulator.resources.v1.cohorts import cohort_year
from simulator.resources.v1.request_targets import live
from simulator.school.calendar import Term
from simulator.school.rows import KEYS, Row, Values, school_of
from simulator.school.timetable.weeks import LESSON_DAYS, LESSON_TIMES, shown_day, week_of
from simulator.store.store import Store, View
from simulator.wire.wire import Form, Shaper, Wire

LESSON_NAMES = ("早读", "第一节", "第二节", "第三节", "第四节", "第五节", "第六节", "第七节", "社团")
SCOPE = V1Scope("class.read", twin=("semester.read",))


def _semester(store: Store, row: Row) -> Values:
    school_id = school_of(row.key)
    term = store.term(row.key)
    start = row.values["start_at"]
    return {
        "id": row.key,
        "school_id": school_id,
        "name": _name(row.values["name"], store.readings.v1_semester_names),
        **_days(start, row.values["end_at"], store.readings.v1_semester_days),
        "lesson_schedules": list(LESSON_TIMES),
        "lesson_names": list(LESSON_NAMES) if school_id % 2 == 0 else [],
        "lesson_days": _lesson_days(store),
        "grade_maps": _grade_maps(store, school_id, term),
        "is_current": row.values["is_current"],
        "current_week": _current_week(store, term) if term else None,
        **({"outer_id": row.values["outer_id"]} if store.readings.v1_semester_outer_id == "present" else {}),
        "created_at": row.updated_at,
        "updated_at": row.updated_at,
    }


def _lesson_days(store: Store) -> list[int]:
    days = LESSON_DAYS if store.readings.v1_lesson_days == "all" else LESSON_DAYS[:-1]
    return [shown_day(day, store.readings.v1_days) for day in days]


def _name(name: Any, form: str) -> Any:
    """The name of a semester, or another way to write it."""
    if form == "same" or not isinstance(name, str):
        return name
    return f" {name.replace('上学期', '（第1学期）').replace('下学期', '（第二学期）').replace('-', '—')}"


def _days(start: Any, end: Any, form: str) -> Values:
    """The first and last day of a semester. With the reading `fewer`, days of preparation are left out."""
    first, last = _day(start), _day(end)
    if form == "absent":
        return {"start_at": None, "end_in": None}
    if form == "fewer" and isinstance(first, str) and isinstance(last, str):
        last = str(date.fromisoformat(last) - timedelta(days=2))
    return {"start_at": first, "end_in": last}


def _current_week(store: Store, term: Term) -> int | None:
    week = week_of(term.start, store.today, store.readings.week_start)
    if store.readings.v1_current_week == "clamped":
        return min(max(week, 1), week_of(term.start, term.end, store.readings.week_start))
    return None if store.readings.v1_current_week == "absent" and not term.current else week


def _grade_maps(store: Store, school_id: int, term: Term | None) -> dict[str, int]:
    """The cohort year of each grade in the semester's own academic year."""
    years_ago = store.last_year(school_id) - term.year if term else 0
    maps = {}
    for grade in store.rows("structures", school_id):
        year = cohort_year(store, school_id, grade.values.get("graduates_in_id"))
        if year is not None and isinstance(grade.values["name"], str):
            maps[grade.values["name"]] = year - years_ago
    return maps


def _day(value: Any) -> Any:
    return value[:10] if isinstance(value, str) else value


def _shapers(wire: Wire) -> Iterable[Shaper]:
    yield wire.directory.renumber


def one_semester(platform: Platform, request: Request) -> Response:
    """A semester, by its v1 id."""
    key = platform.wire.directory.semester_key(parse_integer("id", request.params["id"]))
    row = live(platform, "v1_semesters", request.school_id, key)
    return json_response(platform.wire.rows("v1_semesters", [row])[0])


RESOURCES = (
    Resource(
        "v1_semesters",
        View("semesters", KEYS["semesters"], _semester),
        Form(shapers=_shapers),
        Listing("/api/v1/semesters", v1=SCOPE, paged=False),
        routes=(Route("GET", "/api/v1/semesters/{id}", one_semester, v1=SCOPE, parameters=frozenset()),),
    ),
)
