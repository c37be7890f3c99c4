"""The data for the attendance requests of one semester: calendar, classes, members and stored sessions."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import TypeVar

from campus.attendance.calendar import Calendar, ClassTimes, Meeting, Session
from campus.contracts.v1_attendance import AttendanceSession

T = TypeVar("T")

# Sessions of either kind that are requested to see whether the platform shows any.
SHOWN_BY = 10


@dataclass
class Refusals:
    """The sessions of a semester that the platform refused in this run."""

    #: The platform showed some session, recorded or not.
    shown: bool = False
    #: Refused sessions that were not recorded.
    unrecorded: set[Session] = field(default_factory=set)
    #: Requests sessions until the platform shows any. None: not begun.
    search: asyncio.Task[None] | None = None


@dataclass(frozen=True)
class Semester:
    """The attendance of one semester of a school, as far as the lake and this run know it."""

    school_id: int
    calendar: Calendar
    #: By the platform's clock.
    today: date
    classes: Sequence[ClassTimes]
    #: By student and class, the student's last day in the class. date.max: the student has not left.
    members: Mapping[int, Mapping[int, date]]
    #: Students whom the platform still lists.
    askable: frozenset[int]
    #: Student numbers, by id.
    usins: Mapping[int, str]
    #: Stored sessions, by week.
    stored: Mapping[int, Mapping[Session, AttendanceSession]]
    #: First and last day of each other semester of the school.
    others: Sequence[tuple[date, date]]
    #: Sessions with records, as far as this run has seen.
    seen: frozenset[Session] = frozenset()
    #: Askable students whom only classes list. Where their list is empty, the platform may not know them.
    unlisted: frozenset[int] = frozenset()
    #: Students or members of classes were never loaded, so that nothing tells who has left.
    lacks_members: bool = False
    refusals: Refusals = field(default_factory=Refusals, compare=False)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Students by their number. A number that two students share is left out."""
        times = Counter(self.usins.values())
        return {usin: student for student, usin in self.usins.items() if usin and times[usin] == 1}

    @property
    def students(self) -> list[int]:
        """The students to request by students."""
        return sorted(self.members.keys() & self.askable)

    def is_of_another(self, day: date | None) -> bool:
        """Whether a day lies in another semester. A day that lies in none may be of this semester."""
        if day is None or self.calendar.first <= day <= self.calendar.last:
            return False
        return any(first <= day <= last for first, last in self.others)

    def scheduled(self, week: int) -> set[Session]:
        """The sessions of a week by the present schedules, up to today."""
        return set(self.calendar.sessions(self.classes, week, self.today))

    def possible(self, weeks: Iterable[int]) -> set[Session]:
        """The sessions of some weeks that may have taken place by any reading of the schedules, and others
        that are known to have."""
        return {
            session
            for week in weeks
            for session in (
                *self.calendar.possible(self.classes, week, self.today),
                *self.stored.get(week, {}),
            )
        }

    def with_attended(self, attended: Iterable[Session]) -> "Semester":
        """Add sessions with records. A class that met in a week in which it does not by any reading of its
        schedule may meet in any week."""
        attended = frozenset(attended)
        times = {times.class_id: times for times in self.classes}
        unscheduled = {
            session.class_id
            for session in attended
            if (own := times.get(session.class_id))
            and Meeting(session.day.isoweekday(), session.lesson) in own.meetings
            and not self.calendar.may_meet(own, session.day)
        }
        classes = [
            replace(own, any_week=True) if own.class_id in unscheduled else own for own in self.classes
        ]
        return replace(self, classes=classes, seen=self.seen | attended)

    def of_classes(self, class_ids: Collection[int]) -> "Semester":
        """Limit the semester to some classes."""
        stored = {
            week: {session: row for session, row in rows.items() if session.class_id in class_ids}
            for week, rows in self.stored.items()
        }
        classes = [times for times in self.classes if times.class_id in class_ids]
        return replace(self, classes=classes, stored=stored)

    def likely_recorded(self) -> list[Session]:
        """Some sessions that the platform shows if it shows any: first sessions with records, then others."""
        counted = {
            session for week in self.stored.values() for session, row in week.items() if counts_any(row)
        }
        every = self.possible(self.calendar.weeks_until(self.today))
        recorded = sample(sorted(counted | self.seen), SHOWN_BY)
        return [*recorded, *sample(sorted(every.difference(recorded)), SHOWN_BY)]

    def attended(self, students: Collection[int], sessions: Iterable[Session]) -> set[Session]:
        """The sessions that any of these students may have attended."""
        until: dict[int, date] = {}
        for student in students:
            for class_id, last_day in self.members[student].items():
                until[class_id] = max(last_day, until.get(class_id, date.min))
        return {session for session in sessions if session.day <= until.get(session.class_id, date.min)}

    def cross_check_students(self, sessions: Iterable[Session]) -> list[int]:
        """A few students who together are in all classes with students. Their records show the sessions that
        no schedule has: swapped lessons, and weeks in which a class should not meet."""
        open_classes = {times.class_id for times in self.classes} | {session.class_id for session in sessions}
        chosen: list[int] = []
        for student in self.students:
            if not open_classes.isdisjoint(self.members[student]):
                chosen.append(student)
                open_classes -= self.members[student].keys()
        return chosen


def counts_any(row: AttendanceSession) -> bool:
    """Whether the statistics of a session count anybody."""
    return any((row.normal, row.late, row.absent))


def sample(population: Sequence[T], size: int) -> list[T]:
    """Some elements of a sequence, evenly spaced."""
    if size >= len(population):
        return list(population)
    return [population[index * len(population) // size] for index in range(size)]
