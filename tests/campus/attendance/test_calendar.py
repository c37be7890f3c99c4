"""Which sessions there are: weeks, odd and even, teaching days, schedules; and the platform's own date."""

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.attendance.calendar import (
    WEEK_RULES,
    Calendar,
    ClassTimes,
    Meeting,
    Session,
    WeekCondition,
    WeekRule,
    meetings_of,
    platform_day,
)
from campus.attendance.plan import choose

# A Thursday to a Friday.
FIRST, LAST = date(2025, 2, 13), date(2025, 6, 27)
SPRING = Calendar(20, FIRST, LAST, frozenset(range(1, 6)))
MONDAY_SECOND = frozenset({Meeting(1, 2)})


def days(calendar: Calendar, times: ClassTimes, until: date = LAST) -> list[str]:
    session_days = [
        session.day
        for week in range(1, calendar.week_count + 1)
        for session in calendar.sessions([times], week, until)
    ]
    return [f"{day:%m-%d}" for day in session_days]


def test_weeks_are_calendar_weeks_and_the_first_is_that_of_the_first_day() -> None:
    assert [SPRING.week_of(FIRST + timedelta(days=number)) for number in (0, 3, 4, 10, 11)] == [1, 1, 2, 2, 3]
    assert SPRING.week_count == 20


def test_weeks_may_begin_on_the_weekday_of_the_first_day() -> None:
    calendar = Calendar(20, FIRST, LAST, weeks_begin="first_day")
    assert [calendar.week_of(FIRST + timedelta(days=number)) for number in (0, 6, 7)] == [1, 1, 2]


def test_days_outside_the_semester_count_as_its_nearest_week() -> None:
    assert SPRING.week_of(date(2024, 1, 1)) == 1
    assert SPRING.week_of(date(2026, 1, 1)) == SPRING.week_count


def test_a_class_meets_on_its_days_between_its_weeks() -> None:
    assert days(SPRING, ClassTimes(7, MONDAY_SECOND, 2, 4)) == ["02-17", "02-24", "03-03"]


@pytest.mark.parametrize(("week_type", "expected"), [(1, ["02-24", "03-10"]), (2, ["02-17", "03-03"])])
def test_odd_and_even_weeks(week_type: int, expected: list[str]) -> None:
    assert days(SPRING, ClassTimes(7, MONDAY_SECOND, 1, 5, week_type)) == expected


def test_before_the_first_day_there_is_no_school() -> None:
    # Monday of week 1 is before the semester.
    assert days(SPRING, ClassTimes(7, MONDAY_SECOND, 1, 1)) == []


def test_there_is_no_session_on_a_day_without_teaching_nor_after_today() -> None:
    saturday = ClassTimes(7, frozenset({Meeting(6, 1)}), 1, 3)
    assert days(SPRING, saturday) == []
    assert days(Calendar(20, FIRST, LAST), saturday) == ["02-15", "02-22", "03-01"]
    assert days(SPRING, ClassTimes(7, MONDAY_SECOND), until=date(2025, 2, 24)) == ["02-17", "02-24"]


def test_day_or_lesson_0_is_no_time() -> None:
    entries = [(0, 0), (3, 0), (0, 2), (None, 1), (1, 2)]
    assert meetings_of(entries) == MONDAY_SECOND


def test_a_class_without_weeks_meets_all_the_semester() -> None:
    assert len(days(SPRING, ClassTimes(7, MONDAY_SECOND))) == 19


@pytest.mark.parametrize(
    ("condition", "first", "last", "weeks"),
    [
        ("within", 2, 4, [2, 3, 4]),
        ("as_specified", 2, 4, []),
        ("as_specified", 3, 3, [3]),
        ("as_specified", 9, 2, [2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_the_week_condition_is_the_sensible_one_or_the_literal_one(
    condition: WeekCondition, first: int, last: int, weeks: list[int]
) -> None:
    calendar = Calendar(20, FIRST, LAST, week_condition=condition)
    times = ClassTimes(7, MONDAY_SECOND, first, last)
    assert [week for week in range(1, 21) if calendar.meets(times, week)] == weeks


def test_what_may_take_place_is_asked_for_whatever_the_reading() -> None:
    def possible(times: ClassTimes, **calendar: Any) -> list[str]:
        made = Calendar(20, FIRST, LAST, frozenset({1, 2}), **calendar)
        weeks = range(1, made.week_count + 1)
        return [
            f"{session.day:%m-%d}" for week in weeks for session in made.possible([times], week, date.max)
        ]

    # As the specification words it, start_at is the last week; with one week after another it is the first.
    assert possible(ClassTimes(7, MONDAY_SECOND, 2, 3)) == ["02-17", "02-24"]
    assert possible(ClassTimes(7, MONDAY_SECOND, 3, 2)) == ["02-17", "02-24"]
    # A weekday without school on which a class has a time: it is asked for, and not expected.
    friday = ClassTimes(7, frozenset({Meeting(5, 1)}), 1, 2)
    assert possible(friday) == ["02-14", "02-21"]
    assert days(Calendar(20, FIRST, LAST, frozenset({1, 2})), friday) == []
    # An even week by one rule is an odd one by another, so both are asked for until that is known.
    even = ClassTimes(7, MONDAY_SECOND, 1, 3, 2)
    assert possible(even) == ["02-17"]
    assert possible(even, other_rules=("first_day",)) == ["02-17", "02-24"]
    # v3 has a longer semester.
    also = (FIRST - timedelta(days=3), LAST + timedelta(days=3))
    every = possible(ClassTimes(7, MONDAY_SECOND), also=also)
    assert (every[0], every[-1]) == ("02-10", "06-30")


def test_a_class_that_was_seen_in_other_weeks_is_asked_for_in_all() -> None:
    odd = ClassTimes(7, MONDAY_SECOND, 1, 3, 1)
    assert len(list(SPRING.possible([odd], 6, LAST))) == 0
    seen = ClassTimes(7, MONDAY_SECOND, 1, 3, 1, any_week=True)
    assert len(list(SPRING.possible([seen], 6, LAST))) == 1
    assert list(SPRING.sessions([seen], 6, LAST)) == []


def test_a_platform_that_stays_at_the_last_week_says_nothing_of_its_date() -> None:
    holidays, before = date(2025, 8, 11), date(2025, 1, 15)
    assert platform_day(SPRING, 20, [1], holidays) == holidays
    assert platform_day(SPRING, 26, [1], holidays) == holidays
    assert platform_day(SPRING, 1, [3], before) == platform_day(SPRING, 0, [3], before) == before


def test_weeks_until_a_day() -> None:
    assert list(SPRING.weeks_until(date(2025, 2, 17))) == [1, 2]
    assert list(SPRING.weeks_until(date(2025, 2, 12))) == []


meetings = st.frozensets(st.builds(Meeting, st.integers(1, 7), st.integers(1, 9)), max_size=4)
classes = st.builds(
    ClassTimes,
    st.integers(1, 99),
    meetings,
    st.none() | st.integers(1, 30),
    st.none() | st.integers(1, 30),
    st.integers(0, 2),
)


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    first = draw(st.dates(date(2020, 1, 1), date(2030, 1, 1)))
    last = first + timedelta(days=draw(st.integers(0, 200)))
    begin: WeekRule = draw(st.sampled_from(WEEK_RULES))
    others = tuple(draw(st.sets(st.sampled_from(WEEK_RULES))))
    teaching = draw(st.frozensets(st.integers(1, 7), max_size=7))
    condition: WeekCondition = draw(st.sampled_from(["within", "as_specified"]))
    return Calendar(1, first, last, teaching, begin, condition, others)


@settings(max_examples=150)
@given(calendars(), classes, st.integers(0, 220))
def test_every_session_is_found_once_in_the_week_of_its_day(
    calendar: Calendar, times: ClassTimes, days_on: int
) -> None:
    until = calendar.first + timedelta(days=days_on)
    week_sessions = [
        (week, session)
        for week in range(1, calendar.week_count + 1)
        for session in calendar.sessions([times], week, until)
    ]
    assert len({session for _, session in week_sessions}) == len(week_sessions)
    assert all(calendar.week_of(session.day) == week for week, session in week_sessions)
    # The other way round: day by day, what the definitions say.
    expected = set()
    day = calendar.first
    while day <= min(calendar.last, until):
        if not calendar.teaching_days or day.isoweekday() in calendar.teaching_days:
            for weekday, lesson in times.meetings:
                week = (day - calendar.beginning_of(1)).days // 7 + 1
                if weekday == day.isoweekday() and calendar.meets(times, week):
                    expected.add(Session(times.class_id, day, lesson))
        day += timedelta(days=1)
    assert {session for _, session in week_sessions} == expected
    # What is expected is among what is asked for.
    possible = [
        session
        for week in range(1, calendar.week_count + 1)
        for session in calendar.possible([times], week, until)
    ]
    assert len(set(possible)) == len(possible) and set(possible) >= expected


@settings(max_examples=100)
@given(calendars())
def test_the_weeks_of_a_semester_follow_one_another(calendar: Calendar) -> None:
    span = (calendar.last - calendar.first).days + 1
    weeks = [calendar.week_of(calendar.first + timedelta(days=number)) for number in range(span)]
    assert weeks[0] == 1
    assert weeks[-1] == calendar.week_count
    assert all(later - earlier in (0, 1) for earlier, later in pairwise(weeks))


def test_the_clock_is_believed_unless_the_platform_is_in_quite_another_week() -> None:
    week_14 = date(2025, 5, 16)
    assert platform_day(SPRING, 14, [5], week_14) == week_14
    # A week of difference may be another way to count weeks.
    assert platform_day(SPRING, 13, [5], week_14) == week_14
    assert platform_day(SPRING, 14, [5], date(2026, 11, 21)) == week_14
    assert platform_day(SPRING, 14, [], date(2026, 11, 21)) == date(2025, 5, 18)
    assert platform_day(SPRING, None, [5], week_14) == week_14
    assert platform_day(None, 14, [5], week_14) == week_14


@given(st.integers(0, 10_000), st.integers(0, 100_000))
def test_the_cheaper_route_is_chosen_and_its_requests_are_known(students: int, sessions: int) -> None:
    choice = choose(students, sessions, window_only=False, lacks_members=False)
    assert choice.requests == min(students, sessions)
    assert choice.requests == {"students": students, "sessions": sessions}[choice.route]


def test_a_window_is_read_by_sessions_whatever_it_costs() -> None:
    choice = choose(2_000, 3_000, window_only=True, lacks_members=False)
    assert (choice.route, choice.requests) == ("sessions", 3_000)
    assert "3,000 requests by sessions" in choice.words


def test_sessions_are_read_where_nobody_tells_who_left() -> None:
    choice = choose(2_000, 3_000, window_only=False, lacks_members=True)
    assert (choice.route, choice.requests) == ("sessions", 3_000)
    assert "which tell who left" in choice.words
