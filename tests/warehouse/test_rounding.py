"""Numbers rounded half up in Python, beside fractions and beside SQL."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.rounding import half_up, percent

PLACES = st.integers(0, 6)


def as_on_paper(number: Fraction, places: int) -> Fraction:
    """Halves away from zero."""
    scaled = abs(number) * 10**places
    whole = int(scaled) + (scaled - int(scaled) >= Fraction(1, 2))
    return Fraction(whole if number > 0 else -whole, 10**places)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *(
            (0.125, "0.13"),
            (2.675, "2.68"),
            (-0.125, "-0.13"),
            (12.345, "12.35"),
            (0.005, "0.01"),
            (30120.475, "30120.48"),
        ),
        *((-0.0, "0.00"), (-0.004, "0.00"), (2.674999, "2.67")),
        *((Decimal("73.695"), "73.70"), (Decimal("-0.00"), "0.00"), (Decimal("2.6749999999999"), "2.67")),
    ],
)
def test_halves_round_away_from_zero(number: Decimal | float, text: str) -> None:
    assert str(half_up(number)) == text


def test_the_greatest_double_is_rounded() -> None:
    assert half_up(1e300, 0) == Decimal("1e300")


@given(st.decimals(-(10**20), 10**20, places=9), PLACES)
def test_decimals_round_once(number: Decimal, places: int) -> None:
    rounded = half_up(number, places)
    assert Fraction(rounded) == as_on_paper(Fraction(number), places)
    assert not rounded.is_signed() or rounded


@given(st.integers(-(10**9), 10**9), PLACES)
def test_a_double_rounds_as_the_decimal_that_it_stands_for(thousandths: int, places: int) -> None:
    expected = as_on_paper(Fraction(thousandths, 1000), places)
    assert Fraction(half_up(thousandths / 1000, places)) == expected


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**6)), min_size=1))
def test_percentages_are_exact(counts: list[tuple[int, int]]) -> None:
    expected = [as_on_paper(Fraction(100 * count, whole), 2) for count, whole in counts]
    assert [Fraction(percent(count, whole)) for count, whole in counts] == expected
