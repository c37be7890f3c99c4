"""The v1 teaching classes and their students, administrative classes, semesters and transcripts."""

from functools import partial

from simulator.http import Problem, Request, Response, json_response, parse_integer, parse_integers
from simulator.listing import Filter, Listing, Predicate, answer, disturb, equal
from simulator.platform import Platform
from simulator.routes.base_data import of_school
from simulator.routes.classes import semesters
from simulator.routing import Route
from simulator.rows import Row, ids_of, school_of, semester_of
from simulator.transcripts import transcript


def current_semester(platform: Platform, school_id: int) -> list[int]:
    """The current semester of a school, none in a school without one."""
    rows = platform.store.rows("semesters", school_id)
    return [row.key for row in rows if row.deleted_at is None and row.values["is_current"] is True][:1]


def semesters_of_classes(platform: Platform, request: Request) -> list[int]:
    """The semester that the request names; what is meant without one is a reading."""
    if "semester_id" not in request.query and platform.readings.v1_without_semester == "current":
        return current_semester(platform, request.school_id)
    return semesters(platform, request)


def semester_or_current(platform: Platform, request: Request) -> list[int]:
    """The semester that the request names, the current one without."""
    if "semester_id" in request.query:
        return semesters(platform, request)
    return current_semester(platform, request.school_id)


def live(platform: Platform, resource: str, parent: int, key: int) -> Row:
    """A row that v1 shows; 404 without one."""
    row = platform.store.index(resource, parent).get(key)
    if row is None or row.deleted_at is not None:
        raise Problem(404, f"there is no {key} among the {resource}")
    return row


def course_class(platform: Platform, request: Request) -> Row:
    """The class that the path names; 404 for one that is not of this school."""
    key = platform.wire.directory.class_key(parse_integer("id", request.params["id"]))
    if school_of(semester_of(key)) != request.school_id:
        raise Problem(404, f"school {request.school_id} has no class {request.params['id']}")
    return live(platform, "v1_classes", semester_of(key), key)


def user(platform: Platform, request: Request, role: int) -> int:
    """The person that the path names; 404 for one who is not in this school or in another role."""
    key = parse_integer("id", request.params["id"])
    row = live(platform, "v1_users", request.school_id, key)
    if row.values["role"] != role:
        raise Problem(404, f"user {key} has another role")
    return key


def list_students(platform: Platform, request: Request) -> Response:
    """The students of a class, unpaged."""
    directory, key = platform.wire.directory, course_class(platform, request).key
    return json_response(
        [directory.student(request.school_id, student) for student in directory.students_of(key)]
    )


def one(resource: str, platform: Platform, request: Request) -> Response:
    """One row of a school."""
    row = live(platform, resource, request.school_id, parse_integer("id", request.params["id"]))
    return json_response(platform.wire.rows(resource, [row])[0])


def show_transcript(platform: Platform, request: Request) -> Response:
    """The transcript of a student."""
    student = user(platform, request, 1)
    return json_response(transcript(platform.store, platform.wire.directory, request.school_id, student))


def has_any(field_name: str) -> Filter:
    """The field is a list with one of these integers in it."""

    def make(name: str, text: str) -> Predicate:
        wanted = set(parse_integers(name, text))
        return lambda row: bool(wanted.intersection(ids_of(row.values[field_name])))

    return make


def in_weeks(name: str, text: str) -> Predicate:
    """The class takes place in some week of this span, written 1-8."""
    first, dash, last = text.partition("-")
    if not dash:
        raise Problem(422, f"{name} must be two weeks such as 1-8, not {text[:40]!r}")
    low, high = parse_integer(name, first), parse_integer(name, last)

    def holds(row: Row) -> bool:
        start, end = row.values["start_at"], row.values["end_in"]
        return isinstance(start, int) and isinstance(end, int) and start <= high and end >= low

    return holds


def in_classroom(_: str, text: str) -> Predicate:
    """The classroom has this name or this id."""

    def holds(row: Row) -> bool:
        room = row.values["classroom"]
        return isinstance(room, dict) and text in (room["name"], str(room["id"]))

    return holds


CLASSES = Listing(
    "v1_classes",
    semesters_of_classes,
    {"admin_class_id": has_any("admin_class_ids"), "week_range": in_weeks},
    v1=True,
)
ADMIN_CLASSES = Listing(
    "v1_admin_classes",
    of_school,
    {
        "graduates_in": equal("graduates_in", number=True),
        "classroom": in_classroom,
        "name": equal("name"),
    },
    paged=False,
    v1=True,
)
SEMESTERS = Listing("v1_semesters", of_school, paged=False, v1=True)

ROUTES = (
    Route(
        "GET",
        "/api/v1/classes",
        partial(answer, CLASSES),
        v1_scope="class.read",
        disturb=partial(disturb, CLASSES),
    ),
    Route("GET", "/api/v1/classes/{id}/students", list_students, v1_scope="class.read"),
    Route("GET", "/api/v1/admin-classes", partial(answer, ADMIN_CLASSES), v1_scope="class.read"),
    Route("GET", "/api/v1/admin-classes/{id}", partial(one, "v1_admin_classes"), v1_scope="class.read"),
    Route("GET", "/api/v1/semesters", partial(answer, SEMESTERS), v1_scope="class.read"),
    Route("GET", "/api/v1/semesters/{id}", partial(one, "v1_semesters"), v1_scope="class.read"),
    Route("GET", "/api/v1/students/{id}/transcripts", show_transcript, v1_scope="class.read"),
)
