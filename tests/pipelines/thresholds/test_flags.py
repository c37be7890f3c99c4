"""Shares and intervals of the counts of flags."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipelines.thresholds.flags import FEWEST_OF_SHARE, Flags, share, wilson

COUNTS = st.integers(0, 200)


@given(hits=COUNTS, missed=COUNTS)
def test_intervals_are_those_of_scipy(hits: int, missed: int) -> None:
    if hits + missed:
        interval = stats.binomtest(hits, hits + missed).proportion_ci(method="wilson")
        assert wilson(hits, hits + missed) == pytest.approx((interval.low, interval.high), abs=1e-6)


@given(flagged=st.integers(0, 100), not_flagged=st.integers(0, 100), data=st.data())
def test_few_students_have_no_share(flagged: int, not_flagged: int, data: st.DataObject) -> None:
    hits, missed = data.draw(st.integers(0, flagged)), data.draw(st.integers(0, not_flagged))
    flags = Flags(flagged + not_flagged, hits + missed, 1, flagged, hits)
    cells = flags.cells
    assert (flagged < FEWEST_OF_SHARE) == (cells[2] == "too few")
    assert (hits + missed < FEWEST_OF_SHARE) == (cells[3] == "too few")
    assert "100%" not in share(1, 1)


def test_a_rule_that_judges_nobody_says_so() -> None:
    assert Flags(200, 40, 0, 0, 0).cells == ["judges nobody", "40 of 200: 20% (15 to 26)", "-", "-", "-", "-"]


def test_a_flag_is_held_against_the_base_rate_and_one_number() -> None:
    cells = Flags(200, 40, 190, 30, 18, Decimal("14.60"), "Score rate, %", "better").cells
    assert cells == [
        "30 of 200",
        "40 of 200: 20% (15 to 26)",
        "18 of 30: 60% (42 to 75)",
        "18 of 40: 45% (31 to 60)",
        "15 of 30 (Score rate, %)",
        "better",
    ]
