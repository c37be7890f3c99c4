"""The data of a school's reports: students, attendance, scores and grades."""

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

COUNTED_GRADES = ("published", "passed", "pending")  # delayed grades have no score yet


class Pupil(NamedTuple):
    """A current student, with the administrative class and the cohort."""

    id: int
    name: str
    usin: str | None
    class_id: int
    class_name: str
    cohort: str  # the graduating year
    grade_name: str


class Course(NamedTuple):
    """A course class."""

    id: int
    name: str
    subject_id: int


class Scored(NamedTuple):
    """A student's score for an item. `points`: in hundredths; None if not scored or not valid."""

    student_id: int
    course: Course
    item: Values
    score: Values
    points: int | None


class Figures:
    """The figures of a school, each computed on first use."""

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
        semesters = {}
        for row in self._store.rows("semesters", self.school_id):
            term = self._store.term(row.key)
            semesters[term.year * 10 + term.half if term else row.key] = row
        return semesters

    @cached_property
    def cohorts(self) -> dict[str, str]:
        """The names of grades with classes, by graduating year."""
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
        pupils = []
        for home in self._store.rows("admin_classes", self.school_id):
            cohort_id = _id(home.values["graduates_in_id"])
            place = (str(home.values["name"]), _name(years.get(cohort_id)), _name(grades.get(cohort_id)))
            for person in filter(None, map(people.get, self._store.roster(home.key))):
                if person.deleted_at is None:
                    values = person.values
                    pupils.append(Pupil(person.key, values["name"], values["usin"], home.key, *place))
        return pupils

    @cached_property
    def class_names(self) -> dict[int, str]:
        """The names of the administrative classes that have students, by id."""
        return {pupil.class_id: pupil.class_name for pupil in self.pupils}

    def rng(self, name: str) -> Random:
        """Random numbers for values without a source in other rows."""
        return Random(f"{self._store.size.seed}/report/{self.school_id}/{name}")

    def courses(self, semester_id: int) -> list[Course]:
        """The undeleted course classes of a semester."""
        return [
            Course(row.key, row.values["name"], _id(row.values["subject_id"]))
            for row in self._store.rows("classes", semester_id)
            if row.deleted_at is None
        ]

    def scores(self, semester_id: int) -> Iterator[Scored]:
        """All scores of a semester, without single additions and deductions."""
        for course in self.courses(semester_id):
            for item in self._store.rows("assessment_items", course.id):
                for row in self._store.rows("scores", item.key):
                    values = row.values
                    if values["type"] == "item_score" and row.deleted_at is None:
                        points = hundredths(values["score"]) if values["valid"] is True else None
                        yield Scored(_id(values["owner_id"]), course, item.values, values, points)

    def summed(self, statuses: Iterable[Counter[str]]) -> Values:
        """The sums of counted statuses: recorded, absent, late, and the attendance rate."""
        total: Counter[str] = Counter()
        for counts in statuses:
            total.update(counts)
        figures = summed(self._store.readings, total)
        recorded = figures["normal"] + figures["late"] + figures["absent"]
        return {
            "recorded": recorded,
            "absent": figures["absent"],
            "late": figures["late"],
            "attendance_rate": float(figures["attendance_rate"]) if recorded else None,
        }

    def _make_attendance(self, semester_id: int) -> dict[int, dict[str, Counter[str]]]:
        """The counts of statuses, by student and day."""
        attendance: dict[int, dict[str, Counter[str]]] = {pupil.id: {} for pupil in self.pupils}
        for course in self.courses(semester_id):
            for session in self._store.rows("attendance_sessions", course.id):
                for row in shown_records(self._store, session.key):
                    days = attendance.get(_id(row.values["student_id"]))
                    if days is not None:
                        statuses = days.setdefault(str(row.values["checked_at"]), Counter())
                        statuses[str(row.values["status"])] += 1
        return attendance

    def _make_grades(self, semester_id: int) -> dict[int, list[tuple[Course, int]]]:
        """The courses of each student with a real score, in hundredths."""
        grades: dict[int, list[tuple[Course, int]]] = {}
        for course in self.courses(semester_id):
            for row in self._store.rows("grades", course.id):
                points = hundredths(row.values["real_score"])
                if points is not None and row.values["status"] in COUNTED_GRADES:
                    grades.setdefault(_id(row.values["owner_id"]), []).append((course, points))
        return grades


def _id(value: object) -> int:
    """An id, or 0 for a missing or invalid id."""
    return value if type(value) is int else 0


def _name(row: Row | None) -> str:
    return str(row.values["name"]) if row else ""


def hundredths(score: object) -> int | None:
    """A written score in hundredths of a point; None without a score."""
    number = decimal_of(score)
    return None if number is None else int(number * 100)


def mean(points: list[int]) -> str | None:
    """The written mean of points in hundredths; None without points."""
    return text(ratio(sum(points), len(points), 1)) if points else None
