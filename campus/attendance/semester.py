"""What a reading of one semester's attendance has to know beforehand."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property

from campus.attendance.calendar import Calendar, ClassTimes, Meeting, Session
from campus.attendance.checks import sample
from campus.attendance.refusals import Refusals
from campus.contracts.v1_attendance import AttendanceSession

# Sessions of either kind that are asked for to see whether the platform shows any.
SHOWN_BY = 10


@dataclass(frozen=True)
class Semester:
    """One semester of a school, as far as its attendance goes.

    `today`: by the platform's clock. `members`: by student the classes that he is or was in, each with his
    last day in it (date.max where he has not left). `askable`: students that the platform still knows, as far
    as we do. `unlisted`: those of them whom classes alone list, and not its users; where they show nothing,
    it may not know them. `lacks_members`: students, or members of classes, were never loaded, so that nobody
    tells who has left. `usins`: student numbers. `known`: sessions that are held already, by week.
    `others`: first and last day of each other semester of the school. `seen`: sessions that somebody
    attended, as far as this run has seen. `refusals`: sessions that the platform refused in this run."""

    school_id: int
    calendar: Calendar
    today: date
    classes: Sequence[ClassTimes]
    members: Mapping[int, Mapping[int, date]]
    askable: frozenset[int]
    usins: Mapping[int, str]
    known: Mapping[int, Mapping[Session, AttendanceSession]]
    others: Sequence[tuple[date, date]]
    seen: frozenset[Session] = frozenset()
    unlisted: frozenset[int] = frozenset()
    lacks_members: bool = False
    refusals: Refusals = field(default_factory=Refusals, compare=False)

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

    def possible(self, weeks: Iterable[int]) -> set[Session]:
        """The sessions of some weeks that may have taken place by any reading of the schedules, and others
        that are known to have."""
        return {
            session
            for week in weeks
            for session in (
                *self.calendar.possible(self.classes, week, self.today),
                *self.known.get(week, {}),
            )
        }

    def knowing(self, attended: Iterable[Session]) -> "Semester":
        """The same with what these sessions, which somebody attended, show: a class that meets at a time of
        its schedule, but in a week in which it would not by any reading, may meet in any."""
        attended = frozenset(attended)
        times = {each.class_id: each for each in self.classes}
        found = {
            session.class_id
            for session in attended
            if (own := times.get(session.class_id))
            and Meeting(session.day.isoweekday(), session.lesson) in own.meetings
            and not self.calendar.may_meet(own, session.day)
        }
        classes = [replace(one, any_week=True) if one.class_id in found else one for one in self.classes]
        return replace(self, classes=classes, seen=self.seen | attended)

    def of_classes(self, class_ids: Collection[int]) -> "Semester":
        """The same with these classes alone."""
        known = {
            week: {one: row for one, row in held.items() if one.class_id in class_ids}
            for week, held in self.known.items()
        }
        return replace(self, classes=[one for one in self.classes if one.class_id in class_ids], known=known)

    def likely_recorded(self) -> list[Session]:
        """Some sessions that the platform shows if it shows any: those with records, then any others."""
        held = {one for week in self.known.values() for one, row in week.items() if counts_any(row)}
        every = self.possible(self.calendar.weeks_until(self.today))
        recorded = sample(sorted(held | self.seen), SHOWN_BY)
        return [*recorded, *sample(sorted(every.difference(recorded)), SHOWN_BY)]

    def attended(self, students: Collection[int], sessions: Iterable[Session]) -> set[Session]:
        """Those of some sessions that any of these students may have attended."""
        until: dict[int, date] = {}
        for student in students:
            for class_id, last_day in self.members[student].items():
                until[class_id] = max(last_day, until.get(class_id, date.min))
        return {one for one in sessions if one.day <= until.get(one.class_id, date.min)}

    def witnesses(self, sessions: Iterable[Session]) -> list[int]:
        """A few students who together are in all classes that have any students, those of these sessions and
        the others. What they attended shows the sessions that no schedule has: lessons that were swapped or
        made up for, and weeks in which a class should not meet."""
        open_classes = {times.class_id for times in self.classes} | {one.class_id for one in sessions}
        found: list[int] = []
        for student in self.students:
            if not open_classes.isdisjoint(self.members[student]):
                found.append(student)
                open_classes -= self.members[student].keys()
        return found


def counts_any(row: AttendanceSession) -> bool:
    """Whether the statistics of a session count anybody."""
    return any((row.normal, row.late, row.absent))
