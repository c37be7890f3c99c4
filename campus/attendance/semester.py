"""What a reading of one semester's attendance has to know beforehand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from campus.attendance.calendar import Calendar, ClassTimes, Session
from campus.contracts_v1_attendance import AttendanceSession


@dataclass(frozen=True)
class Semester:
    """One semester of a school, as far as its attendance goes.

    `today`: by the platform's clock. `students`: who can be asked for. `hidden`: classes with a student who
    has left and cannot be asked for, each with the last day of such a membership. `usins`: student numbers.
    `known`: sessions that are held already, by week."""

    school_id: int
    calendar: Calendar
    today: date
    classes: Sequence[ClassTimes]
    students: Sequence[int]
    hidden: Mapping[int, date]
    usins: Mapping[int, str]
    known: Mapping[int, Mapping[Session, AttendanceSession]]

    def scheduled(self, week: int) -> set[Session]:
        """The sessions of a week by the present schedules, up to today."""
        return set(self.calendar.sessions(self.classes, week, self.today))

    def asked(self, week: int) -> set[Session]:
        """The sessions of a week to ask for: the scheduled ones, and others that are known to have been."""
        return self.scheduled(week) | self.known.get(week, {}).keys()

    def uncovered(self, week: int) -> Iterator[Session]:
        """The sessions of a week that somebody attended who cannot be asked for."""
        return (one for one in self.asked(week) if one.day <= self.hidden.get(one.class_id, date.min))
