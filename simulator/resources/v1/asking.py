"""What requests of v1 mean: which semester, class or person."""

from simulator.http.platform import Platform
from simulator.messages import Problem, Request, parse_integer
from simulator.school.rows import Row, school_of, semester_of


def current_semester(platform: Platform, school_id: int) -> list[int]:
    """The current semester of a school, none in a school without one."""
    rows = platform.store.rows("semesters", school_id)
    return [row.key for row in rows if row.deleted_at is None and row.values["is_current"] is True][:1]


def semesters(platform: Platform, request: Request) -> list[int]:
    """The semester that the request names by its id in v1, all of the school's without one; unknown ones by
    the reading."""
    known = platform.store.semester_ids(request.school_id)
    shown = request.integer("semester_id")
    if shown is None:
        return known
    found = [key for key in known if key == platform.wire.directory.semester_key(shown)]
    if not found and platform.readings.unknown_ids == "404":
        raise Problem(404, f"school {request.school_id} has no semester {shown}")
    return found


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
