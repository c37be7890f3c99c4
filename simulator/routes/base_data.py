"""The /api/v3 base data of a school: semesters, terms, structures, people and administrative classes."""

from functools import partial

from simulator.http import Problem, Request, Response
from simulator.listing import (
    Listing,
    answer,
    disturb,
    equal,
    has,
    is_empty,
    is_id,
    like,
    one_of,
    updated_since,
)
from simulator.platform import Platform
from simulator.routing import Route


def of_school(platform: Platform, request: Request) -> list[int]:
    """The one collection of the request's school."""
    return [request.school_id]


def _list(path: str, scopes: tuple[str, ...], listing: Listing) -> Route:
    return Route("GET", path, partial(answer, listing), scopes=scopes, disturb=partial(disturb, listing))


def list_terms(platform: Platform, request: Request) -> Response:
    """The terms of one type; whether the list is paged is a reading."""
    type_ = request.params["type"]
    known = any(row.values["type"] == type_ for row in platform.store.rows("terms", request.school_id))
    if not known and platform.readings.unknown_ids == "404":
        raise Problem(404, f"no such term type: {type_}")
    filters = {**TERM_FILTERS, "type": equal("type")}
    listing = Listing("terms", of_school, filters, sortable=True, paged=platform.readings.terms == "paged")
    request.query = {**request.query, "type": type_}
    return answer(listing, platform, request)


TERM_FILTERS = {
    "name": equal("name"),
    "parent_id": equal("parent_id", number=True),
    "archived_at_is_empty": is_empty("archived_at"),
}

PEOPLE_FILTERS = {
    "id_in": is_id,
    "name_in": one_of("name"),
    "name_like": like("name"),
    "updated_at_egt": updated_since,
}

ROUTES = (
    _list(
        "/api/v3/system/semesters",
        ("semester.read",),
        Listing("semesters", of_school, {"id_in": is_id}, expandable=True),
    ),
    Route("GET", "/api/v3/term/{type}/terms", list_terms, scopes=("term.read",)),
    _list(
        "/api/v3/structure/structures",
        ("structure.read",),
        Listing(
            "structures",
            of_school,
            {"type": equal("type"), "status": equal("status"), "parent_id": equal("parent_id", number=True)},
            expandable=True,
            sortable=True,
            selectable=True,
        ),
    ),
    _list(
        "/api/v3/reflection/reflections",
        ("reflection.read_all", "reflection.read_basic"),
        Listing(
            "reflections",
            of_school,
            {"role": equal("role"), "updated_at_egt": updated_since},
            trashable=True,
            expandable=True,
        ),
    ),
    _list(
        "/api/v3/reflection/students",
        ("student.read_all", "student.read_basic"),
        Listing(
            "students",
            of_school,
            {**PEOPLE_FILTERS, "keyword_identity": like("name", "usin", "outer_id")},
            trashable=True,
            expandable=True,
        ),
    ),
    _list(
        "/api/v3/reflection/teachers",
        ("teacher.read_all", "teacher.read_basic"),
        Listing("teachers", of_school, PEOPLE_FILTERS, trashable=True, expandable=True),
    ),
    _list(
        "/api/v3/admin_class/admin_classes",
        ("admin_class.read",),
        Listing(
            "admin_classes",
            of_school,
            {
                "id": is_id,
                "id_in": is_id,
                "name_like": like("name"),
                "outer_id": equal("outer_id"),
                "outer_id_in": one_of("outer_id"),
                "teacher_id": has("teacher_ids"),
                "place_id": equal("place_id", number=True),
                "status": equal("status"),
            },
            expandable=True,
        ),
    ),
)
