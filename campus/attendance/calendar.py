"""Which sessions there are: a semester's weeks and teaching days, and the schedules of its classes. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple

WEEK = timedelta(days=7)
# Where a teaching week begins: on Mondays, or on the weekday of the semester's first day. Not specified.
WeeksBegin = Literal["monday", "first_day"]
# `within`: start_at <= week <= end_in. `as_specified`: the specification's own words, start_at >= week and
# end_in <= week, which hold for no class that lasts longer than a week.
WeekCondition = Literal["within", "as_specified"]


class Session(NamedTuple):
    """A class on one date in one lesson."""

    class_id: int
    day: date
    lesson: int


class Meeting(NamedTuple):
    """A weekly time of a class: `weekday` 1 is Monday, `lesson` counts from 1."""

    weekday: int
    lesson: int


@dataclass(frozen=True)
class ClassTimes:
    """When a class meets. `first_week` and `last_week`: None is no bound. `week_type`: 0 every week, 1 odd
    weeks, 2 even weeks."""

    class_id: int
    meetings: frozenset[Meeting]
    first_week: int | None = None
    last_week: int | None = None
    week_type: int = 0


@dataclass(frozen=True)
class Calendar:
    """The weeks and days of a semester. `teaching_days`: weekdays with school, 1 is Monday; none: all."""

    semester_id: int
    first: date
    last: date
    teaching_days: frozenset[int] = frozenset()
    weeks_begin: WeeksBegin = "monday"
    week_condition: WeekCondition = "within"

    @property
    def week_count(self) -> int:
        """How many weeks the semester has."""
        return self._week_of(self.last)

    def week_of(self, day: date) -> int:
        """The week that a day counts as, from 1. A day outside the semester counts as its nearest week."""
        return min(max(self._week_of(day), 1), self.week_count)

    def beginning_of(self, week: int) -> date:
        """The day on which a week begins."""
        return self._beginning + (week - 1) * WEEK

    def weeks_until(self, day: date) -> range:
        """The weeks that have begun by this day."""
        return range(1, (self.week_of(day) if day >= self.first else 0) + 1)

    def weeks_between(self, first: date, last: date) -> range:
        """The weeks with a day of the semester in this span."""
        first, last = max(first, self.first), min(last, self.last)
        return range(self.week_of(first), self.week_of(last) + 1) if first <= last else range(0)

    def days_of(self, week: int) -> list[date]:
        """The teaching days of a week that lie in the semester."""
        days = (self.beginning_of(week) + timedelta(days=number) for number in range(7))
        return [
            day
            for day in days
            if self.first <= day <= self.last
            and (not self.teaching_days or day.isoweekday() in self.teaching_days)
        ]

    def meets(self, times: ClassTimes, week: int) -> bool:
        """Whether a class takes place in a week."""
        if times.week_type in (1, 2) and week % 2 != times.week_type % 2:
            return False
        first = week if times.first_week is None else times.first_week
        last = week if times.last_week is None else times.last_week
        if self.week_condition == "as_specified":
            return first >= week and last <= week
        return first <= week <= last

    def sessions(self, classes: Iterable[ClassTimes], week: int, until: date) -> Iterator[Session]:
        """All sessions of a week, up to and with the day `until`."""
        days = [day for day in self.days_of(week) if day <= until]
        for times in classes:
            if self.meets(times, week):
                for day in days:
                    for meeting in times.meetings:
                        if meeting.weekday == day.isoweekday():
                            yield Session(times.class_id, day, meeting.lesson)

    @property
    def _beginning(self) -> date:
        back = self.first.weekday() if self.weeks_begin == "monday" else 0
        return self.first - timedelta(days=back)

    def _week_of(self, day: date) -> int:
        return (day - self._beginning) // WEEK + 1


def meetings_of(schedules: Iterable[tuple[int | None, int | None]]) -> frozenset[Meeting]:
    """The times among the entries (day, lesson) of a schedule; 0 in either means that there is none."""
    return frozenset(
        Meeting(day, lesson) for day, lesson in schedules if day and lesson and day > 0 and lesson > 0
    )


def platform_day(
    calendar: Calendar | None, current_week: int | None, weekdays: Sequence[int], clock: date
) -> date:
    """The platform's own date. `calendar`, `current_week`: of its current semester; `weekdays`: those that
    its timetable marks as today; `clock`: today by our clock.

    Our clock is right unless the platform says that it is in quite another week: then it is the weekday that
    it marks, or the end, of that week."""
    if calendar is None or current_week is None:
        return clock
    begins = calendar.beginning_of(current_week)
    if begins - WEEK <= clock < begins + 2 * WEEK:
        return clock
    days = [begins + timedelta(days=number) for number in range(7)]
    return next((day for day in days if day.isoweekday() in weekdays), days[-1])
