"""Students, teachers, staff and guardians of a school. Each person is a reflection too."""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from simulator.school.calendar import moment, stamp
from simulator.school.names import person, phone
from simulator.school.rows import KEYS, Row, Values

LEFT_SHARE = 0.02  # of students and teachers, over all semesters
GUARDIAN_SHARE = 0.6


@dataclass(frozen=True)
class Person:
    """The data of a person for other rows."""

    id: int
    name: str
    usin: str | None
    left: date | None = None


@dataclass
class People:
    """The rows of all persons, which grow while a school is generated."""

    school_id: int
    rng: Random
    first_day: date
    today: date
    reflections: list[Row]
    students: list[Row]
    teachers: list[Row]

    def student(self, grade_structure: int, cohort: int) -> Person:
        """Add a student. Two in a hundred have left since, and only with_trashed shows them."""
        someone, reflection = self._reflection("student", [grade_structure], leaves=True)
        extra = {
            "pupil_id": None if self.rng.random() < 0.05 else 700_000 + someone.id % 1_000_000,
            "graduates_in_id": cohort,
        }
        self.students.append(_derived(reflection, ("phone",), "outer_id", extra))
        return someone

    def teacher(self, group: int, department: str) -> Person:
        """Add a teacher to a subject group."""
        someone, reflection = self._reflection("teacher", [group], leaves=True)
        departments = [department] if self.rng.random() < 0.9 else []
        self.teachers.append(_derived(reflection, (), "status", {"department_names": departments}))
        return someone

    def others(self, headquarters: int, students: int) -> None:
        """Add staff, and a guardian for most students."""
        for _ in range(2 + students // 100):
            self._reflection("staff", [headquarters])
        for _ in range(int(students * GUARDIAN_SHARE)):
            self._reflection("guardian", None)

    def _reflection(
        self, role: str, structure_ids: list[int] | None, *, leaves: bool = False
    ) -> tuple[Person, Row]:
        rng = self.rng
        key = KEYS["reflections"].key(self.school_id, len(self.reflections) + 1)
        left = None
        if leaves and rng.random() < LEFT_SHARE:
            left = self.first_day + timedelta(days=rng.randrange((self.today - self.first_day).days + 1))
        usin = f"{key % 1_000_000:06d}" if role != "guardian" and rng.random() > 0.01 else None
        someone = Person(key, person(rng), usin, left)
        values: Values = {
            "id": key,
            "school_id": self.school_id,
            "name": someone.name,
            "role": role,
            "usin": usin,
            "phone": "" if rng.random() < 0.05 else None if role == "student" else phone(rng),
            "structure_ids": structure_ids if rng.random() > 0.02 else None,
            "outer_id": f"{role[0].upper()}-{key}" if rng.random() < 0.7 else None,
            "status": "archived" if left else "disabled" if rng.random() < 0.01 else "normal",
            "deleted_at": stamp(left, 64_800) if left else None,
        }
        updated = stamp(left, 64_800) if left else moment(rng, self.first_day, self.today)
        row = Row(key, values, updated, values["deleted_at"])
        self.reflections.append(row)
        return someone, row


def _derived(reflection: Row, without: tuple[str, ...], before: str, extra: Values) -> Row:
    """The person as student or teacher: the reflection's fields, with further fields inserted."""
    values: Values = {}
    for name, value in reflection.values.items():
        if name == before:
            values |= extra
        if name not in without and name != "deleted_at":
            values[name] = value
    return Row(reflection.key, values, reflection.updated_at, reflection.deleted_at)
