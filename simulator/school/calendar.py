"""Dates: academic years, semesters, and moments within them."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random

from simulator.school.rows import TIME_FORMAT


@dataclass(frozen=True)
class Term:
    """The dates of a semester."""

    year: int  # the first year of its academic year
    half: int  # 1 begins in September, 2 in February
    start: date
    end: date
    current: bool


def semesters(today: date, count: int) -> list[Term]:
    """The last `count` semesters that began by today, oldest first. The last semester is current, also in
    holidays."""
    terms: list[Term] = []
    year, half = today.year, 2
    while len(terms) < count:
        start = date(year, 9, 1) if half == 1 else date(year + 1, 2, 17)
        end = date(year + 1, 1, 20) if half == 1 else date(year + 1, 7, 6)
        if start <= today:
            terms.append(Term(year, half, start, end, current=not terms))
        year, half = (year, 1) if half == 2 else (year - 1, 2)
    return terms[::-1]


def stamp(day: date, seconds: int = 0) -> str:
    """A timestamp in the platform's format, at a number of seconds after midnight."""
    return (datetime.combine(day, time()) + timedelta(seconds=seconds)).strftime(TIME_FORMAT)


def moment(rng: Random, first: date, last: date) -> str:
    """A random time in working hours between two days, both included. If `last` is earlier, on `last`."""
    first = min(first, last)
    day = first + timedelta(days=rng.randrange((last - first).days + 1))
    return stamp(day, 7 * 3600 + rng.randrange(12 * 3600))
