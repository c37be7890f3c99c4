"""Derives sessions from a semester's weeks and teaching days, and from the schedules of its classes. Pure."""

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
    """When a class meets."""

    class_id: int
    meetings: frozenset[Meeting]
    #: None: no bound.
    first_week: int | None = None
    last_week: int | None = None
    #: 0: every week. 1: odd weeks. 2: even weeks.
    week_type: int = 0
    #: The class met in other weeks than these, so that its weeks say nothing.
    any_week: bool = False


@dataclass(frozen=True)
class Calendar:
    """The weeks and days of a semester.

    Expected sessions (`sessions`) follow from one reading of the interface. Possible sessions (`possible`)
    follow from any reading, since attendance that is not requested would be lost."""

    semester_id: int
    first: date
    last: date
    #: Weekdays with school, 1 is Monday. Empty: all.
    teaching_days: frozenset[int] = frozenset()
    weeks_begin: WeekRule = "monday"
    week_condition: WeekCondition = "within"
    #: Other rules that nothing the platform has shown speaks against.
    other_rules: tuple[WeekRule, ...] = ()
    #: First and last day by the other interface. They may differ.
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
        """The days that count as a week, of the semester by either interface. Days before the first week
        count as the first week, and days after the last week as the last."""
        first, last = self.also or (self.first, self.last)
        begins = min(self.first, first) if week == 1 else self.beginning_of(week)
        is_last = week == self.week_count
        ends = max(self.last, last) if is_last else self.beginning_of(week + 1) - timedelta(days=1)
        return [begins + timedelta(days=number) for number in range((ends - begins).days + 1)]

    def meets(self, times: ClassTimes, week: int) -> bool:
        """Whether a class meets in a week by the chosen reading."""
        if week < 1 or not _is_its_kind(times, week):
            return False
        first = week if times.first_week is None else times.first_week
        last = week if times.last_week is None else times.last_week
        if self.week_condition == "as_specified":
            return first >= week and last <= week
        return first <= week <= last

    def may_meet(self, times: ClassTimes, day: date) -> bool:
        """Whether a class may meet in the week of a day by any remaining reading.

        By either week condition it meets between start_at and end_in, whichever comes first."""
        if times.any_week:
            return True
        rules = (self.weeks_begin, *self.other_rules)
        weeks = {(day - week_1_on(rule, self.first)) // WEEK + 1 for rule in rules}
        first, last = times.first_week, times.last_week
        if first is not None and last is not None:
            weeks = {week for week in weeks if min(first, last) <= week <= max(first, last)}
        return any(_is_its_kind(times, week) for week in weeks)

    def sessions(self, classes: Iterable[ClassTimes], week: int, until: date) -> Iterator[Session]:
        """The expected sessions of a week, up to and including the day `until`."""
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
        """The possible sessions of a week: also on weekdays without school, in weeks in which a class meets
        by another reading, and on days that only the other interface counts to the semester."""
        for times, day in product(classes, self.dates_of(week)):
            if day <= until and self.may_meet(times, day):
                yield from _sessions_on(day, times)

    def _week_of(self, day: date) -> int:
        return (day - week_1_on(self.weeks_begin, self.first)) // WEEK + 1


def _is_its_kind(times: ClassTimes, week: int) -> bool:
    """Whether a week is odd or even, as the class needs it."""
    return times.week_type not in (1, 2) or week % 2 == times.week_type % 2


def _sessions_on(day: date, times: ClassTimes) -> Iterator[Session]:
    for meeting in times.meetings:
        if meeting.weekday == day.isoweekday():
            yield Session(times.class_id, day, meeting.lesson)


def meetings_of(
    schedules: Iterable[tuple[int | None, int | None]], day_1_is: int = MONDAY
) -> frozenset[Meeting]:
    """The meetings among the entries (day, lesson) of a schedule. 0 in either means none.

    Args:
        day_1_is: The weekday of the platform's day 1."""
    return frozenset(
        Meeting(weekday_of(day, day_1_is), lesson)
        for day, lesson in schedules
        if day and lesson and 1 <= day <= 7 and lesson > 0
    )


def platform_day(
    calendar: Calendar | None, current_week: int | None, weekdays: Sequence[int], clock: date
) -> date:
    """The platform's own date.

    This is our date, unless the platform is in quite another week: then the weekday that it marks in that
    week, or the week's end. Before and after a semester a platform may stay at the first or last week, which
    shows nothing.

    Args:
        calendar: Of the platform's current semester, as `current_week`.
        weekdays: That its timetable marks as today.
        clock: Today by our clock."""
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
