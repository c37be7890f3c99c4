"""Dates: academic years, semesters, and moments within them."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random

from simulator.school.rows import TIME_FORMAT


@dataclass(frozen=True)
class Term:
    """One semester's place in time."""

    year: int  # the year in which its academic year begins
    half: int  # 1 begins in September, 2 in February
    start: date
    end: date
    current: bool


def semesters(today: date, count: int) -> list[Term]:
    """The last `count` semesters begun by today, oldest first; the last one is current, in holidays too."""
    found: list[Term] = []
    year, half = today.year, 2
    while len(found) < count:
        start = date(year, 9, 1) if half == 1 else date(year + 1, 2, 17)
        end = date(year + 1, 1, 20) if half == 1 else date(year + 1, 7, 6)
        if start <= today:
            found.append(Term(year, half, start, end, current=not found))
        year, half = (year, 1) if half == 2 else (year - 1, 2)
    return found[::-1]


def stamp(day: date, seconds: int = 0) -> str:
    """A day as the platform writes a timestamp, so many seconds after midnight."""
    return (datetime.combine(day, time()) + timedelta(seconds=seconds)).strftime(TIME_FORMAT)


def moment(rng: Random, first: date, last: date) -> str:
    """Some working moment between two days, both included; on the last one when that is the earlier."""
    first = min(first, last)
    day = first + timedelta(days=rng.randrange((last - first).days + 1))
    return stamp(day, 7 * 3600 + rng.randrange(12 * 3600))
