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
    """A school day."""

    day: date
    week: int  # from 1
    weekday: int  # 1 is Monday


def week_of(start: date, day: date, week_start: str) -> int:
    """The semester's week of a day, from 1. Weeks before the semester are 0 or negative.

    `week_start` decides week 1. monday: the calendar week of the first day. start: seven days from the first
    day. next_monday: the first whole calendar week. sunday: the week from Sunday to Saturday of the first
    day."""
    back = {
        "monday": start.weekday(),
        "start": 0,
        "next_monday": -(-start.weekday() % 7),
        "sunday": start.isoweekday() % 7,
    }[week_start]
    return (day - start + timedelta(days=back)).days // 7 + 1


def shown_day(weekday: int, days: str) -> int:
    """The platform's number of a weekday (1 is Monday). `days`: the weekday with number 1."""
    return weekday % 7 + 1 if days == "sunday" else weekday


def is_holiday(day: date) -> bool:
    """Whether a day is a public holiday, which the interface does not show."""
    return any(first <= (day.month, day.day) <= last for first, last in HOLIDAYS)


def teaching_days(term: Term, week_start: str) -> list[TeachingDay]:
    """The teaching days of a semester in order, including future days."""
    days = (term.start + timedelta(days=n) for n in range((term.end - term.start).days + 1))
    return [
        TeachingDay(day, week_of(term.start, day, week_start), day.isoweekday())
        for day in days
        if day.isoweekday() in LESSON_DAYS and not is_holiday(day)
    ]
