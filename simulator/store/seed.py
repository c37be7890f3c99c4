"""The rows generated from the seed, in caches."""

from dataclasses import replace
from functools import lru_cache

from simulator.readings import Readings
from simulator.school import assessments, base, courses, devices, scores
from simulator.school.assessments import Assessment
from simulator.school.base import School
from simulator.school.courses import Semester
from simulator.school.rows import Row, class_of, school_of, semester_of
from simulator.settings import Size
from simulator.store.attendance import Attendance

SCORE_COLLECTIONS_KEPT = 512


class Seed:
    """Schools, semesters, assessments, marks and attendance by key. The same seed gives the same rows."""

    def __init__(self, size: Size, readings: Readings) -> None:
        self._size, self._readings = size, readings
        self.schools = base.schools(size)
        self.school = lru_cache(maxsize=None)(self._make_school)
        self.semester = lru_cache(maxsize=None)(self._make_semester)
        self.assessment = lru_cache(maxsize=None)(self._make_assessment)
        self.scores = lru_cache(maxsize=SCORE_COLLECTIONS_KEPT)(self._make_scores)
        self.grades = lru_cache(maxsize=SCORE_COLLECTIONS_KEPT)(self._make_grades)
        self.attendance = Attendance(
            size.seed, readings.week_start, self.school, self.semester, size.double_booked
        )
        self.sessions = lru_cache(maxsize=None)(self.attendance.sessions)

    def _make_school(self, school_id: int) -> School:
        school = base.build(self._size, school_id)
        return replace(school, rows={**school.rows, **devices.build(school)})

    def _make_semester(self, semester_id: int) -> Semester:
        return courses.build(self._size, self.school(school_of(semester_id)), semester_id)

    def _make_assessment(self, class_id: int) -> Assessment:
        return assessments.build(self._size.seed, self.semester(semester_of(class_id)).courses[class_id])

    def _make_scores(self, item_id: int) -> list[Row]:
        class_id = class_of(item_id)
        course = self.semester(semester_of(class_id)).courses[class_id]
        return scores.scores(self._size.seed, course, self.assessment(class_id), item_id, self._readings)

    def _make_grades(self, class_id: int) -> list[Row]:
        course = self.semester(semester_of(class_id)).courses[class_id]
        return scores.grades(self._size.seed, course, self.assessment(class_id), self._readings)
