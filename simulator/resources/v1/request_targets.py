"""The semester, class or person that a request of v1 names."""

from simulator.http.platform import Platform
from simulator.messages import Problem, Request, parse_integer
from simulator.school.rows import Row, school_of, semester_of


def current_semester(platform: Platform, school_id: int) -> list[int]:
    """The current semester of a school, if any."""
    rows = platform.store.rows("semesters", school_id)
    return [row.key for row in rows if row.deleted_at is None and row.values["is_current"] is True][:1]


def semesters(platform: Platform, request: Request) -> list[int]:
    """The semester of the request, by its v1 id; without an id all semesters of the school. The reading
    decides about unknown ids."""
    semester_ids = platform.store.semester_ids(request.school_id)
    shown = request.integer("semester_id")
    if shown is None:
        return semester_ids
    matching = [key for key in semester_ids if key == platform.wire.directory.semester_key(shown)]
    if not matching and platform.readings.unknown_ids == "404":
        raise Problem(404, f"school {request.school_id} has no semester {shown}")
    return matching


def semesters_of_classes(platform: Platform, request: Request) -> list[int]:
    """The semester of the request. The reading decides about requests without a semester."""
    if "semester_id" not in request.query and platform.readings.v1_without_semester == "current":
        return current_semester(platform, request.school_id)
    return semesters(platform, request)


def semester_or_current(platform: Platform, request: Request) -> list[int]:
    """The semester of the request, or the current semester."""
    if "semester_id" in request.query:
        return semesters(platform, request)
    return current_semester(platform, request.school_id)


def live(platform: Platform, resource: str, parent: int, key: int) -> Row:
    """An undeleted row by its key, or 404."""
    row = platform.store.index(resource, parent).get(key)
    if row is None or row.deleted_at is not None:
        raise Problem(404, f"there is no {key} among the {resource}")
    return row


def course_class(platform: Platform, request: Request) -> Row:
    """The class of the path; 404 for a class of another school."""
    key = platform.wire.directory.class_key(parse_integer("id", request.params["id"]))
    if school_of(semester_of(key)) != request.school_id:
        raise Problem(404, f"school {request.school_id} has no class {request.params['id']}")
    return live(platform, "v1_classes", semester_of(key), key)


def user(platform: Platform, request: Request, role: int) -> int:
    """The person of the path; 404 for a person of another school or role."""
    key = parse_integer("id", request.params["id"])
    row = live(platform, "v1_users", request.school_id, key)
    if row.values["role"] != role:
        raise Problem(404, f"user {key} has another role")
    return key
