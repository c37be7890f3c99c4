"""The administrative classes of v1, with students by the readings."""

from collections.abc import Iterable

from simulator.http.filters import Predicate, equal
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Request, Response, json_response, parse_integer
from simulator.resources.v1.cohorts import cohort_year
from simulator.resources.v1.request_targets import live
from simulator.school.rows import KEYS, Row, Values, ids_of
from simulator.school.timetable.plan import room_name
from simulator.store.store import Store, View
from simulator.wire.wire import Form, Shaper, Wire

SCOPE = V1Scope("class.read", twin=("admin_class.read",))


def _admin_class(store: Store, row: Row) -> Values:
    v3 = row.values
    school_id = KEYS["admin_classes"].parent_of(row.key)
    times = {"created_at": row.updated_at, "updated_at": row.updated_at}
    place_id = v3["place_id"]
    classroom = None
    if isinstance(place_id, int):
        classroom = {"id": place_id, "name": room_name(place_id), "type": "classroom", "school_id": school_id}
        classroom |= times
    grades = (
        structure.values["name"]
        for structure in store.rows("structures", school_id)
        if structure.values["graduates_in_id"] == v3["graduates_in_id"] is not None
    )
    return {
        "id": row.key,
        "school_id": str(school_id),
        "name": v3["name"],
        "classroom": classroom,
        "graduates_in": cohort_year(store, school_id, v3["graduates_in_id"]),
        "grade_name": next(grades, ""),
        "teacher_ids": ids_of(v3["teacher_ids"]),
        **times,
    }


def _shapers(wire: Wire) -> Iterable[Shaper]:
    yield lambda row, values: _add_people(wire, row, values)


def _add_people(wire: Wire, row: Row, values: Values) -> None:
    school_id = KEYS["admin_classes"].parent_of(row.key)
    teacher_ids = values.pop("teacher_ids")
    users = wire.store.index("v1_users", school_id)
    staff = [users[key] for key in teacher_ids if key in users and users[key].deleted_at is None]
    made: Values = {
        "director": staff[0].values if staff else None,
        "teachers": wire.directory.people(school_id, [teacher.key for teacher in staff]),
    }
    form = wire.readings.v1_admin_class_students
    if form in ("listed", "empty"):
        made["students"] = _students(wire, row) if form == "listed" else []
    values.update({name: value for name, value in made.items() if name not in values})


def _students(wire: Wire, row: Row) -> list[Values | None]:
    school_id = KEYS["admin_classes"].parent_of(row.key)
    users = wire.store.index("v1_users", school_id)
    students = (users.get(key) for key in wire.store.roster(row.key))
    return [wire.directory.student(school_id, s.key) for s in students if s and s.deleted_at is None]


def one_admin_class(platform: Platform, request: Request) -> Response:
    """An administrative class, with students even if the list has none."""
    row = live(platform, "v1_admin_classes", request.school_id, parse_integer("id", request.params["id"]))
    values = platform.wire.rows("v1_admin_classes", [row])[0]
    if "students" in row.values or platform.readings.v1_admin_class_students == "nowhere":
        return json_response(values)  # students of a test stay unchanged
    return json_response({**values, "students": _students(platform.wire, row)})


def in_classroom(_: str, text: str) -> Predicate:
    """A test for the classroom's name or id."""

    def holds(row: Row) -> bool:
        room = row.values["classroom"]
        return isinstance(room, dict) and text in (room["name"], str(room["id"]))

    return holds


RESOURCES = (
    Resource(
        "v1_admin_classes",
        View("admin_classes", KEYS["admin_classes"], _admin_class),
        Form(objects=("classroom", "director"), shapers=_shapers),
        Listing(
            "/api/v1/admin-classes",
            v1=SCOPE,
            filters={
                "graduates_in": equal("graduates_in", number=True),
                "classroom": in_classroom,
                "name": equal("name"),
            },
            paged=False,
        ),
        routes=(
            Route("GET", "/api/v1/admin-classes/{id}", one_admin_class, v1=SCOPE, parameters=frozenset()),
        ),
    ),
)
