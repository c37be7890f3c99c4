"""Finds where teaching weeks begin, which the interface does not specify. Pure.

A semester has the number of its current week. That leaves seven days on which its first week may have begun.
Each further day on which it is read may leave fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, get_args

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
