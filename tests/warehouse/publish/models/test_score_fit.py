"""The fits of the early-warning score and their figures are those of scipy and of formulas in numpy."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from warehouse.publish.models.score_fit import (
    INPUTS,
    INTERCEPT_PENALTY,
    OUTCOMES,
    PENALTIES,
    SINGLES,
    WEEK,
    area,
    fit_logistic,
    fit_score,
    unseen_chances,
)
from warehouse.publish.models.score_judgement import judge_score, slope

SEEDS = st.integers(0, 2**32 - 1)


def _rows(
    random: np.random.Generator, students: int, semesters: int, *, school: int = 1, effect: float = 1.0
) -> pl.DataFrame:
    """A week of closed semesters. The weak miss lessons and work; `effect`: how much both foretell."""
    care = random.normal(size=students)
    frames = []
    for semester in range(semesters):
        now = care + random.normal(size=students) / 3
        numbers = {name: random.normal(size=students) for name in SINGLES}
        numbers["attendance_rate"] = 95 + 3 * now + 2 * random.normal(size=students)
        numbers["missing_rate"] = 8 - 4 * now + 4 * random.normal(size=students)
        numbers["failed_last_semester"] = (random.random(students) < 0.2).astype(float)
        failing = {
            outcome: random.random(students) < special.expit(-1.8 - effect * (now + numbers["lateness_rate"]))
            for outcome in OUTCOMES
        }
        ids = {
            "school_id": school,
            "semester_id": 10 * school + semester,
            "first_day": date(2020, 9, 1) + timedelta(days=180 * semester),
            "week": WEEK,
            "student_id": 100_000 * school + np.arange(students),
        }
        frames.append(pl.DataFrame(ids | numbers | failing))
    rows = pl.concat(frames)
    # A number in ten of missing work is not known.
    return rows.with_columns(
        pl.when(pl.Series(random.random(rows.height) > 0.1)).then("missing_rate").alias("missing_rate")
    )


def _judged(rows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    unseen = unseen_chances(rows)
    if not unseen.height:
        return {}
    judged = judge_score(unseen.with_columns(level=pl.lit(0))).filter(pl.col("week") == WEEK)
    return {row["outcome"]: row for row in judged.to_dicts()}


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, penalty=st.sampled_from(PENALTIES))
def test_coefficients_minimize_the_loss_as_scipy_does(seed: int, penalty: float) -> None:
    random = np.random.default_rng(seed)
    design = np.column_stack([np.ones(200), random.normal(size=(200, 5))])
    has_happened = (random.random(200) < special.expit(design @ random.normal(size=6))).astype(float)
    penalties = np.array([INTERCEPT_PENALTY] + 5 * [penalty])

    def loss(coefficients: np.ndarray) -> float:
        score = design @ coefficients
        chances = special.expit(score)
        return float(
            -special.xlogy(has_happened, chances).sum()
            - special.xlogy(1 - has_happened, 1 - chances).sum()
            + (penalties * coefficients**2).sum() / 2
        )

    least = optimize.minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
    assert fit_logistic(design, has_happened, penalties) == pytest.approx(least.x, abs=1e-4)


def test_separated_students_have_finite_coefficients() -> None:
    design = np.column_stack([np.ones(40), np.arange(40) >= 20])
    fitted = fit_logistic(design, (np.arange(40) >= 20).astype(float), np.array([INTERCEPT_PENALTY, 1.0]))
    assert np.isfinite(fitted).all() and fitted[1] > 1
    nobody = fit_logistic(design, np.zeros(40), np.array([INTERCEPT_PENALTY, 1.0]))
    assert np.isfinite(nobody).all() and nobody[0] < -3


def test_the_table_of_coefficients_gives_the_chances_by_its_formula() -> None:
    """The chance of each student by hand equals that of a minimum that scipy finds in plain units."""
    rows = _rows(np.random.default_rng(1), 400, 2)
    fits = fit_score(rows).filter(pl.col("outcome") == OUTCOMES[0]).to_dicts()
    assert [fit["input"] for fit in fits] == [
        *("intercept", "attendance_rate", "lateness_rate", "missing_rate", "missing_rate_is_missing"),
        *("score_rate", "failed_last_semester", "earlier_z_score"),
    ]
    assert {(fit["fitted_on"], fit["semesters"], fit["students"]) for fit in fits} == {("school", 2, 800)}
    missing = rows["missing_rate"].is_null().to_numpy()
    values = {
        name: rows[name].cast(pl.Float64).fill_null(rows[name].cast(pl.Float64).mean()).to_numpy()
        for name in INPUTS
    }
    values |= {"missing_rate_is_missing": missing.astype(float), "intercept": np.ones(rows.height)}
    has_happened = rows[OUTCOMES[0]].to_numpy().astype(float)
    design = np.column_stack([(values[fit["input"]] - fit["mean"]) / fit["spread"] for fit in fits])
    coefficients = np.array([fit["coefficient"] for fit in fits])
    penalties = np.array([INTERCEPT_PENALTY] + [fits[0]["penalty"]] * (len(fits) - 1))
    gradient = design.T @ (has_happened - special.expit(design @ coefficients)) - penalties * coefficients
    assert np.abs(gradient).max() < 1e-6
    for fit in fits[1:]:
        if not fit["input"].endswith("_is_missing"):
            known_values = rows[fit["input"]].drop_nulls().cast(pl.Float64)
            assert (fit["mean"], fit["spread"]) == pytest.approx(
                (known_values.mean(), known_values.std(ddof=0))
            )


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, digits=st.integers(0, 2))
def test_areas_and_their_errors_are_those_of_delong(seed: int, digits: int) -> None:
    random = np.random.default_rng(seed)
    has_happened = np.repeat([1.0, 0.0], [12, 30])
    risk = np.round(random.normal(size=42) + has_happened, digits)
    auc, influence = area(has_happened, risk, np.zeros(42, np.int64))
    statistic = stats.mannwhitneyu(risk[:12], risk[12:]).statistic
    assert auc == pytest.approx(statistic / (12 * 30))
    wins = (risk[:12, None] > risk[None, 12:]) + (risk[:12, None] == risk[None, 12:]) / 2
    variance = wins.mean(axis=1).var(ddof=1) / 12 + wins.mean(axis=0).var(ddof=1) / 30
    assert (influence**2).sum() == pytest.approx(variance)


def test_an_area_of_semesters_compares_students_within_each() -> None:
    """Semester 1 has higher chances and fewer outcomes: across semesters they would mislead."""
    has_happened = np.array([1.0, 0, 0, 1, 0, 0])
    risk = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    assert area(has_happened, risk, np.array([1, 1, 1, 2, 2, 2]))[0] == 1
    assert area(has_happened, risk, np.zeros(6, np.int64))[0] == 6 / 8


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_slope_and_its_error_are_those_of_maximum_likelihood(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, strata = random.normal(size=500), np.arange(500) % 2
    has_happened = (random.random(500) < special.expit(0.5 * logits - 1 + strata)).astype(float)
    design = np.column_stack([logits, strata == 0, strata == 1])

    def loss(line: np.ndarray) -> float:
        return float(np.logaddexp(0, design @ line).sum() - has_happened @ design @ line)

    def gradient(line: np.ndarray) -> np.ndarray:
        return np.asarray(design.T @ (special.expit(design @ line) - has_happened))

    least = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    judged = slope(has_happened, special.expit(logits), strata)
    assert judged is not None
    line_slope, error = judged
    assert line_slope == pytest.approx(least.x[0], abs=1e-4)
    information = optimize.approx_fprime(least.x, gradient)
    assert error == pytest.approx(float(np.sqrt(np.linalg.inv(information)[0, 0])), rel=1e-3)


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, semesters=st.integers(1, 3))
def test_what_a_semester_brings_changes_no_chance_of_the_same_semester(seed: int, semesters: int) -> None:
    """Other outcomes of a semester, or of a fifth of a single one, leave its chances as they were."""
    rows = _rows(np.random.default_rng(seed), 300, semesters)
    order = pl.col("student_id").rank("dense") % 5
    left_out = pl.col("semester_id") == 10 if semesters > 1 else order == 3
    turned = rows.with_columns(
        pl.when(left_out).then(pl.col(OUTCOMES[0]).shuffle(seed=1)).otherwise(OUTCOMES[0]).alias(OUTCOMES[0])
    )
    with pytest.MonkeyPatch.context() as patch:
        # The choice of the penalty has seen all students.
        patch.setattr("warehouse.publish.models.score_fit.PENALTIES", (10.0,))
        before, after = (
            unseen_chances(frame).filter(pl.col("outcome") == OUTCOMES[0]) for frame in (rows, turned)
        )
    keys = ("semester_id", "student_id")
    joined = before.join(after, on=keys).join(rows.select(*keys, left_out.alias("is_left_out")), on=keys)
    same = joined["chance"] == joined["chance_right"]
    assert same.filter(joined["is_left_out"]).all()
    assert not same.filter(~joined["is_left_out"]).any()


def test_schools_that_agree_are_fitted_together() -> None:
    random = np.random.default_rng(3)
    few, many = _rows(random, 130, 2, school=2), _rows(random, 600, 2)
    fits = fit_score(pl.concat([few, many])).filter(pl.col("outcome") == OUTCOMES[0])
    [(fitted_on, students)] = (
        fits.filter(pl.col("school_id") == 2).select("fitted_on", "students").unique().rows()
    )
    assert (fitted_on, students) == ("district", 1460)
    turned = many.with_columns(pl.col("lateness_rate") * -1, attendance_rate=190 - pl.col("attendance_rate"))
    fits = fit_score(pl.concat([few, turned])).filter(pl.col("outcome") == OUTCOMES[0])
    assert set(fits["fitted_on"]) == {"school"}


def test_few_outcomes_are_not_fitted() -> None:
    rows = _rows(np.random.default_rng(4), 60, 1).with_columns(
        **{outcome: pl.int_range(pl.len()) < 14 for outcome in OUTCOMES}
    )
    assert fit_score(rows).height == unseen_chances(rows).height == 0
    assert fit_score(rows.with_columns(failed_courses=pl.int_range(pl.len()) < 15)).height > 0


def test_a_score_of_2000_students_is_calibrated_and_shown() -> None:
    """The slope of two semesters: 1, give or take four standard errors of about 0.05."""
    judged = _judged(_rows(np.random.default_rng(5), 2000, 2))[OUTCOMES[0]]
    assert 0.8 < judged["slope"] < 1.2 and judged["slope_low"] < 1 < judged["slope_high"]
    assert judged["auc"] > judged["single_auc"] > 0.5 and judged["brier"] < judged["base_rate_brier"]
    assert judged["is_shown"]


@pytest.mark.parametrize("semesters", [1, 2])
def test_shuffled_outcomes_show_no_score(semesters: int) -> None:
    """Of 30 worlds in which nothing foretells anything, at most one or two show a score."""
    shown_worlds = sum(
        any(row["is_shown"] for row in _judged(_rows(random, 400, semesters, effect=0)).values())
        for random in map(np.random.default_rng, range(30))
    )
    assert shown_worlds <= 1


def test_a_score_that_knows_nothing_is_like_a_coin() -> None:
    """Of one semester, a part with more outcomes gets lower chances: that is no fault of the score."""
    areas = [
        _judged(_rows(random, 235, 1, effect=0))[OUTCOMES[0]]["auc"]
        for random in map(np.random.default_rng, range(40))
    ]
    assert abs(np.mean(areas) - 0.5) < 5 * np.std(areas) / np.sqrt(40)


def test_a_single_number_that_knows_everything_is_not_beaten() -> None:
    random = np.random.default_rng(6)
    rows = _rows(random, 1500, 1)
    chances = special.expit(-3 * (rows["attendance_rate"].to_numpy() - 92))
    rows = rows.with_columns(failed_courses=pl.Series(random.random(rows.height) < chances))
    judged = _judged(rows)[OUTCOMES[0]]
    assert judged["best_single"] == "attendance_rate"
    assert not judged["is_shown"] and judged["auc_difference_low"] < 0


def test_semesters_of_one_outcome_compare_nobody() -> None:
    rows = _rows(np.random.default_rng(8), 100, 2).with_columns(failed_courses=pl.col("semester_id") == 10)
    judged = _judged(rows)[OUTCOMES[0]]
    assert (judged["auc"], judged["auc_low"], judged["slope"], judged["is_shown"]) == (
        None,
        None,
        None,
        False,
    )


def test_an_unknown_level_is_not_judged() -> None:
    random = np.random.default_rng(11)
    unseen = unseen_chances(_rows(random, 400, 1)).filter(pl.col("outcome") == OUTCOMES[0])
    is_unknown, happened = random.random(unseen.height) < 0.5, unseen["has_happened"].to_numpy()
    levels = pl.Series(random.integers(0, 4, unseen.height) * happened)
    unseen = unseen.with_columns(level=pl.when(pl.Series(~is_unknown)).then(levels))
    [judged] = judge_score(unseen).to_dicts()
    wins, pairs = 0.0, 0
    for fold in range(5):
        chosen = ~is_unknown & (unseen["fold"].to_numpy() == fold)
        with_outcome, without = (
            levels.filter(chosen & (happened == side)).to_numpy() for side in (True, False)
        )
        wins += stats.mannwhitneyu(with_outcome, without).statistic
        pairs += len(with_outcome) * len(without)
    assert judged["level_auc"] == pytest.approx(wins / pairs)
    assert judged["level_auc_low"] < judged["level_auc"] < judged["level_auc_high"]
    few = unseen.with_columns(level=pl.when(pl.int_range(pl.len()) < 30).then("level"))
    [judged] = judge_score(few).to_dicts()
    assert (judged["level_auc_low"], judged["level_auc_high"]) == (None, None)
    assert judged["auc_low"] is not None


def test_the_best_single_number_is_of_those_who_have_it() -> None:
    """score_drop is right of all who have it, most of whom have the outcome, or of too few to count."""
    random = np.random.default_rng(12)
    rows = _rows(random, 600, 1).with_columns(
        failed_courses=pl.Series(random.random(600) < 0.3), score_drop=pl.lit(None, pl.Float64)
    )
    order = pl.int_range(pl.len()).over("failed_courses")
    for with_it, best in ((60, True), (9, False)):
        has_it = pl.when("failed_courses").then(order < with_it).otherwise(order < 300)
        value = pl.col("failed_courses").cast(pl.Float64) * 0.1 - 5
        given_rows = rows.with_columns(score_drop=pl.when(has_it).then(value))
        unseen = unseen_chances(given_rows).filter(pl.col("outcome") == OUTCOMES[0])
        assert (unseen["best_single"][0] == "score_drop") == best


def test_separated_chances_have_no_slope() -> None:
    unseen = unseen_chances(_rows(np.random.default_rng(13), 300, 1)).filter(pl.col("outcome") == OUTCOMES[0])
    chances = pl.when("has_happened").then(0.6).otherwise(0.4) + pl.col("student_id") % 7 / 1000
    judged = judge_score(unseen.with_columns(level=pl.lit(0), chance=chances)).to_dicts()[0]
    assert (judged["slope"], judged["slope_low"], judged["slope_high"]) == (None, None, None)
    assert judged["auc"] == 1


@pytest.mark.parametrize("semesters", [1, 2])
def test_a_school_without_any_number_has_no_slope(semesters: int) -> None:
    rows = _rows(np.random.default_rng(9), 200, semesters).with_columns(
        pl.lit(None).alias(name) for name in SINGLES
    )
    judged = _judged(rows)[OUTCOMES[0]]
    assert (judged["auc"], judged["slope"], judged["is_shown"]) == (0.5, None, False)
    assert fit_score(rows)["input"].unique().to_list() == ["intercept"]


def test_what_a_number_decides_is_fitted_too() -> None:
    rows = _rows(np.random.default_rng(10), 300, 2).with_columns(
        failed_courses=pl.col("attendance_rate") < 92
    )
    judged = _judged(rows)[OUTCOMES[0]]
    assert judged["auc"] > 0.99 and judged["single_auc"] == 1
    assert not judged["is_shown"], "the number alone does as well"


def test_the_order_of_rows_changes_no_digit() -> None:
    rows = _rows(np.random.default_rng(7), 200, 2)
    mixed = rows.sample(fraction=1, shuffle=True, seed=1)
    keys = ("semester_id", "student_id", "outcome")
    assert fit_score(rows).equals(fit_score(mixed))
    assert unseen_chances(rows).sort(keys).equals(unseen_chances(mixed).sort(keys))
