"""A school's base data: semesters, terms, structures, people and administrative classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import cycle
from random import Random

from simulator.school import names
from simulator.school.calendar import Term, moment, semesters, stamp
from simulator.school.people import People, Person
from simulator.school.rows import FIRST_SCHOOL, KEYS, Row, Values
from simulator.settings import Size

STUDENTS_PER_GRADE = 80  # fewer grades instead of single classes, which have no comparison
STUDENTS_PER_CLASS = 40
STUDENTS_PER_TEACHER = 13


@dataclass(frozen=True)
class Grade:
    """A cohort: its grade from 1 to 12 this year, its structure and its term."""

    index: int
    structure_id: int
    cohort_id: int


@dataclass(frozen=True)
class AdminClass:
    """An administrative class, whose students take most courses together."""

    id: int
    number: int
    grade: Grade
    students: list[Person]


@dataclass(frozen=True)
class School:
    """A school's rows by resource, and the input for its semesters."""

    id: int
    rows: dict[str, list[Row]]
    semesters: dict[int, Term]
    admin_classes: list[AdminClass]
    teachers: dict[str, list[Person]]
    subject_ids: dict[str, int]
    domain_ids: list[int]


def schools(size: Size) -> list[Row]:
    """The list that GET /api/v1/schools shows."""
    rows = []
    for number in range(size.schools):
        key = FIRST_SCHOOL + number
        round_, index = divmod(number, len(names.SCHOOLS))
        name = names.SCHOOLS[index] + (f"（{round_ + 1}）" if round_ else "")
        url = f"https://school-{key}.example.edu.cn"
        values = {"id": key, "name": name, "url": url, "district": names.DISTRICTS[index]}
        rows.append(Row(key, values, stamp(size.today)))
    return rows


def build(size: Size, school_id: int) -> School:
    """Generate a school. The same arguments give the same rows."""
    rng = Random(f"{size.seed}/school/{school_id}")
    calendar = semesters(size.today, size.semesters)
    grade_count = max(1, min(len(names.GRADES), size.students // STUDENTS_PER_GRADE))
    grade_indexes = range(len(names.GRADES) - grade_count, len(names.GRADES))
    terms = _Terms(school_id, rng, calendar[0].start)
    year_ids = {year: terms.add("system.academic_year", f"{year}-{year + 1}") for year in _years(calendar)}
    half_ids = [terms.add("system.semester_category", name) for name in ("上学期", "下学期")]
    last_year = calendar[-1].year
    cohort_ids = {
        index: terms.add("system.graduates_in", str(last_year + 12 - index)) for index in grade_indexes
    }
    terms.add("system.graduates_in", str(last_year), archived=calendar[-1].start)
    subject_ids: dict[str, int] = {}
    for name, _code, _, parent in names.SUBJECTS:
        subject_ids[name] = terms.add("course.subject", name, parent=subject_ids.get(parent or "", 0))
    domain_ids = [terms.add("course.domain", name) for name in names.DOMAINS]

    structures = _Structures(school_id, rng, calendar[0].start, size.today)
    grades, groups = _structure_tree(structures, size, grade_indexes, cohort_ids)
    people = People(school_id, rng, calendar[0].start, size.today, reflections=[], students=[], teachers=[])
    teachers = _hire(people, size, groups)
    admin_classes = list(_admin_classes(people, size, grades))
    people.others(structures.rows[0].key, size.students)
    semester_ids = {KEYS["semesters"].key(school_id, n): term for n, term in enumerate(calendar, 1)}
    return School(
        id=school_id,
        rows={
            "semesters": [
                _semester(key, t, year_ids[t.year], half_ids[t.half - 1]) for key, t in semester_ids.items()
            ],
            "terms": terms.rows,
            "structures": structures.rows,
            "reflections": people.reflections,
            "students": people.students,
            "teachers": people.teachers,
            "admin_classes": _admin_class_rows(rng, size, admin_classes, teachers),
        },
        semesters=semester_ids,
        admin_classes=admin_classes,
        teachers=teachers,
        subject_ids=subject_ids,
        domain_ids=domain_ids,
    )


def _years(calendar: list[Term]) -> list[int]:
    return sorted({term.year for term in calendar})


def _semester(key: int, term: Term, year_id: int, category_id: int) -> Row:
    values: Values = {
        "id": key,
        "school_id": KEYS["semesters"].parent_of(key),
        "academic_year_id": year_id,
        "category_id": category_id,
        "name": f"{term.year}-{term.year + 1}学年{'上下'[term.half - 1]}学期",
        "start_at": stamp(term.start),
        "end_at": stamp(term.end),
        "is_current": term.current,
        "outer_id": f"{term.year}{term.half}" if term.half == 1 else None,
    }
    return Row(key, values, stamp(term.start))


class _Terms:
    def __init__(self, school_id: int, rng: Random, since: date) -> None:
        self.school_id, self.rng, self.since = school_id, rng, since
        self.rows: list[Row] = []

    def add(self, type_: str, name: str, *, parent: int = 0, archived: date | None = None) -> int:
        key = KEYS["terms"].key(self.school_id, len(self.rows) + 1)
        values: Values = {
            "id": key,
            "school_id": self.school_id,
            "parent_id": parent,
            "name": name,
            "label": name,
            "description": "",
            "type": type_,
            "weight": len(self.rows),
            "archived_at": stamp(archived) if archived else None,
        }
        self.rows.append(Row(key, values, moment(self.rng, self.since, self.since)))
        return key


class _Structures:
    def __init__(self, school_id: int, rng: Random, since: date, today: date) -> None:
        self.school_id, self.rng, self.since, self.today = school_id, rng, since, today
        self.rows: list[Row] = []

    def add(self, type_: str, name: str, parent: Values | None = None, **fields: object) -> Values:
        key = KEYS["structures"].key(self.school_id, len(self.rows) + 1)
        created = moment(self.rng, self.since, self.since)
        values: Values = {
            "id": key,
            "school_id": self.school_id,
            "parent_id": parent["id"] if parent else 0,
            "depth": parent["depth"] + 1 if parent else 1,
            "seq": len(self.rows) + 1,
            "weight": 0,
            "name": name,
            "path": f"{parent['path']}/{key}" if parent else str(key),
            "type": type_,
            "graduates_in_id": None,
            "outer_id": f"ORG{key}" if self.rng.random() < 0.5 else None,
            "status": "normal",
            "created_at": created,
            "updated_at": max(created, moment(self.rng, self.since, self.today)),
            **fields,
        }
        self.rows.append(Row(key, values, values["updated_at"]))
        return values


def _structure_tree(
    structures: _Structures, size: Size, grade_indexes: range, cohort_ids: dict[int, int]
) -> tuple[list[Grade], dict[str, int]]:
    """Add the tree from headquarters to grades. Returns the grades, and the group of each subject."""
    top = structures.add("headquarters", "校总部")
    campuses = [structures.add("campus", name, top) for name in names.CAMPUSES[: 1 + (size.students >= 1000)]]
    stage_of = {index: min(index // 3 - 1, 2) if index >= 6 else 0 for index in grade_indexes}
    stages = {
        stage: structures.add("school_level", names.STAGES[stage], campuses[stage % len(campuses)])
        for stage in sorted(set(stage_of.values()))
    }
    grades = []
    for index in grade_indexes:
        made = structures.add(
            "grade", names.GRADES[index], stages[stage_of[index]], graduates_in_id=cohort_ids[index]
        )
        grades.append(Grade(index, made["id"], cohort_ids[index]))
    structures.add("grade", "往届", stages[max(stages)], status="archived")
    groups = {name: structures.add("subject_group", f"{name}组", top)["id"] for name, *_ in names.SUBJECTS}
    return grades, groups


def _hire(people: People, size: Size, groups: dict[str, int]) -> dict[str, list[Person]]:
    """Teachers by subject, at least two per subject, since one may leave."""
    teachers: dict[str, list[Person]] = {name: [] for name in groups}
    count = max(2 * len(groups), size.students // STUDENTS_PER_TEACHER)
    for _, (subject, group) in zip(range(count), cycle(groups.items()), strict=False):
        teachers[subject].append(people.teacher(group, f"{subject}组"))
    return teachers


def _admin_classes(people: People, size: Size, grades: list[Grade]) -> Iterator[AdminClass]:
    for position, grade in enumerate(grades):
        enrolled = _share(size.students, len(grades), position)
        class_count = max(1, round(enrolled / STUDENTS_PER_CLASS))
        for number in range(class_count):
            members = [
                people.student(grade.structure_id, grade.cohort_id)
                for _ in range(_share(enrolled, class_count, number))
            ]
            key = KEYS["admin_classes"].key(people.school_id, 5_001 + position * 100 + number)
            yield AdminClass(key, number + 1, grade, members)


def _share(total: int, parts: int, part: int) -> int:
    """The size of a part when a total is split evenly."""
    return total // parts + (part < total % parts)


def _admin_class_rows(
    rng: Random, size: Size, classes: list[AdminClass], teachers: dict[str, list[Person]]
) -> list[Row]:
    staff = [t for group in teachers.values() for t in group if t.left is None]
    rows = []
    for made in classes:
        values: Values = {
            "id": made.id,
            "school_id": KEYS["admin_classes"].parent_of(made.id),
            "name": "1班" if size.same_class_names else f"{names.GRADES[made.grade.index]}({made.number})班",
            "graduates_in_id": made.grade.cohort_id,
            "structure_ids": [made.grade.structure_id] if rng.random() > 0.02 else None,
            "place_id": 900_000 + made.id % 10_000 if rng.random() > 0.05 else None,
            "teacher_ids": [t.id for t in rng.sample(staff, min(len(staff), 1 + rng.randrange(3)))],
            "student_nums": sum(s.left is None for s in made.students),
            "outer_id": None,
            "status": "normal",
        }
        rows.append(Row(made.id, values, moment(rng, size.today, size.today)))
    return rows
