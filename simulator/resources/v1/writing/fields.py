"""Creates, changes and removes custom fields of users."""

import re

from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Problem, Request, Response, json_response
from simulator.resources.v1.writing.bodies import object_of
from simulator.resources.v1.writing.people import SCOPE
from simulator.school.rows import Row, Values

NAME = re.compile("[A-Za-z0-9]+")
TEXT, CHOICE = 1, 2


def create(platform: Platform, request: Request) -> Response:
    """Create a field."""
    sent = _checked(object_of(request))
    for row in _named(platform, request.school_id, sent["name"]):
        if row.values["role"] == sent["role"]:
            raise Problem(422, "name has been taken")
    platform.store.insert("user_fields", request.school_id, {"options": None, **sent})
    return _answer(platform, sent)


def change(platform: Platform, request: Request) -> Response:
    """Change the label, the type or the options of a field."""
    name = request.params["name"]
    sent = object_of(request)
    rows = [
        row
        for row in _named(platform, request.school_id, name)
        if sent.get("role", row.values["role"]) == row.values["role"]
    ]
    if not rows:
        raise Problem(404, f"there is no field {name}")
    for row in rows:
        platform.store.update("user_fields", row.key, _checked({**row.values, **sent, "name": name}))
    return _answer(platform, {**rows[0].values, **sent})


def remove(platform: Platform, request: Request) -> Response:
    """Remove a field from all roles that have it."""
    rows = _named(platform, request.school_id, request.params["name"])
    if not rows:
        raise Problem(404, f"there is no field {request.params['name']}")
    for row in rows:
        platform.store.delete("user_fields", row.key)
    return _answer(platform, {})


def _named(platform: Platform, school_id: int, name: str) -> list[Row]:
    rows = platform.store.rows("user_fields", school_id)
    return [row for row in rows if row.values["name"] == name and row.deleted_at is None]


def _checked(sent: Values) -> Values:
    if not isinstance(sent.get("name"), str) or not NAME.fullmatch(sent["name"]):
        raise Problem(422, "name must have letters and digits only")
    if sent.get("role") not in (1, 2):
        raise Problem(422, "role must be 1 or 2")
    if sent.get("type") not in (TEXT, CHOICE):
        raise Problem(422, "type must be 1 or 2")
    if bool(sent.get("options")) != (sent["type"] == CHOICE):
        raise Problem(422, "options belong to type 2, and only to it")
    return {name: sent.get(name) for name in ("name", "label", "role", "type", "options")}


def _answer(platform: Platform, field: Values) -> Response:
    """The answer, whose shape the specification leaves open: the field, an empty object, or no content."""
    match platform.readings.bare_answers:
        case "empty":
            return json_response({})
        case "204":
            return Response(204, b"", [])
    return json_response(field, 201)


ONE = "/api/v1/reflection-fields/{name}"
ROUTES = (
    Route("POST", "/api/v1/reflection-fields", create, v1=SCOPE),
    Route("PATCH", ONE, change, v1=SCOPE),
    Route("DELETE", ONE, remove, v1=SCOPE),
)
