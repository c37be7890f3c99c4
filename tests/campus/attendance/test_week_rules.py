"""Where teaching weeks begin, as current_week shows it from day to day."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.attendance.calendar import (
    WEEK_RULES,
    Sighting,
    WeekRule,
    combine_sightings,
    decide,
    sighting,
    week_1_on,
)

# A Thursday to a Friday.
FIRST, LAST = date(2025, 2, 13), date(2025, 6, 27)


def week(rule: WeekRule, day: date) -> int:
    """In which week a platform that counts by this rule is on a day."""
    return (day - week_1_on(rule, FIRST)).days // 7 + 1


def seen(rule: WeekRule, *days: date) -> list[Sighting]:
    """What is known after a platform was asked on these days."""
    combined: Sighting | None = None
    for day in days:
        now = sighting(20, FIRST, LAST, week(rule, day), day)
        assert now
        combined = combine_sightings(combined, now)
    return [combined] if combined else []


@pytest.mark.parametrize(
    ("rule", "begins"),
    [("monday", "02-10"), ("first_day", "02-13"), ("next_monday", "02-17"), ("sunday", "02-09")],
)
def test_the_rules(rule: WeekRule, begins: str) -> None:
    assert f"{week_1_on(rule, FIRST):%m-%d}" == begins
    monday = date(2025, 9, 1)
    assert week_1_on(rule, monday) == (monday - timedelta(days=1) if rule == "sunday" else monday)


def test_nothing_seen_is_the_plainest_rule_and_every_other_may_hold() -> None:
    decision = decide("auto", [])
    assert (decision.rule, decision.known_by) == ("monday", "default")
    assert decision.others == ("first_day", "next_monday", "sunday")


def test_a_day_on_which_the_rules_differ_tells() -> None:
    wednesday, friday = date(2025, 3, 5), date(2025, 3, 7)
    assert decide("auto", seen("first_day", friday)).rule == "monday"
    decision = decide("auto", seen("first_day", friday, wednesday))
    assert (decision.rule, decision.known_by) == ("first_day", "current_week")
    # Friday alone does not tell them apart again, but what was seen on Wednesday stays.
    assert (
        decide("auto", seen("first_day", wednesday, friday, friday + timedelta(days=7))).rule == "first_day"
    )


@given(st.sampled_from(WEEK_RULES), st.sets(st.integers(0, 134), min_size=1), st.sampled_from(WEEK_RULES))
def test_the_true_rule_is_never_ruled_out_and_a_week_of_nights_tells_it(
    rule: WeekRule, days_on: set[int], setting: WeekRule
) -> None:
    days = [FIRST + timedelta(days=number) for number in sorted(days_on)]
    decision = decide("auto", seen(rule, *days))
    assert rule in (decision.rule, *decision.others)
    whole = [days[0] + timedelta(days=number) for number in range(7)]
    if whole[-1] <= LAST:
        assert decide("auto", seen(rule, *whole)).rule == rule
    by_setting = decide(setting, seen(rule, *days))
    assert by_setting.rule == setting, "what the operator says holds"
    assert by_setting.contradicts is None or rule in by_setting.others


def test_a_setting_that_the_platform_contradicts_is_told_and_nothing_is_lost() -> None:
    wednesday = date(2025, 3, 5)
    decision = decide("monday", seen("first_day", wednesday))
    assert decision.contradicts and decision.others == ("first_day", "next_monday")
    assert decide("first_day", seen("first_day", wednesday)).contradicts is None


@pytest.mark.parametrize(
    ("day", "current_week"),
    [
        (FIRST - timedelta(days=1), 1),
        (LAST + timedelta(days=30), 20),
        (date(2025, 3, 5), None),
        (date(2025, 3, 5), 12),
        (date(2025, 6, 5), 0),
    ],
)
def test_what_tells_nothing(day: date, current_week: int | None) -> None:
    assert sighting(20, FIRST, LAST, current_week, day) is None


def test_the_later_word_holds_and_moved_dates_begin_anew() -> None:
    wednesday = date(2025, 3, 5)
    [by_monday], [by_first_day] = seen("monday", wednesday), seen("next_monday", wednesday)
    assert combine_sightings(by_monday, by_first_day) == by_first_day
    other = Sighting(20, FIRST + timedelta(days=4), date(2025, 2, 17), date(2025, 2, 20), wednesday)
    assert combine_sightings(other, by_monday) == by_monday


def test_semesters_of_a_school_tell_together() -> None:
    [spring] = seen("first_day", date(2025, 3, 5), date(2025, 3, 6))
    autumn = Sighting(21, date(2025, 9, 1), date(2025, 8, 30), date(2025, 9, 5), date(2025, 9, 5))
    assert decide("auto", [spring, autumn]).rule == "first_day"
