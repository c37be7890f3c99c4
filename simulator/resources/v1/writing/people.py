"""Creates, changes and removes users."""

import re
from datetime import date
from typing import Any

from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response, parse_integer
from simulator.readings import Readings
from simulator.resources.v1.cohorts import cohort_term
from simulator.resources.v1.request_targets import live
from simulator.resources.v1.users import SCOPE as READING
from simulator.resources.v1.writing.bodies import object_of
from simulator.school import users
from simulator.school.rows import Row, Values

SCOPE = V1Scope(READING.plain, twin=READING.twin, own="user.write")
STUDENT, TEACHER = 1, 2
WORDS = {STUDENT: "student", TEACHER: "teacher", users.GUARDIAN: "guardian"}
STATUS_WORDS = {code: word for word, code in users.STATUSES.items()}
LISTS = {STUDENT: "students", TEACHER: "teachers"}
#: The fields that v3 shows too, and the fields of v1 alone.
SHARED = ("name", "usin", "phone", "outer_id", "status")
OWN: Values = {
    "gender": "u",
    "avatar_url": "",
    "email": "",
    "duration": None,
    "entered_at": None,
    "idcard": "",
    "guardian_role": None,
    "student_id": None,
    "graduates_in": None,
}
TEXTS = ("usin", "name", "avatar_url", "email", "phone", "outer_id", "idcard", "password")
NUMBERS = ("role", "status", "graduates_in", "duration", "student_id", "guardian_role")
ALLOWED: dict[str, tuple[Any, ...]] = {
    "role": tuple(WORDS),
    "status": tuple(STATUS_WORDS),
    "gender": ("m", "f", "u"),
    "guardian_role": (0, 1, 2),
}
BEYOND_THREE_BYTES = re.compile("[\U00010000-\U0010ffff]")


def create(platform: Platform, request: Request) -> Response:
    """Create a user."""
    sent = _checked(platform, request.school_id, object_of(request), {})
    store, school_id = platform.store, request.school_id
    role = sent["role"]
    row = store.insert(
        "reflections",
        school_id,
        {
            "school_id": school_id,
            "role": WORDS[role],
            "structure_ids": None,
            "phone": None,
            "outer_id": None,
            "status": "normal",
            "deleted_at": None,
            **_shared(sent),
        },
    )
    if role in LISTS:
        store.insert(LISTS[role], school_id, {**_in_list(platform, row, sent), "id": row.key}, key=row.key)
    custom = {name: "" for _, name, _, _ in users.FIELDS}
    store.show("v1_users", row.key, OWN | custom | _own(sent))
    platform.announce("created", school_id, "reflections", [row.key])
    return json_response(_shown(platform, school_id, row.key), int(platform.readings.created_user))


def change(platform: Platform, request: Request) -> Response:
    """Change some fields of a user."""
    school_id = request.school_id
    row = _user(platform, request)
    given = object_of(request)
    if request.method == "PUT" and platform.readings.user_put == "whole":
        custom = {name: "" for _, name, _, _ in users.FIELDS}
        given = {**OWN, **custom, "phone": None, "outer_id": None, **given}
    sent = _checked(platform, school_id, given, row.values)
    store, shared = platform.store, _shared(sent)
    role = row.values["role"]
    store.update("reflections", row.key, shared)
    if role in LISTS and row.key in store.index(LISTS[role], school_id):
        listed = store.index(LISTS[role], school_id)[row.key].values
        cohort = _cohort(platform, school_id, sent)
        store.update(LISTS[role], row.key, {k: v for k, v in {**shared, **cohort}.items() if k in listed})
    if own := _own(sent):
        store.show("v1_users", row.key, own)
    platform.announce("updated", school_id, "reflections", [row.key])
    return json_response(_shown(platform, school_id, row.key))


def remove(platform: Platform, request: Request) -> Response:
    """Remove a user: hidden or archived, by the reading."""
    row = _user(platform, request)
    store, school_id = platform.store, request.school_id
    for resource in ("reflections", *LISTS.values()):
        if row.key in store.index(resource, school_id):
            store.delete(resource, row.key)
    platform.announce("deleted", school_id, "reflections", [row.key])
    return Response(204, b"", [])


def routes(readings: Readings) -> tuple[Route, ...]:
    """The paths. The reading `user_change` decides whether PATCH, PUT or both change a user."""
    methods = ("PATCH", "PUT") if readings.user_change == "both" else (readings.user_change,)
    path = "/api/v1/reflections/{id}"
    return (
        Route("POST", "/api/v1/reflections", create, v1=SCOPE),
        *(Route(method, path, change, v1=SCOPE) for method in methods),
        Route("DELETE", path, remove, v1=SCOPE),
    )


def _user(platform: Platform, request: Request) -> Row:
    return live(platform, "v1_users", request.school_id, parse_integer("id", request.params["id"]))


def _shown(platform: Platform, school_id: int, key: int) -> Values:
    row = platform.store.index("v1_users", school_id)[key]
    sent: Values = platform.wire.rows("v1_users", [row])[0]
    return sent


def _checked(platform: Platform, school_id: int, sent: Values, before: Values) -> Values:
    """The sent values, if the platform takes them. `before`: the user's current values; empty: a new user."""
    for name in TEXTS:
        if not isinstance(sent.get(name, ""), str | None):
            raise Problem(422, f"{name} must be text")
        _check_text(platform.readings, name, sent.get(name) or "")
    for name in NUMBERS:
        value = sent.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise Problem(422, f"{name} must be a number")
    for name, allowed in ALLOWED.items():
        if sent.get(name) is not None and sent[name] not in allowed:
            raise Problem(422, f"{name} must be one of {', '.join(map(str, allowed))}")
    if sent.get("entered_at"):
        _check_day("entered_at", sent["entered_at"])
    role = before.get("role", sent.get("role"))
    if role is None:
        raise Problem(422, "role is required")
    if sent.get("role", role) != role:
        raise Problem(422, "role cannot be changed")
    needed = ("usin", "name", *(["graduates_in"] if role == STUDENT else []))
    for name in needed:
        if not (sent.get(name) or (name not in sent and before.get(name))):
            raise Problem(422, f"{name} is required")
    if role == users.GUARDIAN and sent.get("student_id") is not None:
        live(platform, "students", school_id, sent["student_id"])
    _check_unique(platform, school_id, sent, before)
    return _with_known(platform, school_id, sent, role)


def _check_text(readings: Readings, name: str, text: str) -> None:
    if len(text) > readings.longest_text:
        raise Problem(422, f"{name} must have {readings.longest_text} letters at most")
    if readings.four_byte_text == "refused" and BEYOND_THREE_BYTES.search(text):
        raise Problem(422, f"{name} has letters that cannot be stored")


def _check_day(name: str, text: object) -> None:
    try:
        date.fromisoformat(str(text))
    except ValueError as error:
        raise Problem(422, f"{name} must be YYYY-MM-DD") from error


def _check_unique(platform: Platform, school_id: int, sent: Values, before: Values) -> None:
    readings = platform.readings
    reactions = {"usin": readings.usin_twice, "outer_id": readings.outer_id_twice}
    names = [name for name, reading in reactions.items() if reading == "refused" and sent.get(name)]
    for row in platform.store.rows("reflections", school_id) if names else ():
        if row.deleted_at is None and row.key != before.get("id"):
            for name in names:
                if row.values[name] == sent[name]:
                    raise Problem(int(readings.taken), f"{name} has been taken")


def _with_known(platform: Platform, school_id: int, sent: Values, role: int) -> Values:
    """The sent values of known fields; 422 for a value that is not an option."""
    fields = {
        row.values["name"]: row.values
        for row in platform.store.rows("user_fields", school_id)
        if row.values["role"] == role and row.deleted_at is None
    }
    for name, field in fields.items():
        if sent.get(name) and field.get("options") and sent[name] not in field["options"]:
            raise Problem(422, f"{name} must be one of its options")
    accepted = {*TEXTS, *NUMBERS, "gender", "entered_at", *fields} - {platform.readings.deaf_user_field}
    return {name: value for name, value in sent.items() if name in accepted}


def _shared(sent: Values) -> Values:
    """The fields that v3 shows, with v3's words."""
    values = {name: sent[name] for name in SHARED if name in sent}
    if "status" in values:
        values["status"] = STATUS_WORDS[values["status"]]
    return values


def _own(sent: Values) -> Values:
    """The fields that only v1 shows, without the password."""
    hidden = (*SHARED, "role", "password")
    return {name: value for name, value in sent.items() if name not in hidden}


def _in_list(platform: Platform, row: Row, sent: Values) -> Values:
    values = {name: value for name, value in row.values.items() if name != "deleted_at"}
    if sent["role"] == TEACHER:
        return {**values, "department_names": []}
    del values["phone"]
    return {**values, "pupil_id": None, "graduates_in_id": None} | _cohort(
        platform, row.values["school_id"], sent
    )


def _cohort(platform: Platform, school_id: int, sent: Values) -> Values:
    if "graduates_in" not in sent:
        return {}
    return {"graduates_in_id": cohort_term(platform.store, school_id, sent["graduates_in"])}
