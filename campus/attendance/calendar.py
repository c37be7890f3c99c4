"""Finds weekdays, weeks and sessions, which the interface leaves open. Pure.

The specification numbers the days of a week from 1 to 7, and does not say where the week begins. Day 1 is
Monday, unless the labels of a timetable say another weekday.

It does not say where teaching weeks begin either. A semester has the number of its current week. That leaves
seven days on which its first week may have begun. Each further day on which it is read may leave fewer.

Sessions follow from weeks, teaching days and the schedules of classes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import Literal, NamedTuple, get_args

MONDAY = 1
_CHINESE = re.compile(r"(?:周|週|星期|礼拜|禮拜)([一二三四五六日天])")
_ENGLISH = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?")
_NUMBERS = {word: number for number, word in enumerate("一二三四五六日", 1)} | {"天": 7}
_NUMBERS |= {word: number for number, word in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 1)}


def named_weekday(label: str | None) -> int | None:
    """The weekday (1 is Monday) that a label names; None where it names none."""
    text = (label or "").strip().lower()
    match = _CHINESE.fullmatch(text) or _ENGLISH.fullmatch(text)
    return _NUMBERS[match[1]] if match else None


def first_weekday(days: Iterable[tuple[int | None, str | None]]) -> int:
    """The weekday that day 1 stands for, by days and their labels. Monday, unless all that name a weekday
    agree on another."""
    firsts = {(named - day) % 7 + 1 for day, label in days if day and (named := named_weekday(label))}
    return firsts.pop() if len(firsts) == 1 else MONDAY


def weekday_of(day: int, first: int) -> int:
    """The weekday (1 is Monday) of a platform's day from 1 to 7, of which day 1 is weekday `first`."""
    return (day + first - 2) % 7 + 1


WEEK = timedelta(days=7)
# On Mondays, the first being that of the semester's first day; on the weekday of that day; on Mondays, the
# first being the one on that day or after it; or on Sundays, the first being that of that day. The plainest
# comes first.
WeekRule = Literal["monday", "first_day", "next_monday", "sunday"]
WEEK_RULES: tuple[WeekRule, ...] = get_args(WeekRule)
# `auto`: as the platform shows it.
WeeksBegin = Literal["auto", "monday", "first_day", "next_monday", "sunday"]
KnownBy = Literal["setting", "current_week", "default"]


@dataclass(frozen=True)
class Sighting:
    """The days on which week 1 of a semester may begin, by the values of current_week so far."""

    semester_id: int
    #: First day of the semester.
    first: date
    #: The first and the last day on which week 1 may begin.
    earliest: date
    latest: date
    #: When current_week was last read.
    seen_on: date

    def allows(self, rule: WeekRule) -> bool:
        """Whether weeks can begin where this rule says."""
        return self.earliest <= week_1_on(rule, self.first) <= self.latest


@dataclass(frozen=True)
class Decision:
    """The rule for the first day of weeks, and its reason."""

    rule: WeekRule
    known_by: KnownBy
    #: Other rules that no sighting contradicts.
    others: tuple[WeekRule, ...] = ()
    #: The sighting that contradicts the rule.
    contradicts: Sighting | None = None


def week_1_on(rule: WeekRule, first: date) -> date:
    """The day on which the first week of a semester begins."""
    match rule:
        case "monday":
            return first - timedelta(days=first.weekday())
        case "next_monday":
            return first + timedelta(days=-first.weekday() % 7)
        case "sunday":
            return first - timedelta(days=first.isoweekday() % 7)
        case "first_day":
            return first


def sighting(
    semester_id: int, first: date, last: date, current_week: int | None, day: date
) -> Sighting | None:
    """The sighting of a semester's current_week on a day; None: it proves nothing. Outside a semester, a
    platform may stay at the first or last week, and its date may differ from ours."""
    if current_week is None or not first <= day <= last:
        return None
    latest = day - (current_week - 1) * WEEK
    seen = Sighting(semester_id, first, latest - WEEK + timedelta(days=1), latest, day)
    is_near = abs((day - week_1_on("monday", first)) // WEEK + 1 - current_week) <= 1
    return seen if is_near else None


def combine_sightings(before: Sighting | None, now: Sighting) -> Sighting:
    """Combine two sightings of a semester. If they contradict each other, the later counts."""
    if before is None or before.first != now.first:
        return now
    earliest, latest = max(before.earliest, now.earliest), min(before.latest, now.latest)
    if earliest > latest:
        return now
    return Sighting(now.semester_id, now.first, earliest, latest, max(before.seen_on, now.seen_on))


def decide(setting: WeeksBegin, sightings: Sequence[Sighting]) -> Decision:
    """Decide where weeks begin in a school: by all its semesters, or by the latest if they contradict."""
    latest = max(sightings, key=lambda seen: (seen.seen_on, seen.first), default=None)
    allowed = [rule for rule in WEEK_RULES if all(seen.allows(rule) for seen in sightings)]
    if not allowed and latest:
        allowed = [rule for rule in WEEK_RULES if latest.allows(rule)]
    if setting != "auto":
        if setting in allowed or not latest:
            return Decision(setting, "setting")
        return Decision(setting, "setting", tuple(allowed or _others(setting)), latest)
    if not allowed:
        return Decision("monday", "default", _others("monday"), latest)
    rule, *others = allowed
    known_by: KnownBy = "default" if len(allowed) == len(WEEK_RULES) else "current_week"
    return Decision(rule, known_by, tuple(others))


def _others(rule: WeekRule) -> tuple[WeekRule, ...]:
    return tuple(other for other in WEEK_RULES if other != rule)


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
