"""The course classes of a semester and their members."""

from collections.abc import Collection as Names
from collections.abc import Iterable

from simulator.http.filters import has, is_id, updated_since
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.messages import Problem, Request, parse_integers
from simulator.school.rows import KEYS, Row, Values, ids_of, school_of, semester_of
from simulator.store.store import Collection, Store
from simulator.wire.wire import Form, Shaper, Wire

SCOPES = ("class.read",)


def semesters(platform: Platform, request: Request) -> list[int]:
    """The semester of the request, or all semesters. The reading decides about unknown semesters."""
    semester_ids = platform.store.semester_ids(request.school_id)
    semester_id = request.integer("semester_id")
    if semester_id is None:
        return semester_ids
    if semester_id in semester_ids:
        return [semester_id]
    if platform.readings.unknown_ids == "404":
        raise Problem(404, f"school {request.school_id} has no semester {semester_id}")
    return []


def classes_of_members(platform: Platform, request: Request) -> list[int]:
    """The classes of the request: the classes in class_id_in, or all classes of a semester."""
    if "semester_id" not in request.query:
        raise Problem(422, "semester_id is required")
    semester_ids = semesters(platform, request)
    wanted = request.query.get("class_id_in")
    if wanted is None:
        return platform.store.class_ids(semester_ids)
    return [i for i in dict.fromkeys(parse_integers("class_id_in", wanted)) if semester_of(i) in semester_ids]


def _new_class(_: Store, _semester_id: int, key: int) -> Values:
    return {"csin": f"NEW-{key}"}


def _finish(wire: Wire, row: Row, values: Values, expand: Names[str]) -> None:
    for name in ("teachers", "students"):
        ids = values.get(name)
        if ids_of(ids) != ids:
            continue  # an invalid value of a test stays unchanged
        form = "objects" if name in expand else wire.readings.unexpanded
        if form == "objects":
            values[name] = wire.cards(school_of(semester_of(row.key)), ids)
        elif form == "omitted":
            del values[name]
        elif form == "empty":
            values[name] = []
    if wire.readings.admin_class_ids == "expanded" and "admin_class_ids" not in expand:
        values.pop("admin_class_ids", None)
    if wire.readings.grade_ids == "absent":
        values.pop("grade_ids", None)


def _grades(wire: Wire, row: Row) -> list[Values]:
    structures = [wire.store.find("structures", key) for key in ids_of(row.values.get("grade_ids"))]
    return [{"id": grade.key, "name": grade.values["name"]} for grade in structures if grade]


def _weekly_lessons(wire: Wire, row: Row) -> list[Values]:
    plan = wire.store.attendance.plan(row.key)
    return [{"day": made.day, "lesson": made.lesson} for made in plan.lessons] if plan else []


def _new_member(store: Store, class_id: int, _key: int) -> Values:
    members = [row.values["reflection_id"] for row in store.rows("class_members", class_id)]
    students = store.rows("students", school_of(semester_of(class_id)))
    # If everybody has been in the class already, a member joins again.
    new = next((s.key for s in students if s.key not in members), students[-1].key)
    return {"type": "student", "reflection_id": new}


def _member_shapers(wire: Wire) -> Iterable[Shaper]:
    if wire.readings.member_class_id == "present":
        yield lambda row, values: values.update(class_id=KEYS["class_members"].parent_of(row.key))
    if wire.readings.member_times == "alike":
        yield lambda _, values: values.update(created_at=f"{values['created_at'][:4]}-01-01 00:00:00")
    if wire.readings.member_times == "absent":
        yield _without_times


def _without_times(_: Row, values: Values) -> None:
    for name in ("created_at", "updated_at"):
        values.pop(name, None)


RESOURCES = (
    Resource(
        "classes",
        Collection(
            KEYS["classes"],
            lambda store, semester_id: store.seed.semester(semester_id).classes,
            identity=_new_class,
        ),
        Form(
            id_lists={
                "grade_ids": "structures",
                "structure_ids": "structures",
                "admin_class_ids": "admin_classes",
            },
            deleted_at=True,
            expand={"grades": _grades, "class_lessons": _weekly_lessons, "tag": lambda _wire, _row: None},
            finish=_finish,
        ),
        Listing(
            "/api/v3/klass/classes",
            scopes=SCOPES,
            parents=semesters,
            chosen_by=("semester_id",),
            filters={
                "id_in": is_id,
                "updated_at_egt": updated_since,
                "admin_class_id": has("admin_class_ids"),
            },
            with_trashed=True,
            expandable=True,
            relations=frozenset(
                {"grades", "teachers", "students", "admin_class_ids", "class_lessons", "tag"}
            ),
        ),
    ),
    Resource(
        "class_members",
        Collection(
            KEYS["class_members"],
            lambda store, class_id: store.seed.semester(semester_of(class_id)).members[class_id],
            identity=_new_member,
            sends_id=False,
        ),
        Form(enum="type", shapers=_member_shapers),
        Listing(
            "/api/v3/klass/class-selections",
            scopes=SCOPES,
            parents=classes_of_members,
            chosen_by=("semester_id", "class_id_in"),
            filters={"updated_at_egt": updated_since},
            with_trashed=True,
        ),
    ),
)
