"""What a school's reports are made from: its students, their attendance, scores and grades."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property, lru_cache
from random import Random
from typing import NamedTuple

from simulator.messages import decimal_of
from simulator.school.points import ratio, text
from simulator.school.rows import Row, Values
from simulator.store.statistics import shown_records, summed
from simulator.store.store import Store

COUNTED_GRADES = ("published", "passed", "pending")  # those that are delayed say nothing yet


class Pupil(NamedTuple):
    """A student who has not left, and the administrative class and the cohort that he or she is in."""

    id: int
    name: str
    usin: str | None
    class_id: int
    class_name: str
    cohort: str  # the year in which it graduates
    grade_name: str


class Course(NamedTuple):
    """A course class."""

    id: int
    name: str
    subject_id: int


class Scored(NamedTuple):
    """A student's score for an item: points in hundredths, None where it is not scored or not valid."""

    student_id: int
    course: Course
    item: Values
    score: Values
    points: int | None


class Figures:
    """The figures of one school, each made when it is first asked for."""

    def __init__(self, store: Store, school_id: int) -> None:
        self._store = store
        self.school_id = school_id
        self.attendance = lru_cache(maxsize=None)(self._make_attendance)
        self.grades = lru_cache(maxsize=None)(self._make_grades)

    @property
    def today(self) -> date:
        """The platform's date."""
        return self._store.today

    @cached_property
    def semesters(self) -> dict[int, Row]:
        """The semesters, oldest first, by year and half: 20241, the same in all schools."""
        found = {}
        for row in self._store.rows("semesters", self.school_id):
            term = self._store.term(row.key)
            found[term.year * 10 + term.half if term else row.key] = row
        return found

    @cached_property
    def cohorts(self) -> dict[str, str]:
        """The name of each grade that has classes, by the year in which it graduates."""
        return {pupil.cohort: pupil.grade_name for pupil in self.pupils}

    @cached_property
    def subjects(self) -> dict[int, str]:
        """The names of the subjects by id."""
        rows = self._store.rows("terms", self.school_id)
        return {row.key: str(row.values["name"]) for row in rows if row.values["type"] == "course.subject"}

    @cached_property
    def pupils(self) -> list[Pupil]:
        """The students, class by class."""
        people = self._store.index("students", self.school_id)
        years = self._store.index("terms", self.school_id)
        structures = self._store.rows("structures", self.school_id)
        grades = {_id(row.values["graduates_in_id"]): row for row in structures}
        found = []
        for home in self._store.rows("admin_classes", self.school_id):
            cohort_id = _id(home.values["graduates_in_id"])
            place = (str(home.values["name"]), _name(years.get(cohort_id)), _name(grades.get(cohort_id)))
            for person in filter(None, map(people.get, self._store.roster(home.key))):
                if person.deleted_at is None:
                    values = person.values
                    found.append(Pupil(person.key, values["name"], values["usin"], home.key, *place))
        return found

    @cached_property
    def class_names(self) -> dict[int, str]:
        """The names of the administrative classes that have students, by id."""
        return {pupil.class_id: pupil.class_name for pupil in self.pupils}

    def rng(self, name: str) -> Random:
        """Random numbers for what no other rows say."""
        return Random(f"{self._store.size.seed}/report/{self.school_id}/{name}")

    def courses(self, semester_id: int) -> list[Course]:
        """The course classes of a semester that are not deleted."""
        return [
            Course(row.key, row.values["name"], _id(row.values["subject_id"]))
            for row in self._store.rows("classes", semester_id)
            if row.deleted_at is None
        ]

    def scores(self, semester_id: int) -> Iterator[Scored]:
        """All scores of a semester, without the additions and deductions that make them up."""
        for course in self.courses(semester_id):
            for item in self._store.rows("assessment_items", course.id):
                for row in self._store.rows("scores", item.key):
                    values = row.values
                    if values["type"] == "item_score" and row.deleted_at is None:
                        points = hundredths(values["score"]) if values["valid"] is True else None
                        yield Scored(_id(values["owner_id"]), course, item.values, values, points)

    def summed(self, statuses: Iterable[Counter[str]]) -> Values:
        """What counted statuses add up to: recorded, absent, late, and the rate of attendance."""
        total: Counter[str] = Counter()
        for each in statuses:
            total.update(each)
        found = summed(self._store.readings, total)
        recorded = found["normal"] + found["late"] + found["absent"]
        return {
            "recorded": recorded,
            "absent": found["absent"],
            "late": found["late"],
            "attendance_rate": float(found["attendance_rate"]) if recorded else None,
        }

    def _make_attendance(self, semester_id: int) -> dict[int, dict[str, Counter[str]]]:
        """How often each student had which status, by student and day."""
        found: dict[int, dict[str, Counter[str]]] = {pupil.id: {} for pupil in self.pupils}
        for course in self.courses(semester_id):
            for session in self._store.rows("attendance_sessions", course.id):
                for row in shown_records(self._store, session.key):
                    days = found.get(_id(row.values["student_id"]))
                    if days is not None:
                        statuses = days.setdefault(str(row.values["checked_at"]), Counter())
                        statuses[str(row.values["status"])] += 1
        return found

    def _make_grades(self, semester_id: int) -> dict[int, list[tuple[Course, int]]]:
        """The courses of each student and the real score in hundredths, where there is one."""
        found: dict[int, list[tuple[Course, int]]] = {}
        for course in self.courses(semester_id):
            for row in self._store.rows("grades", course.id):
                points = hundredths(row.values["real_score"])
                if points is not None and row.values["status"] in COUNTED_GRADES:
                    found.setdefault(_id(row.values["owner_id"]), []).append((course, points))
        return found


def _id(value: object) -> int:
    """An id; 0, which nothing has, where there is none or a test put something else there."""
    return value if type(value) is int else 0


def _name(row: Row | None) -> str:
    return str(row.values["name"]) if row else ""


def hundredths(score: object) -> int | None:
    """A score as the platform writes it in hundredths of a point; None for none."""
    number = decimal_of(score)
    return None if number is None else int(number * 100)


def mean(points: list[int]) -> str | None:
    """The mean of points in hundredths, as the platform writes it; None without any."""
    return text(ratio(sum(points), len(points), 1)) if points else None
