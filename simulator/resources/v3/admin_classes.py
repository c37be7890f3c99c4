"""The administrative classes of v3, with status and students by the readings."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from simulator.http.filters import equal, has, is_id, like, one_of
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.messages import Problem, Request
from simulator.readings import Readings
from simulator.resources.v3.base_data import is_archived, of_school
from simulator.school.rows import KEYS, Row, Values, ids_of
from simulator.store.store import Collection
from simulator.wire.wire import Form, Shaper, Wire

SPELLINGS: Mapping[str, Mapping[str, str | int]] = {
    "words": {"normal": "normal", "archived": "archived", "disabled": "disabled"},
    "numbers": {"normal": 1, "archived": 2, "disabled": 4},
    "own": {"normal": "on", "archived": "off", "disabled": "out"},
}
NO_STATUS = ""


def understood(platform: Platform, request: Request) -> Request:
    """The request with the status in the store's words. Readings decide about unknown statuses and about
    expand=students."""
    readings = platform.readings
    if readings.admin_class_students == "refused" and "students" in request.names("expand"):
        raise Problem(422, "expand: there is no relation students")
    if "status" not in request.query:
        return request
    words = {str(sent): word for word, sent in SPELLINGS[readings.admin_class_status].items()}
    status = words.get(request.query["status"])
    if status is None and readings.unknown_status in ("422", "500"):
        raise Problem(int(readings.unknown_status), "status: there is no such value")
    query = {name: text for name, text in request.query.items() if name != "status"}
    if status is not None or readings.unknown_status == "empty":
        query["status"] = status or NO_STATUS
    return replace(request, query=query)


def _shapers(wire: Wire) -> Iterable[Shaper]:
    if wire.readings.admin_class_status != "words":
        yield lambda _, values: values.update(status=_spelt(wire.readings, values.get("status")))


def _spelt(readings: Readings, status: object) -> object:
    return SPELLINGS[readings.admin_class_status].get(status, status) if isinstance(status, str) else status


def _finish(wire: Wire, row: Row, values: Values, expand: Names[str]) -> None:
    form = wire.readings.admin_class_students
    if form == "always" or (form == "ids" and "students" in expand):
        roster = _roster(wire, row)
        values["students"] = roster if form == "always" else _ids_of_cards(roster)
    elif form == "empty" and "students" in expand:
        values["students"] = []
    elif form in ("absent", "refused"):
        values.pop("students", None)
    if form == "refused":
        values.pop("teachers", None)
    if wire.readings.teacher_ids == "absent":
        values.pop("teacher_ids", None)


def _ids_of_cards(cards: list[Values]) -> list[Any]:
    return [card["reflection_id"] if "reflection_id" in card else card["id"] for card in cards]


def _teachers(wire: Wire, row: Row) -> list[Values]:
    return wire.cards(KEYS["admin_classes"].parent_of(row.key), ids_of(row.values.get("teacher_ids")))


def _roster(wire: Wire, row: Row) -> list[Values]:
    """The current students."""
    school_id = KEYS["admin_classes"].parent_of(row.key)
    people = wire.store.people(school_id)
    ids = wire.store.roster(row.key)
    return wire.cards(school_id, (i for i in ids if i in people and people[i].deleted_at is None))


def _course_classes(wire: Wire, row: Row) -> list[Values]:
    """The current course classes."""
    semesters = wire.store.rows("semesters", KEYS["admin_classes"].parent_of(row.key))
    current = [semester.key for semester in semesters if semester.values["is_current"] is True]
    return [
        {name: made.values[name] for name in ("id", "csin", "name", "class_name")}
        for semester_id in current
        for made in wire.store.rows("classes", semester_id)
        if made.deleted_at is None and row.key in ids_of(made.values["admin_class_ids"])
    ]


RESOURCES = (
    Resource(
        "admin_classes",
        Collection(KEYS["admin_classes"], of_school("admin_classes")),
        Form(
            id_lists={"structure_ids": "structures", "teacher_ids": "teachers"},
            shapers=_shapers,
            expand={"teachers": _teachers, "students": _roster, "classes": _course_classes},
            finish=_finish,
        ),
        Listing(
            "/api/v3/admin_class/admin_classes",
            scopes=("admin_class.read",),
            filters={
                "id": is_id,
                "id_in": is_id,
                "name_like": like("name"),
                "outer_id": equal("outer_id"),
                "outer_id_in": one_of("outer_id"),
                "teacher_id": has("teacher_ids"),
                "place_id": equal("place_id", number=True),
                "status": equal("status"),
            },
            understood=understood,
            expandable=True,
            relations=frozenset({"teachers", "students", "classes"}),
            archived=is_archived,
        ),
    ),
)
