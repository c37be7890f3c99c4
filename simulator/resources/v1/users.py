"""The users of v1: the people of v3 and guardians, and their custom fields."""

from dataclasses import replace
from typing import Any

from simulator.http.filters import Predicate, equal
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Request, Response, json_response, parse_integer
from simulator.resources.v1.cohorts import cohort_year
from simulator.resources.v3.base_data import of_school
from simulator.school import users
from simulator.school.rows import KEYS, Row, Values
from simulator.store.store import Collection, Store, View

ALL_BUT_GUARDIANS = ""
SCOPE = V1Scope("user.read", twin=("reflection.read_all", "reflection.read_basic"))


def _user(store: Store, row: Row) -> Values:
    v3 = row.values
    school_id = KEYS["reflections"].parent_of(row.key)
    role, status = _translated(users.ROLES, v3["role"]), _translated(users.STATUSES, v3["status"])
    student = store.index("students", school_id).get(row.key)
    graduates_in = cohort_year(store, school_id, student.values["graduates_in_id"]) if student else None
    own = users.details(store.size.seed, row.key, role, graduates_in)
    wards = store.first_students(school_id) if role == users.GUARDIAN else []
    return {
        "id": row.key,
        "usin": _text(v3["usin"]),
        "name": v3["name"],
        "role": role,
        "phone": _text(v3["phone"]),
        "graduates_in": graduates_in,
        "outer_id": v3["outer_id"],
        "status": status,
        "student_id": wards[row.key % len(wards)].key if wards else None,
        **own,
    }


def _translated(words: dict[str, int], value: Any) -> Any:
    """The v1 number of a v3 word. Other values of tests stay unchanged."""
    return words.get(value, value) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return "" if value is None else value


def _shown(store: Store, row: Row) -> Row:
    """Hide or archive a user who has left, by the reading."""
    if row.deleted_at and store.readings.left_users == "archived":
        return replace(row, values=row.values | {"status": users.STATUSES["archived"]}, deleted_at=None)
    return row


def in_role(name: str, text: str) -> Predicate:
    """A test for the role."""
    if text == ALL_BUT_GUARDIANS:
        return lambda row: bool(row.values["role"] != users.GUARDIAN)
    wanted = parse_integer(name, text)
    return lambda row: bool(row.values["role"] == wanted)


def understood(_: Platform, request: Request) -> Request:
    """The request, by default without guardians."""
    return replace(request, query={"role": ALL_BUT_GUARDIANS, **request.query})


def list_fields(platform: Platform, request: Request) -> Response:
    """The custom fields of users. The reading `user_fields` decides the shape."""
    rows = [r for r in platform.store.rows("user_fields", request.school_id) if r.deleted_at is None]
    fields = platform.wire.rows("user_fields", rows)
    match platform.readings.user_fields:
        case "data":
            return json_response({"data": fields})
        case "by_role":
            roles = {"student": 1, "teacher": 2}
            return json_response(
                {role: [field for field in fields if field["role"] == code] for role, code in roles.items()}
            )
        case "by_name":
            # Students and teachers may share a name, so the role is part of the key.
            return json_response({f"{field['name']}-{field['role']}": field for field in fields})
    return json_response(fields)


RESOURCES = (
    Resource(
        "v1_users",
        View("reflections", KEYS["reflections"], _user, _shown, with_rows_of=("students",)),
        listing=Listing(
            "/api/v1/reflections",
            v1=SCOPE,
            filters={
                "role": in_role,
                "usin": equal("usin"),
                "status": equal("status", number=True),
                "outer_id": equal("outer_id"),
            },
            understood=understood,
            people=True,
            archived=lambda row: row.values.get("status") != users.STATUSES["normal"],
        ),
    ),
    Resource(
        "user_fields",
        Collection(KEYS["user_fields"], of_school("user_fields"), sends_id=False),
        routes=(Route("GET", "/api/v1/reflection-fields", list_fields, v1=SCOPE, parameters=frozenset()),),
    ),
)
