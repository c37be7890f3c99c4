"""What a reading of one semester's attendance has to know beforehand."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from campus.attendance.calendar import Calendar, ClassTimes, Session
from campus.contracts_v1_attendance import AttendanceSession


@dataclass(frozen=True)
class Semester:
    """One semester of a school, as far as its attendance goes.

    `today`: by the platform's clock. `members`: by student the classes that he is or was in, each with his
    last day in it (date.max where he has not left). `askable`: students that the platform still knows, as far
    as we do. `usins`: student numbers. `known`: sessions that are held already, by week. `others`: first and
    last day of each other semester of the school."""

    school_id: int
    calendar: Calendar
    today: date
    classes: Sequence[ClassTimes]
    members: Mapping[int, Mapping[int, date]]
    askable: frozenset[int]
    usins: Mapping[int, str]
    known: Mapping[int, Mapping[Session, AttendanceSession]]
    others: Sequence[tuple[date, date]]

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Students by number, as far as no two have the same."""
        times = Counter(self.usins.values())
        return {usin: student for student, usin in self.usins.items() if usin and times[usin] == 1}

    @property
    def students(self) -> list[int]:
        """Whom to ask for by students."""
        return sorted(self.members.keys() & self.askable)

    def is_of_another(self, day: date | None) -> bool:
        """Whether a day lies in another semester. One that lies in none may be of this one."""
        if day is None or self.calendar.first <= day <= self.calendar.last:
            return False
        return any(first <= day <= last for first, last in self.others)

    def scheduled(self, week: int) -> set[Session]:
        """The sessions of a week by the present schedules, up to today."""
        return set(self.calendar.sessions(self.classes, week, self.today))

    def asked(self, week: int, since: date = date.min) -> set[Session]:
        """The sessions of a week to ask for: the scheduled ones, and others that are known to have been."""
        every = self.scheduled(week) | self.known.get(week, {}).keys()
        return {session for session in every if session.day >= since}

    def attended(self, students: Collection[int], sessions: Iterable[Session]) -> set[Session]:
        """Those of some sessions that any of these students may have attended."""
        until: dict[int, date] = {}
        for student in students:
            for class_id, last_day in self.members[student].items():
                until[class_id] = max(last_day, until.get(class_id, date.min))
        return {one for one in sessions if one.day <= until.get(one.class_id, date.min)}

    def witnesses(self, sessions: Iterable[Session]) -> list[int]:
        """A few students who together are in all classes of these sessions that have any students. What they
        attended shows the sessions that no schedule has: lessons that were swapped or made up for."""
        open_classes = {session.class_id for session in sessions}
        found: list[int] = []
        for student in self.students:
            if not open_classes.isdisjoint(self.members[student]):
                found.append(student)
                open_classes -= self.members[student].keys()
        return found
