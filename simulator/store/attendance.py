"""Timetables and attendance of a platform, generated from the seed on first use."""

from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from simulator.school.base import School
from simulator.school.courses import Semester
from simulator.school.rows import KEYS, Row, school_of, semester_of
from simulator.school.timetable import attendance
from simulator.school.timetable import plan as timetable
from simulator.school.timetable.attendance import Session
from simulator.school.timetable.plan import Plan
from simulator.school.timetable.weeks import TeachingDay, teaching_days, week_of

SESSIONS_KEPT = 50_000


class Membership(NamedTuple):
    """A student's place in a class."""

    class_id: int
    student: int
    number: int
    until: str  # the first day after the membership, YYYY-MM-DD

    def covers(self, day: str) -> bool:
        return day < self.until


class Attendance:
    """The generated attendance. Changes of tests are in the store."""

    def __init__(
        self,
        seed: int,
        week_start: str,
        school: Callable[[int], School],
        semester: Callable[[int], Semester],
        double_booked: int = 0,
    ) -> None:
        self._seed = seed
        self._semester = semester

        def days(semester_id: int) -> list[TeachingDay]:
            return teaching_days(school(school_of(semester_id)).semesters[semester_id], week_start)

        def plans(semester_id: int) -> dict[int, Plan]:
            home = school(school_of(semester_id))
            if semester_id not in home.semesters:
                return {}  # a test inserted it
            term = home.semesters[semester_id]
            weeks = week_of(term.start, term.end, week_start)
            return timetable.build(seed, semester(semester_id), weeks, double_booked)

        self._days = lru_cache(maxsize=None)(days)
        self._plans = lru_cache(maxsize=None)(plans)
        self._sessions = lru_cache(maxsize=None)(self._make_sessions)
        self._members = lru_cache(maxsize=None)(self._make_members)
        self._memberships = lru_cache(maxsize=None)(self._make_memberships)
        self._common = lru_cache(maxsize=SESSIONS_KEPT)(attendance.common_values)

    def plan(self, class_id: int) -> Plan | None:
        """The timetable of a class; None for a class that a test inserted."""
        return self._plans(semester_of(class_id)).get(class_id)

    def sessions(self, class_id: int, today: date) -> list[Row]:
        """The sessions of a class with marks by this day."""
        return [
            Row(made.key, made.values, f"{made.recorded_on} {made.recorded_at}:00")
            for made in self._sessions(class_id)
            if made.recorded_on and made.recorded_on <= today
        ]

    def records(self, session: Row, today: date) -> list[Row]:
        """All records of a session."""
        made = self._session(session)
        if made is None:
            return []
        return self._records(made, self._members(made.class_id), today)

    def record(self, session: Row, membership: Membership, today: date) -> list[Row]:
        """A student's record of a session, if any."""
        made = self._session(session)
        return self._records(made, [membership], today) if made else []

    def memberships(self, semester_id: int, student: int) -> list[Membership]:
        """All classes of a student in a semester, including classes that the student has left."""
        return self._memberships(semester_id).get(student, [])

    def _records(self, made: Session, members: list[Membership], today: date) -> list[Row]:
        common = self._common(made, today)
        updated_at = f"{common['created_date']} {made.recorded_at}:00"
        rows = []
        for member in members:
            if member.covers(common["checked_at"]):
                values = attendance.record(self._seed, made, common, today, member.student, member.number)
                if values:
                    rows.append(Row(values["id"], values, updated_at))
        return rows

    def _session(self, row: Row) -> Session | None:
        """The generated values of a session, even if a test inserted it. None: an invalid date or lesson."""
        spec = KEYS["attendance_sessions"]
        class_id = spec.parent_of(row.key)
        number = row.key - spec.key(class_id, 0)
        if number < spec.added:
            return self._sessions(class_id)[number - 1]
        if class_id not in self._plans(semester_of(class_id)):
            return None
        try:
            day, lesson = date.fromisoformat(row.values["date"]), int(row.values["lesson"])
        except (TypeError, ValueError):
            return None
        return attendance.session(self._seed, class_id, row.key, day, lesson)

    def _make_sessions(self, class_id: int) -> list[Session]:
        plan = self.plan(class_id)
        return list(attendance.sessions(self._seed, plan, self._days(semester_of(class_id)))) if plan else []

    def _make_members(self, class_id: int) -> list[Membership]:
        spec = KEYS["class_members"]
        return [
            Membership(
                class_id,
                row.values["reflection_id"],
                row.key - spec.key(class_id, 0),
                (row.deleted_at or "9999-12-31")[:10],
            )
            for row in self._semester(semester_of(class_id)).members[class_id]
            if row.values["type"] == "student"
        ]

    def _make_memberships(self, semester_id: int) -> dict[int, list[Membership]]:
        memberships: dict[int, list[Membership]] = {}
        for class_id in self._plans(semester_id):
            for membership in self._members(class_id):
                memberships.setdefault(membership.student, []).append(membership)
        return memberships
