"""The fits of the early-warning score: ridge logistic regressions of what happened in closed semesters.

A fit is of a teaching week, so that it rests on as much as is known of the running semester in that week.
Unseen students decide on the penalty, and on whether all schools of a file are fitted together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

#: What the score is made of. No membership of a group is among them.
INPUTS = (
    *("attendance_rate", "lateness_rate", "missing_rate", "score_rate"),
    *("failed_last_semester", "earlier_z_score"),
)
#: The single numbers that the score has to beat, and of which a greater value means a smaller risk.
SINGLES = (*INPUTS, "attendance_drop", "score_drop", "failed_so_far")
HIGH_IS_GOOD = {"attendance_rate", "score_rate", "earlier_z_score"}
OUTCOMES = ("failed_courses", "chronic_absence")
#: The week by which all choices are made.
WEEK = 8
#: The fewest students with an outcome, and without, for a fit or an interval.
FEWEST = 15
#: The fewest students with an outcome, and without, who have a single number that is compared.
FEWEST_OF_SINGLE = 10
#: Of half the squared coefficients of standardized inputs. An intercept is as good as free.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
INTERCEPT_PENALTY = 0.01
#: The folds of the students of a single closed semester.
FOLDS = 5
INTERCEPT = "intercept"

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Term(NamedTuple):
    """A column of the design: an input less its mean, by its spread, or whether the input is missing."""

    name: str
    #: Of the input among the values.
    column: int
    mean: float
    spread: float
    is_indicator: bool


@dataclass(frozen=True)
class Fit:
    """Coefficients: an intercept for each school, then one for each term."""

    schools: Integers
    terms: Sequence[Term]
    coefficients: Numbers

    def chances(self, values: Numbers, schools: Integers) -> Numbers:
        """The chance of the outcome of each row. Every school has an intercept."""
        return chance(_design(values, schools, self.schools, self.terms) @ self.coefficients)


@dataclass(frozen=True)
class Cases:
    """The students of a week of whom an outcome is known, of one school or of all."""

    frame: pl.DataFrame
    #: By row: the numbers of SINGLES, of which INPUTS are the first.
    values: Numbers
    schools: Integers
    has_happened: Numbers
    #: Those of a number are left out together: a semester, or some students of a single one.
    folds: Integers

    @property
    def is_enough(self) -> bool:
        return smaller(self.has_happened) >= FEWEST

    def of_school(self, school: int) -> Cases:
        mask = self.schools == school
        return Cases(
            self.frame.filter(pl.Series(mask)),
            self.values[mask],
            self.schools[mask],
            self.has_happened[mask],
            self.folds[mask],
        )


@dataclass(frozen=True)
class Plan:
    """How an outcome is fitted for schools: for all of a file together, or for one by itself."""

    schools: tuple[int, ...]
    penalty: float
    is_pooled: bool

    def cases(self, cases: Cases) -> Cases:
        """The cases that the fit rests on."""
        return cases if self.is_pooled else cases.of_school(self.schools[0])


def fit_score(rows: pl.DataFrame) -> pl.DataFrame:
    """The coefficients by school, outcome, week and input. `rows`: those of closed semesters."""
    fits = []
    for outcome, plan, cases in _plans(rows):
        fit = _fit(cases, plan.penalty, range(len(INPUTS)))
        of_fit = {
            "outcome": outcome,
            "week": cases.frame["week"][0],
            "penalty": plan.penalty,
            "fitted_on": "district" if plan.is_pooled else "school",
            "semesters": cases.frame.select("school_id", "semester_id").n_unique(),
            "students": len(cases.has_happened),
            "with_outcome": int(cases.has_happened.sum()),
        }
        slopes = [
            (term.name, term.mean, term.spread, slope)
            for term, slope in zip(fit.terms, fit.coefficients[len(fit.schools) :], strict=True)
        ]
        for school, intercept in zip(fit.schools.tolist(), fit.coefficients, strict=False):
            fits += [
                {"school_id": school, "input": name, "mean": mean, "spread": spread, "coefficient": value}
                | of_fit
                for name, mean, spread, value in [(INTERCEPT, 0.0, 1.0, intercept), *slopes]
                if school in plan.schools
            ]
    return pl.DataFrame(fits, infer_schema_length=None)


def unseen_chances(rows: pl.DataFrame) -> pl.DataFrame:
    """The chance of each student by a fit that has not seen the student's semester, and the same by the best
    single number. `rows`: those of closed semesters. Of a single one, folds of its students are left out."""
    frames = []
    for outcome, plan, cases in _plans(rows):
        chances = _unseen(cases, plan.penalty, range(len(INPUTS)))
        for school in plan.schools:
            of_school = cases.of_school(school)
            if not len(of_school.has_happened):
                continue
            single = _best_single(of_school)
            frames.append(
                of_school.frame.select("school_id", "semester_id", "week", "student_id").with_columns(
                    outcome=pl.lit(outcome),
                    fold=pl.Series(of_school.folds),
                    has_happened=pl.Series(of_school.has_happened > 0),
                    chance=pl.Series(chances[cases.schools == school]),
                    best_single=pl.lit(SINGLES[single]),
                    single_chance=pl.Series(_unseen(of_school, plan.penalty, [single])),
                )
            )
    return pl.concat(frames) if frames else pl.DataFrame()


def smaller(has_happened: Numbers) -> int:
    """How many students have the outcome, or have it not, whichever is less."""
    positives = int(has_happened.sum())
    return min(positives, len(has_happened) - positives)


def area(has_happened: Numbers, risk: Numbers, strata: Integers) -> tuple[float, Numbers]:
    """The AUC within strata, weighted by their pairs, and the influence of each row on it (DeLong)."""
    influence, total, weights = np.zeros(len(risk)), 0.0, 0.0
    for stratum in np.unique(strata):
        positives = np.flatnonzero((strata == stratum) & (has_happened > 0))
        negatives = np.flatnonzero((strata == stratum) & (has_happened == 0))
        if len(positives) == 0 or len(negatives) == 0:
            continue
        pairs = float(len(positives) * len(negatives))
        below, above = (
            _shares(risk[negatives], risk[positives]),
            1 - _shares(risk[positives], risk[negatives]),
        )
        mean = float(below.mean())
        for rows, shares in ((positives, below), (negatives, above)):
            # As in the sample variance, so that a stratum of few does not look more certain than it is.
            spread = np.sqrt(len(rows) / max(len(rows) - 1, 1))
            influence[rows] = pairs * (shares - mean) * spread / len(rows)
        total, weights = total + pairs * mean, weights + pairs
    return (total / weights, influence / weights) if weights else (float("nan"), influence)


def chance(score: Numbers) -> Numbers:
    """The logistic function."""
    return 1 / (1 + np.exp(-np.clip(score, -700, 700)))


def fit_logistic(design: Numbers, has_happened: Numbers, penalties: Numbers) -> Numbers:
    """The coefficients of a logistic regression, by Newton's method; half of each squared coefficient has a
    penalty."""

    def loss(coefficients: Numbers) -> float:
        score = design @ coefficients
        return float(np.logaddexp(0, score).sum() - has_happened @ score + penalties @ coefficients**2 / 2)

    coefficients = np.zeros(design.shape[1])
    before = loss(coefficients)
    for _ in range(50):
        chances = chance(design @ coefficients)
        gradient = design.T @ (has_happened - chances) - penalties * coefficients
        curvature = (design.T * (chances * (1 - chances))) @ design + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        while (after := loss(coefficients + step)) > before + 1e-9 * abs(before):
            step = step / 2
        coefficients, before = coefficients + step, after
        if np.abs(step).max() < 1e-9:
            break
    return coefficients


def _plans(rows: pl.DataFrame) -> Iterator[tuple[str, Plan, Cases]]:
    """Each outcome, plan and week with the cases that the fit rests on."""
    # DuckDB gives rows in any order, and sums of floating-point numbers depend on it.
    ordered = rows.sort("school_id", "semester_id", "week", "student_id")
    for outcome in OUTCOMES:
        weeks = ordered.drop_nulls(outcome).partition_by("week", as_dict=True)
        if (WEEK,) not in weeks:
            continue
        plans = _plans_of(_cases(weeks[WEEK,], outcome))
        for _, frame in sorted(weeks.items()):
            of_week = _cases(frame, outcome)
            for plan in plans:
                cases = plan.cases(of_week)
                if cases.is_enough:
                    yield outcome, plan, cases


def _plans_of(cases: Cases) -> list[Plan]:
    """A plan for each school of which enough is known in WEEK, with the least loss on unseen students."""
    schools = np.unique(cases.schools).tolist()
    pool = _best_penalty(cases) if len(schools) > 1 and cases.is_enough else None
    plans, pooled = [], []
    for school in schools:
        of_school = cases.of_school(school)
        by_itself = _best_penalty(of_school) if of_school.is_enough else None
        if pool is not None:
            loss = _loss(of_school.has_happened, pool[1][cases.schools == school])
            if by_itself is None or loss <= _loss(of_school.has_happened, by_itself[1]):
                pooled.append(school)
                continue
        if by_itself is not None:
            plans.append(Plan((school,), by_itself[0], is_pooled=False))
    return [*plans, Plan(tuple(pooled), pool[0], is_pooled=True)] if pool and pooled else plans


def _best_penalty(cases: Cases) -> tuple[float, Numbers]:
    """The penalty with the least loss on unseen students, and their chances."""
    chances = {penalty: _unseen(cases, penalty, range(len(INPUTS))) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda penalty: _loss(cases.has_happened, chances[penalty]))
    return penalty, chances[penalty]


def _loss(has_happened: Numbers, chances: Numbers) -> float:
    return -float(np.log(np.maximum(np.where(has_happened > 0, chances, 1 - chances), 1e-12)).mean())


def _cases(frame: pl.DataFrame, outcome: str) -> Cases:
    fold = (
        pl.when(pl.col("semester_id").n_unique().over("school_id") > 1)
        .then(pl.col("first_day").rank("dense", descending=True).over("school_id"))
        .otherwise(pl.col("student_id").rank("dense").over("school_id") % FOLDS)
    )
    return Cases(
        frame,
        frame.select(pl.col(SINGLES).cast(pl.Float64)).fill_null(float("nan")).to_numpy(),
        frame["school_id"].to_numpy(),
        frame[outcome].cast(pl.Float64).to_numpy(),
        frame.select(fold.cast(pl.Int64)).to_series().to_numpy(),
    )


def _unseen(cases: Cases, penalty: float, columns: Sequence[int]) -> Numbers:
    """The chance of each case by a fit without the cases of its fold."""
    chances = np.empty(len(cases.has_happened))
    for fold in np.unique(cases.folds):
        mask = cases.folds == fold
        fit = _fit(cases, penalty, columns, ~mask)
        chances[mask] = fit.chances(cases.values[mask], cases.schools[mask])
    return chances


def _fit(
    cases: Cases, penalty: float, columns: Sequence[int], mask: npt.NDArray[np.bool_] | None = None
) -> Fit:
    """A fit of the numbers in some columns of the cases; `mask`: which cases it rests on."""
    rows = slice(None) if mask is None else mask
    values, schools = cases.values[rows], np.unique(cases.schools)
    terms = _terms(values, columns)
    penalties = np.array([INTERCEPT_PENALTY] * len(schools) + [penalty] * len(terms))
    design = _design(values, cases.schools[rows], schools, terms)
    return Fit(schools, terms, fit_logistic(design, cases.has_happened[rows], penalties))


def _terms(values: Numbers, columns: Sequence[int]) -> list[Term]:
    terms = []
    for column in columns:
        present = values[~np.isnan(values[:, column]), column]
        if present.size and present.max() > present.min():
            terms.append(Term(SINGLES[column], column, float(present.mean()), float(present.std()), False))
        if 0 < present.size < len(values):
            terms.append(Term(f"{SINGLES[column]}_is_missing", column, 0.0, 1.0, True))
    return terms


def _design(values: Numbers, row_schools: Integers, schools: Integers, terms: Sequence[Term]) -> Numbers:
    columns = [(row_schools == school).astype(float) for school in schools]
    for term in terms:
        value = values[:, term.column]
        if term.is_indicator:
            columns.append(np.isnan(value).astype(float))
        else:
            columns.append(np.nan_to_num((value - term.mean) / term.spread, nan=0.0))
    return np.column_stack(columns)


def _best_single(cases: Cases) -> int:
    """The single number with the greatest AUC of those who have it, if enough students have it."""
    areas, semesters = [], cases.frame["semester_id"].to_numpy()
    for column, name in enumerate(SINGLES):
        has_number = ~np.isnan(cases.values[:, column])
        risk, has_happened = cases.values[has_number, column], cases.has_happened[has_number]
        is_enough = smaller(has_happened) >= FEWEST_OF_SINGLE
        auc, _ = area(has_happened, -risk if name in HIGH_IS_GOOD else risk, semesters[has_number])
        areas.append(auc if is_enough else 0.0)
    return int(np.argmax(np.nan_to_num(areas)))


def _shares(reference: Numbers, values: Numbers) -> Numbers:
    """The share of the reference below each value; of equal ones half."""
    ordered = np.sort(reference)
    ranks = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return ranks / 2 / len(ordered)
