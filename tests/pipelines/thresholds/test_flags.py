"""Intervals of the counts of flags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipelines.thresholds.flags import wilson


@given(part=st.integers(0, 200), rest=st.integers(0, 200))
def test_intervals_are_those_of_scipy(part: int, rest: int) -> None:
    if part + rest:
        interval = stats.binomtest(part, part + rest).proportion_ci(method="wilson")
        assert wilson(part, part + rest) == pytest.approx((interval.low, interval.high), abs=1e-6)
