"""Cards bound to students, and displays bound to classrooms."""

from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response, parse_integer
from simulator.resources.v1.devices import SCOPE as OF_ROOMS
from simulator.resources.v1.writing.bodies import form_of
from simulator.resources.v1.writing.people import SCOPE as OF_PEOPLE
from simulator.school.rows import Row

LONGEST_CARD = 255  # bytes
#: The initial password of every student.
PASSWORD = "123456"
WRONG_LOGIN = "用户名或密码错误"
ROOMS = V1Scope(OF_ROOMS.plain, own="device.write")


def bind_card(platform: Platform, request: Request) -> Response:
    """Bind a card to the student of a login."""
    sent = form_of(platform, request)
    card, username = sent.get("card_id", ""), sent.get("username", "")
    if not 0 < len(card.encode()) <= LONGEST_CARD:
        raise Problem(422, f"card_id must have 1 to {LONGEST_CARD} bytes")
    if _bound(platform, "cards", request.school_id, "card_id", card):
        raise Problem(422, "card_id has been taken")
    students = (
        row
        for row in platform.store.rows("v1_users", request.school_id)
        if row.deleted_at is None and row.values["usin"] == username and row.values["role"] == 1
    )
    student = next(students, None)
    if student is None or not username or sent.get("password") != PASSWORD:
        raise Problem(422, WRONG_LOGIN, errors=[WRONG_LOGIN])
    values = {"card_id": card, "student_id": student.key}
    platform.store.insert("cards", request.school_id, values)
    return json_response({}, 201)


def bind_device(platform: Platform, request: Request) -> Response:
    """Bind a display to a classroom."""
    sent = form_of(platform, request)
    device, room = sent.get("device_id", ""), parse_integer("classroom_id", sent.get("classroom_id", ""))
    if not device:
        raise Problem(422, "device_id is required")
    if _bound(platform, "devices", request.school_id, "device_id", device):
        raise Problem(422, "device_id has been taken")
    values = {"device_id": device, "classroom_id": room, "current_status": "blank"}
    platform.store.insert("devices", request.school_id, values)
    match platform.readings.bare_answers:
        case "empty":
            return json_response({})
        case "204":
            return Response(204, b"", [])
    return json_response({"device_id": device, "classroom_id": room}, 201)


def unbind_card(platform: Platform, request: Request) -> Response:
    """Unbind a card."""
    return _unbind(platform, request, "cards", "card_id")


def unbind_device(platform: Platform, request: Request) -> Response:
    """Unbind a display."""
    return _unbind(platform, request, "devices", "device_id")


def _unbind(platform: Platform, request: Request, resource: str, name: str) -> Response:
    row = _bound(platform, resource, request.school_id, name, request.params["id"])
    if row is None:
        raise Problem(422, "解绑失败")
    platform.store.delete(resource, row.key)
    return Response(204, b"", [])


def _bound(platform: Platform, resource: str, school_id: int, name: str, value: str) -> Row | None:
    rows = platform.store.rows(resource, school_id)
    return next((row for row in rows if row.values[name] == value and row.deleted_at is None), None)


ROUTES = (
    Route("POST", "/api/v1/studentcard/cards", bind_card, v1=OF_PEOPLE),
    Route("DELETE", "/api/v1/studentcard/cards/{id}", unbind_card, v1=OF_PEOPLE),
    Route("POST", "/api/v1/classroompad/devices", bind_device, v1=ROOMS),
    Route("DELETE", "/api/v1/classroompad/devices/{id}", unbind_device, v1=ROOMS),
)
