"""The v1 users and their custom fields."""

from dataclasses import replace
from functools import partial

from simulator.http import Request, Response, json_response, parse_integer
from simulator.listing import Listing, Predicate, answer, disturb, equal
from simulator.platform import Platform
from simulator.routes.base_data import of_school
from simulator.routing import Route
from simulator.school.users import GUARDIAN

ALL_BUT_GUARDIANS = ""


def in_role(name: str, text: str) -> Predicate:
    """The role is this one."""
    if text == ALL_BUT_GUARDIANS:
        return lambda row: bool(row.values["role"] != GUARDIAN)
    wanted = parse_integer(name, text)
    return lambda row: bool(row.values["role"] == wanted)


def list_users(platform: Platform, request: Request) -> Response:
    """The users of a school, without guardians unless the request names a role."""
    return answer(USERS, platform, replace(request, query={"role": ALL_BUT_GUARDIANS, **request.query}))


def list_fields(platform: Platform, request: Request) -> Response:
    """The custom fields of users; whether the list stands alone is a reading."""
    rows = [r for r in platform.store.rows("user_fields", request.school_id) if r.deleted_at is None]
    fields = platform.wire.rows("user_fields", rows)
    return json_response({"data": fields} if platform.readings.user_fields == "data" else fields)


USERS = Listing(
    "v1_users",
    of_school,
    {
        "role": in_role,
        "usin": equal("usin"),
        "status": equal("status", number=True),
        "outer_id": equal("outer_id"),
    },
    v1=True,
)

ROUTES = (
    Route("GET", "/api/v1/reflections", list_users, v1_scope="user.read", disturb=partial(disturb, USERS)),
    Route("GET", "/api/v1/reflection-fields", list_fields, v1_scope="user.read"),
)
