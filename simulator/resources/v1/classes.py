"""The course classes of v1, and the students of a class."""

from collections.abc import Iterable

from simulator.http.filters import Filter, Predicate
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response, parse_integer, parse_integers
from simulator.resources.v1.request_targets import course_class, semesters_of_classes
from simulator.school.courses import credit
from simulator.school.rows import KEYS, Row, Values, ids_of, school_of, semester_of
from simulator.school.timetable.plan import Plan, room_name
from simulator.school.timetable.weeks import shown_day, week_of
from simulator.store.store import Store, View
from simulator.wire.wire import Form, Shaper, Wire

HOURS_A_CREDIT = 18
SCOPE = V1Scope("class.read")


def _course_class(store: Store, row: Row) -> Values:
    v3 = row.values
    school_id = school_of(semester_of(row.key))
    plan = store.attendance.plan(row.key)
    rooms = [{"id": room, "name": room_name(room)} for room in plan.rooms] if plan else []
    grades = [g for i in ids_of(v3["grade_ids"]) if (g := store.index("structures", school_id).get(i))]
    return {
        "id": row.key,
        "school_id": school_id,
        "semester_id": v3["semester_id"],
        "name": v3["name"],
        "csin": v3["csin"],
        "class_name": v3["class_name"],
        "teachers": v3["teachers"],
        "credit": credit(row.key),
        "duration": str(int(credit(row.key) * HOURS_A_CREDIT)),
        "description": "" if row.key % 3 else "面向本年级开设。",
        "attribute": {
            "id": school_id * 1_000 + 990 + (v3["subject_id"] is None),
            "school_id": school_id,
            "type": "course.attribute",
            "name": "选修" if v3["subject_id"] is None else "必修",
        },
        "subject": _named(store, "terms", school_id, v3["subject_id"]),
        "grade": {
            "id": grades[0].key,
            "school_id": school_id,
            "name": ",".join(str(grade.values["name"]) for grade in grades),
        }
        if grades
        else {},
        **(_weeks(plan, store.readings.v1_class_weeks) if plan else {"start_at": 1, "end_in": 20}),
        "week_type": plan.week_type if plan else 0,
        "capacity": 45,
        "schedules": _schedules(store, semester_of(row.key), plan) if plan else [],
        "locations": rooms,
        "classroom": rooms[0] if rooms else None,
        "admin_class_ids": v3["admin_class_ids"],
        "textbook": ("人教版", "北师大版", "")[row.key % 3],
    }


def _weeks(plan: Plan, form: str) -> Values:
    """The weeks of a class by the reading: its first and last week; or values with start_at >= week and
    end_in <= week in every week; or only its first weeks."""
    if form == "as_specified":
        return {"start_at": plan.end_in, "end_in": max(plan.start_at, 2)}
    if form == "unbounded":
        return {"start_at": plan.start_at, "end_in": plan.start_at + 2}
    return {"start_at": plan.start_at, "end_in": plan.end_in}


def _schedules(store: Store, semester_id: int, plan: Plan) -> list[Values]:
    days, term = store.readings.v1_days, store.term(semester_id)
    entries = [
        {**entry, "day": shown_day(entry["day"], days)} if entry["day"] else entry
        for entry in plan.schedules()
    ]
    if store.readings.v1_is_current == "absent" or term is None:
        return entries
    is_on = term.current and plan.is_on(week_of(term.start, store.today, store.readings.week_start))
    return [{**entry, "is_current": is_on} for entry in entries]


def _named(store: Store, resource: str, school_id: int, key: object) -> Values | None:
    row = store.index(resource, school_id).get(key) if isinstance(key, int) else None
    return {"id": row.key, "school_id": school_id, "name": row.values["name"]} if row else None


def _shapers(wire: Wire) -> Iterable[Shaper]:
    yield lambda row, values: _as_v1_knows(wire, row, values)
    if wire.readings.v1_numbers == "text":
        yield _numbers_as_text


def _as_v1_knows(wire: Wire, row: Row, values: Values) -> None:
    """Set the v1 ids, unless a test has set ids, and replace teacher ids by teachers."""
    if values["semester_id"] == semester_of(row.key):
        values["semester_id"] = wire.directory.semester_id(semester_of(row.key))
    if values["id"] == row.key:
        values["id"] = wire.directory.class_id(row.key)
    teachers = values["teachers"]
    if ids_of(teachers) == teachers:
        values["teachers"] = wire.directory.people(school_of(semester_of(row.key)), teachers)


def _numbers_as_text(_: Row, values: Values) -> None:
    for name in ("semester_id", "credit", "start_at", "end_in", "week_type", "capacity"):
        values[name] = str(values[name])


def list_students(platform: Platform, request: Request) -> Response:
    """The students of a class, unpaged."""
    directory, key = platform.wire.directory, course_class(platform, request).key
    return json_response(
        [
            directory.standing(directory.student(request.school_id, student))
            for student in directory.students_of(key)
        ]
    )


def has_any(field_name: str) -> Filter:
    """A test for a list field with any of these integers."""

    def make(name: str, text: str) -> Predicate:
        wanted = set(parse_integers(name, text))
        return lambda row: bool(wanted.intersection(ids_of(row.values[field_name])))

    return make


def in_weeks(name: str, text: str) -> Predicate:
    """A test for classes in any week of a span such as 1-8."""
    first, dash, last = text.partition("-")
    if not dash:
        raise Problem(422, f"{name} must be two weeks such as 1-8, not {text[:40]!r}")
    low, high = parse_integer(name, first), parse_integer(name, last)

    def holds(row: Row) -> bool:
        start, end = row.values["start_at"], row.values["end_in"]
        return isinstance(start, int) and isinstance(end, int) and start <= high and end >= low

    return holds


RESOURCES = (
    Resource(
        "v1_classes",
        View("classes", KEYS["classes"], _course_class),
        Form(
            id_lists={"admin_class_ids": "admin_classes"},
            objects=("grade", "subject", "classroom"),
            shapers=_shapers,
        ),
        Listing(
            "/api/v1/classes",
            v1=SCOPE,
            parents=semesters_of_classes,
            chosen_by=("semester_id",),
            filters={"admin_class_id": has_any("admin_class_ids"), "week_range": in_weeks},
        ),
        routes=(
            Route("GET", "/api/v1/classes/{id}/students", list_students, v1=SCOPE, parameters=frozenset()),
        ),
    ),
)
