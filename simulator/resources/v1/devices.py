"""The data for class signs: classroom, app updates, attendance settings, and the student of a card."""

from datetime import datetime, time, timedelta, timezone

from simulator.http.platform import Platform
from simulator.http.resource import Resource
from simulator.http.routing import Route, V1Scope
from simulator.messages import Problem, Request, Response, json_response
from simulator.resources.v3.base_data import of_school
from simulator.school import devices
from simulator.school.rows import KEYS, Row, Values
from simulator.school.timetable.plan import room_name
from simulator.store.store import Collection

SCOPE = V1Scope("class.read")
CHINA = timezone(timedelta(hours=8))


def _bound(platform: Platform, resource: str, request: Request, field_name: str) -> Row:
    wanted = request.params["id"]
    for row in platform.store.rows(resource, request.school_id):
        if row.values[field_name] == wanted and row.deleted_at is None:
            return row
    raise Problem(404, f"{wanted} is not bound")


def show_device(platform: Platform, request: Request) -> Response:
    """The classroom of a device; 404 for an unbound device."""
    row = _bound(platform, "devices", request, "device_id")
    values = dict(platform.wire.rows("devices", [row])[0])
    del values["device_id"]
    room_id = values.pop("classroom_id")
    today = platform.store.today
    sent: Values = {
        **values,
        "id": room_id,
        "school_id": request.school_id,
        "type": "classroom",
        "name": room_name(room_id) if isinstance(room_id, int) else "",
        "created_by": request.school_id * 1_000_000 + 1,
        "updated_by": request.school_id * 1_000_000 + 1,
        "created_at": row.updated_at,
        "updated_at": row.updated_at,
        "shutdown_timestamp": int(datetime.combine(today, time(22), CHINA).timestamp()),
        "bootstart_timestamp": int(
            datetime.combine(today + timedelta(days=1), time(6, 30), CHINA).timestamp()
        ),
    }
    return json_response(sent)


def show_card(platform: Platform, request: Request) -> Response:
    """The student of a card; 404 for an unbound card."""
    row = _bound(platform, "cards", request, "card_id")
    profile = platform.wire.directory.profile(request.school_id, row.values["student_id"])
    if profile is None:
        raise Problem(404, f"{request.params['id']} is not bound")
    return json_response(platform.wire.directory.standing(profile))


def show_updates(platform: Platform, request: Request) -> Response:
    """The newest version of the app; needs no token."""
    if not request.query.get("client_id"):
        raise Problem(422, "client_id is required")
    return json_response(platform.store.rows("app_updates", 0)[-1].values)


def show_settings(platform: Platform, request: Request) -> Response:
    """The attendance settings of a school."""
    row = platform.store.rows("attendance_settings", request.school_id)[-1]
    return json_response(platform.wire.rows("attendance_settings", [row])[0])


RESOURCES = (
    Resource(
        "attendance_settings",
        Collection(KEYS["attendance_settings"], of_school("attendance_settings"), sends_id=False),
        routes=(
            Route(
                "GET",
                "/api/v1/classroompad/attendance-settings",
                show_settings,
                v1=SCOPE,
                parameters=frozenset(),
            ),
        ),
    ),
    Resource(
        "devices",
        Collection(KEYS["devices"], of_school("devices")),
        routes=(
            Route("GET", "/api/v1/classroompad/devices/{id}", show_device, v1=SCOPE, parameters=frozenset()),
        ),
    ),
    Resource(
        "cards",
        Collection(KEYS["cards"], of_school("cards")),
        routes=(
            Route(
                "GET",
                "/api/v1/studentcard/cards/{id}",
                show_card,
                v1=V1Scope("user.read"),
                parameters=frozenset(),
            ),
        ),
    ),
    Resource(
        "app_updates",
        Collection(
            KEYS["app_updates"],
            lambda store, _: devices.app_updates(store.size.today),
            sends_id=False,
        ),
        routes=(
            Route(
                "GET",
                "/api/v1/classroompad/check-updates",
                show_updates,
                anonymous=True,
                parameters=frozenset({"client_id"}),
            ),
        ),
    ),
)
