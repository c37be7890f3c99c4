"""The /api/v3 course classes of a semester and their members."""

from functools import partial

from simulator.http import Problem, Request, parse_integers
from simulator.listing import Listing, answer, disturb, has, is_id, updated_since
from simulator.platform import Platform
from simulator.routing import Route
from simulator.rows import semester_of

SCOPES = ("class.read",)


def semesters(platform: Platform, request: Request) -> list[int]:
    """The semester that the request names, all of the school's without one; unknown ones by the reading."""
    known = platform.store.semester_ids(request.school_id)
    semester_id = request.integer("semester_id")
    if semester_id is None:
        return known
    if semester_id in known:
        return [semester_id]
    if platform.readings.unknown_ids == "404":
        raise Problem(404, f"school {request.school_id} has no semester {semester_id}")
    return []


def classes_of_members(platform: Platform, request: Request) -> list[int]:
    """The classes whose members are asked for: all of a semester, or those that class_id_in names."""
    if "semester_id" not in request.query:
        raise Problem(422, "semester_id is required")
    semester_ids = semesters(platform, request)
    wanted = request.query.get("class_id_in")
    if wanted is None:
        return platform.store.class_ids(semester_ids)
    return [i for i in dict.fromkeys(parse_integers("class_id_in", wanted)) if semester_of(i) in semester_ids]


CLASSES = Listing(
    "classes",
    semesters,
    {"id_in": is_id, "updated_at_egt": updated_since, "admin_class_id": has("admin_class_ids")},
    trashable=True,
    expandable=True,
)
MEMBERS = Listing("class_members", classes_of_members, {"updated_at_egt": updated_since}, trashable=True)

ROUTES = (
    Route(
        "GET",
        "/api/v3/klass/classes",
        partial(answer, CLASSES),
        scopes=SCOPES,
        disturb=partial(disturb, CLASSES),
    ),
    Route(
        "GET",
        "/api/v3/klass/class-selections",
        partial(answer, MEMBERS),
        scopes=SCOPES,
        disturb=partial(disturb, MEMBERS),
    ),
)
