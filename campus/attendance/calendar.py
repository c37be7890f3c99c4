"""Which sessions there are: a semester's weeks and teaching days, and the schedules of its classes. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import Literal, NamedTuple

from campus.attendance.week_days import MONDAY, weekday_of
from campus.attendance.week_rules import WEEK, WeekRule, week_1_on

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
    weeks, 2 even weeks. `any_week`: it was seen in other weeks than these, so that they say nothing."""

    class_id: int
    meetings: frozenset[Meeting]
    first_week: int | None = None
    last_week: int | None = None
    week_type: int = 0
    any_week: bool = False


@dataclass(frozen=True)
class Calendar:
    """The weeks and days of a semester. `teaching_days`: weekdays with school, 1 is Monday; none: all.
    `other_rules`: where weeks may begin instead, as far as the platform has not told. `also`: first and last
    day by the other interface, which need not be the same.

    Which sessions are expected (`sessions`) follows from one reading of the interface; which may have taken
    place (`possible`) from any, since attendance that nobody asks for would be lost."""

    semester_id: int
    first: date
    last: date
    teaching_days: frozenset[int] = frozenset()
    weeks_begin: WeekRule = "monday"
    week_condition: WeekCondition = "within"
    other_rules: tuple[WeekRule, ...] = ()
    also: tuple[date, date] | None = None

    @property
    def week_count(self) -> int:
        """How many weeks the semester has."""
        return max(self._week_of(self.last), 1)

    def week_of(self, day: date) -> int:
        """The week that a day counts as, from 1. A day outside the semester counts as its nearest week."""
        return min(max(self._week_of(day), 1), self.week_count)

    def beginning_of(self, week: int) -> date:
        """The day on which a week begins."""
        return week_1_on(self.weeks_begin, self.first) + (week - 1) * WEEK

    def weeks_until(self, day: date) -> range:
        """The weeks that have begun by this day."""
        return range(1, (self.week_of(day) if day >= self.first else 0) + 1)

    def dates_of(self, week: int) -> list[date]:
        """The days that count as a week: those of the semester by either interface. What is before the first
        week counts as that, and what is after the last one as this."""
        first, last = self.also or (self.first, self.last)
        begins = min(self.first, first) if week == 1 else self.beginning_of(week)
        is_last = week == self.week_count
        ends = max(self.last, last) if is_last else self.beginning_of(week + 1) - timedelta(days=1)
        return [begins + timedelta(days=number) for number in range((ends - begins).days + 1)]

    def meets(self, times: ClassTimes, week: int) -> bool:
        """Whether a class takes place in a week, by the reading that was chosen."""
        if week < 1 or not _is_its_kind(times, week):
            return False
        first = week if times.first_week is None else times.first_week
        last = week if times.last_week is None else times.last_week
        if self.week_condition == "as_specified":
            return first >= week and last <= week
        return first <= week <= last

    def may_meet(self, times: ClassTimes, day: date) -> bool:
        """Whether a class may take place in the week of a day, by any reading that is left.

        By one or the other week condition, it does so between start_at and end_in, whichever comes first."""
        if times.any_week:
            return True
        rules = (self.weeks_begin, *self.other_rules)
        weeks = {(day - week_1_on(rule, self.first)) // WEEK + 1 for rule in rules}
        first, last = times.first_week, times.last_week
        if first is not None and last is not None:
            weeks = {week for week in weeks if min(first, last) <= week <= max(first, last)}
        return any(_is_its_kind(times, week) for week in weeks)

    def sessions(self, classes: Iterable[ClassTimes], week: int, until: date) -> Iterator[Session]:
        """The sessions of a week that are expected, up to and with the day `until`."""
        days = [
            day
            for day in self.dates_of(week)
            if self.first <= day <= self.last
            and (not self.teaching_days or day.isoweekday() in self.teaching_days)
        ]
        for times, day in product(classes, days):
            if day <= until and self.meets(times, self._week_of(day)):
                yield from _sessions_on(day, times)

    def possible(self, classes: Iterable[ClassTimes], week: int, until: date) -> Iterator[Session]:
        """The sessions of a week that may have taken place: also on weekdays without school, where a class
        has a time then, in weeks in which it takes place by another reading, and on days that only the other
        interface counts to the semester."""
        for times, day in product(classes, self.dates_of(week)):
            if day <= until and self.may_meet(times, day):
                yield from _sessions_on(day, times)

    def _week_of(self, day: date) -> int:
        return (day - week_1_on(self.weeks_begin, self.first)) // WEEK + 1


def _is_its_kind(times: ClassTimes, week: int) -> bool:
    """Whether a class that meets in odd or even weeks alone meets in such a one."""
    return times.week_type not in (1, 2) or week % 2 == times.week_type % 2


def _sessions_on(day: date, times: ClassTimes) -> Iterator[Session]:
    for meeting in times.meetings:
        if meeting.weekday == day.isoweekday():
            yield Session(times.class_id, day, meeting.lesson)


def meetings_of(
    schedules: Iterable[tuple[int | None, int | None]], day_1_is: int = MONDAY
) -> frozenset[Meeting]:
    """The times among the entries (day, lesson) of a schedule; 0 in either means that there is none.
    `day_1_is`: which weekday the platform's day 1 is."""
    return frozenset(
        Meeting(weekday_of(day, day_1_is), lesson)
        for day, lesson in schedules
        if day and lesson and 1 <= day <= 7 and lesson > 0
    )


def platform_day(
    calendar: Calendar | None, current_week: int | None, weekdays: Sequence[int], clock: date
) -> date:
    """The platform's own date. `calendar`, `current_week`: of its current semester; `weekdays`: those that
    its timetable marks as today; `clock`: today by our clock.

    Our clock is right unless the platform says that it is in quite another week: then it is the weekday that
    it marks, or the end, of that week. Before a semester and after it a platform may stay at the first or the
    last week, which tells nothing."""
    if calendar is None or current_week is None:
        return clock
    is_before = clock < calendar.first and current_week <= 1
    if is_before or (clock > calendar.last and current_week >= calendar.week_count):
        return clock
    begins = calendar.beginning_of(current_week)
    if begins - WEEK <= clock < begins + 2 * WEEK:
        return clock
    days = [begins + timedelta(days=number) for number in range(7)]
    return next((day for day in days if day.isoweekday() in weekdays), days[-1])
