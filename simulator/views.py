"""How the v1 generation shows the rows that the v3 generation shows too: the same school in another shape.

A view follows every change of its base rows. Values that a test sets on a view are shown by v1 alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.rows import RESOURCES, Row, Values, ids_of, school_of, semester_of
from simulator.school import users
from simulator.school.calendar import Term
from simulator.school.courses import credit
from simulator.school.timetable import room_name
from simulator.school.weeks import LESSON_DAYS, LESSON_TIMES, week_of

if TYPE_CHECKING:
    from simulator.store import Store

LESSON_NAMES = ("早读", "第一节", "第二节", "第三节", "第四节", "第五节", "第六节", "第七节", "社团")
HOURS_A_CREDIT = 18


class Views:
    """The rows of views, remade when anything has changed."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._overrides: dict[tuple[str, int], Values] = {}
        self._version = -1
        self._made: dict[tuple[str, int], list[Row]] = {}

    def rows(self, resource: str, parent: int) -> list[Row]:
        """All rows of one collection, those of deleted base rows too."""
        if self._version != self._store.version:
            self._made.clear()
            self._version = self._store.version
        found = self._made.get((resource, parent))
        if found is None:
            base = RESOURCES[resource].base
            assert base is not None  # views are the resources that have one
            found = [self._row(resource, row) for row in self._store.rows(base, parent)]
            self._made[resource, parent] = found
        return found

    def override(self, resource: str, key: int, values: Values) -> None:
        """Show these values from now on, whatever the base row says."""
        self._overrides[resource, key] = {**self._overrides.get((resource, key), {}), **values}

    def _row(self, resource: str, row: Row) -> Row:
        values = {
            **_MAKERS[resource](self._store, row),
            **self._overrides.get((resource, row.key), {}),
        }
        if resource == "v1_users" and row.deleted_at and self._store.readings.left_users == "archived":
            return replace(row, values=values | {"status": users.STATUSES["archived"]}, deleted_at=None)
        return replace(row, values=values)


def _semester(store: "Store", row: Row) -> Values:
    school_id = school_of(row.key)
    term = store.term(row.key)
    start = row.values["start_at"]
    return {
        "id": row.key,
        "school_id": school_id,
        "name": row.values["name"],
        "start_at": _day(start),
        "end_in": _day(row.values["end_at"]),
        "lesson_schedules": list(LESSON_TIMES),
        "lesson_names": list(LESSON_NAMES) if school_id % 2 == 0 else [],
        "lesson_days": list(LESSON_DAYS),
        "grade_maps": _grade_maps(store, school_id, term),
        "is_current": row.values["is_current"],
        "current_week": week_of(term.start, store.today, store.readings.week_start) if term else None,
        "created_at": row.updated_at,
        "updated_at": row.updated_at,
    }


def _grade_maps(store: "Store", school_id: int, term: Term | None) -> dict[str, int]:
    """The cohort year of each grade in the semester's own academic year."""
    years_ago = store.last_year(school_id) - term.year if term else 0
    maps = {}
    for grade in store.rows("structures", school_id):
        year = _cohort_year(store, school_id, grade.values.get("graduates_in_id"))
        if year is not None and isinstance(grade.values["name"], str):
            maps[grade.values["name"]] = year - years_ago
    return maps


def _user(store: "Store", row: Row) -> Values:
    v3 = row.values
    school_id = RESOURCES["reflections"].parent_of(row.key)
    role, status = _translated(users.ROLES, v3["role"]), _translated(users.STATUSES, v3["status"])
    student = store.index("students", school_id).get(row.key)
    graduates_in = _cohort_year(store, school_id, student.values["graduates_in_id"]) if student else None
    own = users.details(store.size.seed, row.key, role, graduates_in)
    wards = store.rows("students", school_id) if role == users.GUARDIAN else []
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


def _admin_class(store: "Store", row: Row) -> Values:
    v3 = row.values
    school_id = RESOURCES["admin_classes"].parent_of(row.key)
    times = {"created_at": row.updated_at, "updated_at": row.updated_at}
    place_id = v3["place_id"]
    classroom = None
    if isinstance(place_id, int):
        classroom = {"id": place_id, "name": room_name(place_id), "type": "classroom", "school_id": school_id}
        classroom |= times
    grades = (
        structure.values["name"]
        for structure in store.rows("structures", school_id)
        if structure.values["graduates_in_id"] == v3["graduates_in_id"] is not None
    )
    return {
        "id": row.key,
        "school_id": str(school_id),
        "name": v3["name"],
        "classroom": classroom,
        "graduates_in": _cohort_year(store, school_id, v3["graduates_in_id"]),
        "grade_name": next(grades, ""),
        "teacher_ids": ids_of(v3["teacher_ids"]),
        **times,
    }


def _course_class(store: "Store", row: Row) -> Values:
    v3 = row.values
    school_id = school_of(semester_of(row.key))
    plan = store.attendance.plan(row.key)
    rooms = [{"id": room, "name": room_name(room)} for room in plan.rooms] if plan else []
    grades = [g for i in ids_of(v3["grade_ids"]) if (g := store.index("structures", school_id).get(i))]
    return {
        "id": row.key,
        "school_id": school_id,
        "semester_id": v3["semester_id"],
        "name": v3["name"],
        "csin": v3["csin"],
        "class_name": v3["class_name"],
        "teachers": v3["teachers"],
        "credit": credit(row.key),
        "duration": str(int(credit(row.key) * HOURS_A_CREDIT)),
        "description": "" if row.key % 3 else "面向本年级开设。",
        "attribute": {
            "id": school_id * 1_000 + 990 + (v3["subject_id"] is None),
            "school_id": school_id,
            "type": "course.attribute",
            "name": "选修" if v3["subject_id"] is None else "必修",
        },
        "subject": _named(store, "terms", school_id, v3["subject_id"]),
        "grade": {
            "id": grades[0].key,
            "school_id": school_id,
            "name": ",".join(str(grade.values["name"]) for grade in grades),
        }
        if grades
        else {},
        "start_at": plan.start_at if plan else 1,
        "end_in": plan.end_in if plan else 20,
        "week_type": plan.week_type if plan else 0,
        "capacity": 45,
        "schedules": plan.schedules() if plan else [],
        "locations": rooms,
        "classroom": rooms[0] if rooms else None,
        "admin_class_ids": v3["admin_class_ids"],
        "textbook": ("人教版", "北师大版", "")[row.key % 3],
    }


_MAKERS: dict[str, Callable[["Store", Row], Values]] = {
    "v1_semesters": _semester,
    "v1_users": _user,
    "v1_admin_classes": _admin_class,
    "v1_classes": _course_class,
}


def _cohort_year(store: "Store", school_id: int, term_id: object) -> int | None:
    """The graduating year that a term of the type system.graduates_in names."""
    term = store.index("terms", school_id).get(term_id) if isinstance(term_id, int) else None
    name = term.values["name"] if term else None
    return int(name) if isinstance(name, str) and name.isascii() and name.isdigit() else None


def _named(store: "Store", resource: str, school_id: int, key: object) -> Values | None:
    row = store.index(resource, school_id).get(key) if isinstance(key, int) else None
    return {"id": row.key, "school_id": school_id, "name": row.values["name"]} if row else None


def _translated(words: dict[str, int], value: Any) -> Any:
    """The v1 number of a v3 word; what a test put there instead is sent as it is."""
    return words.get(value, value) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return "" if value is None else value


def _day(value: Any) -> Any:
    return value[:10] if isinstance(value, str) else value
