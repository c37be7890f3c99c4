"""Teaching weeks and days of a semester, and the lessons of a day."""

from datetime import date, timedelta
from typing import NamedTuple

from simulator.school.calendar import Term

LESSON_TIMES = (
    "08:00-08:45",
    "08:55-09:40",
    "10:00-10:45",
    "10:55-11:40",
    "13:30-14:15",
    "14:25-15:10",
    "15:20-16:05",
    "16:15-17:00",
    "17:10-17:55",
)
LESSON_DAYS = (1, 2, 3, 4, 5)
HOLIDAYS = (((1, 1), (1, 1)), ((4, 4), (4, 6)), ((5, 1), (5, 5)), ((10, 1), (10, 7)))  # first and last day


class TeachingDay(NamedTuple):
    """A day on which there is school."""

    day: date
    week: int  # from 1
    weekday: int  # 1 is Monday


def week_of(start: date, day: date, week_start: str) -> int:
    """The week of a semester that a day is in, from 1; 0 and less are before it.

    `week_start` monday: calendar weeks, the one of the first day being week 1; start: seven days each,
    counted from the first day; next_monday: calendar weeks, the first whole one being week 1; sunday: weeks
    from Sunday to Saturday, that of the first day being week 1.
    """
    back = {
        "monday": start.weekday(),
        "start": 0,
        "next_monday": -(-start.weekday() % 7),
        "sunday": start.isoweekday() % 7,
    }[week_start]
    return (day - start + timedelta(days=back)).days // 7 + 1


def shown_day(weekday: int, days: str) -> int:
    """The number by which the platform shows a weekday (1 is Monday). `days`: which of them is day 1."""
    return weekday % 7 + 1 if days == "sunday" else weekday


def is_holiday(day: date) -> bool:
    """Whether a public holiday keeps the school closed; the interface does not tell."""
    return any(first <= (day.month, day.day) <= last for first, last in HOLIDAYS)


def teaching_days(term: Term, week_start: str) -> list[TeachingDay]:
    """The teaching days of a semester in order, those to come too."""
    days = (term.start + timedelta(days=n) for n in range((term.end - term.start).days + 1))
    return [
        TeachingDay(day, week_of(term.start, day, week_start), day.isoweekday())
        for day in days
        if day.isoweekday() in LESSON_DAYS and not is_holiday(day)
    ]
