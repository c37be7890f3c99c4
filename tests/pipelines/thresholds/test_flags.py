"""Shares, intervals and verdicts of the counts of flags."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipelines.thresholds.flags import FEWEST_OF_SHARE, FEWEST_OF_VERDICT, Flags, newcombe, share, wilson

COUNTS = st.integers(0, 200)


@given(hits=COUNTS, missed=COUNTS)
def test_intervals_are_those_of_scipy(hits: int, missed: int) -> None:
    if hits + missed:
        interval = stats.binomtest(hits, hits + missed).proportion_ci(method="wilson")
        assert wilson(hits, hits + missed) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """Newcombe (1998), method 10: 56 of 70 against 48 of 80, and 9 of 10 against 3 of 10."""
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe(9, 10, 3, 10) == pytest.approx((0.1705, 0.8090), abs=5e-5)


@given(flagged=st.integers(0, 100), not_flagged=st.integers(0, 100), data=st.data())
def test_few_students_have_no_share_and_no_verdict(
    flagged: int, not_flagged: int, data: st.DataObject
) -> None:
    hits, missed = data.draw(st.integers(0, flagged)), data.draw(st.integers(0, not_flagged))
    flags = Flags(flagged + not_flagged, hits + missed, 1, flagged, hits)
    cells = flags.cells
    assert (flagged < FEWEST_OF_SHARE) == (cells[2] == "too few")
    assert (hits + missed < FEWEST_OF_SHARE) == (cells[3] == "too few")
    assert "100%" not in share(1, 1)
    few = hits + missed < FEWEST_OF_VERDICT or min(flagged, not_flagged) < FEWEST_OF_SHARE
    assert few == (flags.verdict == "too few")
    if flags.verdict == "more often":
        assert hits * not_flagged > missed * flagged


def test_a_rule_that_judges_nobody_says_so() -> None:
    assert Flags(200, 40, 0, 0, 0).cells == ["judges nobody", "40 of 200: 20% (15 to 26)", "-", "-", "-", "-"]


def test_a_flag_is_held_against_the_base_rate_and_one_number() -> None:
    cells = Flags(200, 40, 190, 30, 18, Decimal("14.60"), "Score rate, %").cells
    assert cells == [
        "30 of 200",
        "40 of 200: 20% (15 to 26)",
        "18 of 30: 60% (42 to 75)",
        "18 of 40: 45% (31 to 60)",
        "15 of 30 (Score rate, %)",
        "more often",
    ]
    assert Flags(200, 40, 190, 30, 6).verdict == "not distinguishable"
    assert Flags(200, 60, 190, 60, 6).verdict == "less often"
