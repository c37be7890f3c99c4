"""Which weekday a platform's day 1 is: Monday, unless the labels of its timetable say another. Pure.

The specification numbers the days of a week from 1 to 7, and does not say where the week begins.
"""

import re
from collections.abc import Iterable

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
