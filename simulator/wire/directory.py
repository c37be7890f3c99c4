"""The students, teachers and classes that v1 shows inside other objects."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from simulator.readings import Readings
from simulator.school.rows import Row, Values, ids_of, school_of, semester_of
from simulator.school.users import GENDERS, STATUS_LABELS
from simulator.store.store import Store

# Differences between v1 ids and v3 ids, by the readings.
OTHER_CLASS_IDS = 7_000_000_000
OTHER_STUDENT_IDS = 9_000_000
OTHER_SEMESTER_IDS = {"same": 0, "other": 7_000_000, "shifted": 1}


class Directory:
    """Short objects of people and classes. Objects inside attendance are cached as bytes, for their
    number."""

    def __init__(self, store: Store, readings: Readings) -> None:
        self._store = store
        self._readings = readings
        self._version = -1
        self._encoded: dict[tuple[str, int], msgspec.Raw] = {}
        self._enrolled = lru_cache(maxsize=32)(self._make_enrolled)

    def semester_id(self, key: int) -> int:
        """The v1 id of a semester."""
        return key + OTHER_SEMESTER_IDS[self._readings.v1_semester_ids]

    def semester_key(self, shown: int) -> int:
        """The semester of a v1 id."""
        return shown - OTHER_SEMESTER_IDS[self._readings.v1_semester_ids]

    def semester(self, row: Row) -> Values:
        """A semester as v1 shows it."""
        values = dict(row.values)
        self.renumber(row, values)
        return values

    def renumber(self, row: Row, values: Values) -> None:
        """Give a semester its v1 id, unless a test has set an id."""
        if values["id"] == row.key:
            values["id"] = self.semester_id(row.key)

    def class_id(self, key: int) -> int:
        """The v1 id of a class."""
        return key + OTHER_CLASS_IDS if self._readings.v1_class_ids == "other" else key

    def class_key(self, shown: int) -> int:
        """The class of a v1 id."""
        return shown - OTHER_CLASS_IDS if self._readings.v1_class_ids == "other" else shown

    def profile(self, school_id: int, key: int) -> Values | None:
        """A student's whole profile, as in the answer for a card."""
        row = self._store.index("v1_users", school_id).get(key)
        if row is None:
            return None
        pupil = self._store.index("students", school_id).get(key)
        structures = self._store.index("structures", school_id)
        grades = [structures[i].values["name"] for i in _structure_ids(pupil) if i in structures]
        graduates_in = row.values["graduates_in"]
        profile = {
            "rid": key,
            **_person(row),
            "graduates_label": f"{graduates_in}届" if isinstance(graduates_in, int) else "",
            "grade_name": grades[0] if grades else "",
        }
        if self._readings.student_ids == "rid":
            del profile["id"]
        return profile

    def student(self, school_id: int, key: int) -> Values | None:
        """A student as in the lists of classes and of their attendance."""
        profile = self.profile(school_id, key)
        if profile:
            if self._readings.student_ids == "id":
                del profile["rid"]
            del profile["grade_name"]
        return profile

    def encoded_student(self, school_id: int, key: int) -> msgspec.Raw:
        """A student in attendance, as bytes."""
        return self._cached("student", key, lambda: self.standing(self._present(school_id, key)))

    def _present(self, school_id: int, key: int) -> Values | None:
        student = self.student(school_id, key)
        if student and self._readings.session_student_ids == "other":
            return {**student, "id": key + OTHER_STUDENT_IDS}
        return student

    def standing(self, student: Values | None) -> Values | None:
        """A student in answers of v1: flat, or nested in a `reflection`."""
        return {"reflection": student} if student and self._readings.v1_students == "nested" else student

    def encoded_class(self, key: int) -> msgspec.Raw:
        """A class in the list of a student's attendance, as bytes."""
        return self._cached("klass", key, lambda: self._klass(key))

    def people(self, school_id: int, ids: Iterable[int]) -> list[Values]:
        """Users inside other objects, with v1's `reflection`, without users who left."""
        users = self._store.index("v1_users", school_id)
        rows = [users[key] for key in ids if key in users and users[key].deleted_at is None]
        flat = self._readings.v1_teachers == "flat"
        return [
            {
                **(_person(row) if flat else {}),
                "reflection": {"id": row.key, "name": row.values["name"], "usin": row.values["usin"]},
            }
            for row in rows
        ]

    def enrolled(self, semester_id: int) -> dict[int, list[int]]:
        """The current classes of all students and teachers in a semester, by person."""
        return self._enrolled(semester_id, self._store.version)

    def students_of(self, class_id: int) -> list[int]:
        """The current students of a class, in the order of its members."""
        users = self._store.index("v1_users", school_of(semester_of(class_id)))
        ids = (
            row.values["reflection_id"]
            for row in self._store.rows("class_members", class_id)
            if row.deleted_at is None and row.values["type"] == "student"
        )
        return [key for key in ids if isinstance(key, int) and key in users and not users[key].deleted_at]

    def _make_enrolled(self, semester_id: int, _version: int) -> dict[int, list[int]]:
        enrolled: dict[int, list[int]] = {}
        for course_class in self._store.rows("classes", semester_id):
            if course_class.deleted_at is None:
                teachers = ids_of(course_class.values["teachers"])
                for key in dict.fromkeys([*teachers, *self.students_of(course_class.key)]):
                    enrolled.setdefault(key, []).append(course_class.key)
        return enrolled

    def _cached(self, kind: str, key: int, make: Callable[[], Values | None]) -> msgspec.Raw:
        if self._version != self._store.version:
            self._encoded.clear()
            self._version = self._store.version
        encoded = self._encoded.get((kind, key))
        if encoded is None:
            encoded = msgspec.Raw(msgspec.json.encode(make()))
            self._encoded[kind, key] = encoded
        return encoded

    def _klass(self, key: int) -> Values:
        row = self._store.index("v1_classes", semester_of(key))[key]
        school_id = school_of(semester_of(key))
        return {
            "name": row.values["name"],
            "class_name": row.values["class_name"],
            "id": self.class_id(key),
            "csin": row.values["csin"],
            "teachers": self.people(school_id, ids_of(row.values["teachers"])),
            "classroom": row.values["classroom"],
        }


def _person(row: Row) -> Values:
    values = row.values
    return {
        "id": row.key,
        "usin": values["usin"],
        "name": values["name"],
        "pinyin": f"pinyin{row.key % 1_000_000}",
        "avatar_url": values["avatar_url"],
        "gender": values["gender"],
        "status": values["status"],
        "gender_label": _label(GENDERS, values["gender"]),
        "status_label": _label(STATUS_LABELS, values["status"]),
    }


def _label(labels: dict[Any, str], value: object) -> str:
    return labels.get(value, "") if isinstance(value, int | str) else ""


def _structure_ids(row: Row | None) -> list[int]:
    return ids_of(row.values["structure_ids"]) if row else []
