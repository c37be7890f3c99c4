"""Suggested limits: what they find within the budget, and when they are proposed."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipelines.thresholds.flags import wilson
from pipelines.thresholds.suggestion import STEPS, Cases, Rule, fit, suggest

#: Late in 30% of the lessons or more; the limit may move down to 5.
LATE = Rule("lateness_rate", "behaviour", "at_least", Decimal(30), None, None, True, Decimal("2.5"))
#: Below 20%, which nobody is.
SCORES = Rule("score_rate", "grades", "below", Decimal(20), Decimal(10), None, True, Decimal(5))
RULES = {rule.indicator: rule for rule in (LATE, SCORES)}


def cases(lateness: np.ndarray, happened: np.ndarray, semesters: Sequence[int] = (20,)) -> Cases:
    """Students of one cohort at week 8, in equal parts of the semesters."""
    number = len(lateness)
    part = number // len(semesters)
    columns = {
        "semester_id": [semesters[n // part] for n in range(number)],
        "week": [8] * number,
        "student_id": list(range(number)),
        "cohort_id": [1] * number,
        "point": ["week 8"] * number,
        "has_happened": happened.tolist(),
        "missing_lowers_grades": [None] * number,
        "lateness_rate": lateness.tolist(),
        "score_rate": [80.0] * number,
    }
    return Cases(
        pl.DataFrame(columns, schema_overrides={"missing_lowers_grades": pl.Boolean}).with_columns(
            *(pl.lit("none").alias(f"{name}_level") for name in RULES),
            *(pl.lit(True).alias(f"{name}_among_worst") for name in RULES),
        )
    )


def late_ones(random: np.random.Generator, number: int) -> np.ndarray:
    return random.integers(0, 400, number) / 10


@given(part=st.integers(0, 200), rest=st.integers(0, 200))
def test_intervals_are_those_of_scipy(part: int, rest: int) -> None:
    if part + rest:
        interval = stats.binomtest(part, part + rest).proportion_ci(method="wilson")
        assert wilson(part, part + rest) == pytest.approx((interval.low, interval.high), abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), budget=st.sampled_from((5, 10, 20, 40)))
def test_no_other_limit_finds_more_within_the_budget(seed: int, budget: int) -> None:
    random = np.random.default_rng(seed)
    lateness = late_ones(random, 80)
    happened = random.random(80) < lateness / 60
    limit = float(fit(cases(lateness, happened), RULES, budget)["lateness_rate"].warning or 0)

    def hits_of(limit: float) -> tuple[bool, int]:
        flagged = lateness >= limit
        return bool(100 * flagged.sum() <= budget * 80), int((flagged & happened).sum())

    limits = [30 + 2.5 * number for number in range(-STEPS, STEPS + 1) if 30 + 2.5 * number > 0]
    within = [hits for is_within, hits in map(hits_of, limits) if is_within]
    assert hits_of(limit) == (True, max(within)) if within else not hits_of(limit)[0]


def test_better_limits_are_proposed() -> None:
    """In three semesters, the outcome comes to all who are late in 20% of the lessons or more."""
    lateness = np.tile(np.arange(100) * 0.25, 3)
    result = suggest(cases(lateness, lateness >= 20, (20, 21, 22)), RULES, 25)
    assert result.is_better
    assert [(rule.indicator, rule.warning) for rule in result.changes] == [("lateness_rate", Decimal(20))]
    before, after = result.before["week 8"], result.after["week 8"]
    assert (before.flagged, before.hits, after.flagged, after.hits, after.missed) == (0, 0, 60, 60, 0)


def test_limits_that_find_nothing_are_not_proposed() -> None:
    random = np.random.default_rng(1)
    lateness = late_ones(random, 400) / 1.4
    result = suggest(cases(lateness, random.random(400) < 0.05, (20, 21)), RULES, 5)
    assert result.proposed is not None
    assert not result.is_better


def test_fewer_flags_of_no_less_worth_are_better_over_the_budget() -> None:
    """The rules in force flag half of the students, and the outcome comes to the worst fifth."""
    lateness = np.tile(np.arange(100) * 0.25, 2)
    strict = RULES | {"lateness_rate": replace(LATE, warning=Decimal("12.5"))}
    result = suggest(cases(lateness, lateness >= 20, (20, 21)), strict, 20)
    assert result.is_better
    assert (result.before["week 8"].flagged, result.after["week 8"].flagged) == (100, 40)


def test_a_single_semester_proves_nothing() -> None:
    lateness = np.arange(100) * 0.25
    result = suggest(cases(lateness, lateness >= 20), RULES, 25)
    assert (result.semesters, result.is_better) == (1, False)
    assert result.after["week 8"].hits == 20


def test_too_few_cases_are_not_fitted() -> None:
    lateness = np.arange(100) * 0.25
    result = suggest(cases(lateness, lateness >= 23), RULES, 25)
    assert result.proposed is None


def test_a_grave_limit_is_never_milder_than_a_warning() -> None:
    lateness = np.tile(np.arange(100) * 0.25, 2)
    both = RULES | {"lateness_rate": replace(LATE, at_risk=Decimal(35), suffices=False)}
    proposed = fit(cases(lateness, lateness >= 20, (20, 21)), both, 25)["lateness_rate"]
    assert proposed.is_consistent
    assert proposed.at_risk == Decimal(20)
