"""Which slices a night reads whole, by the age of their last whole reading."""

from collections import Counter
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from warehouse.load.whole_readings import oldest_due

FIRST = date(2026, 9, 1)


@given(st.integers(1, 20), st.integers(1, 15), st.sets(st.integers(1, 60)))
def test_no_key_is_older_than_promised(count: int, days: int, missed: set[int]) -> None:
    """A night after missed nights makes up for all of them."""
    last_read = dict.fromkeys(range(count), FIRST)
    for number in set(range(1, 61)) - missed:
        night = FIRST + timedelta(number)
        last_read |= dict.fromkeys(oldest_due(last_read, days, night), night)
        assert max((night - day).days for day in last_read.values()) < days


def test_keys_of_the_same_age_are_spread_over_the_nights() -> None:
    """And each is read once in seven days, for as long as no night is missed."""
    for count, most in ((1, 1), (4, 1), (8, 2), (20, 5)):
        last_read, nights = dict.fromkeys(range(count), FIRST), Counter[int]()
        for number in range(1, 36):
            night = FIRST + timedelta(number)
            due = oldest_due(last_read, 7, night)
            last_read |= dict.fromkeys(due, night)
            nights[number] = len(due)
        assert [nights[number] for number in (1, 2, 3)] == [0, 0, 0]
        assert max(nights.values()) == most and nights.total() <= count * 35 / 7 + count
