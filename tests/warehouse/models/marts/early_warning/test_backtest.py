"""The back-test of early warning: flags use nothing later, and its figures are those of scipy and numpy."""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from pipelines.thresholds.back_test import back_test_rows
from pipelines.thresholds.decisions import decision_rows
from tests.kits.models.builds import Build
from tests.kits.models.warning_worlds import (
    FIRST_DAY,
    LAST_DAY,
    MODELS,
    WEEKS,
    World,
    clear,
    fill,
    rows_of,
    semester_row,
)
from warehouse.publish.models.by_semester import make_semesters
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled

#: Percentages have two decimals, areas four.
PERCENT, AREA = 0.0051, 5.1e-5
Z = 1.959964
RANKS = {"at_risk": 3, "warning": 2, "watch": 1, "none": 0}
Week = dict[str, Any]


@pytest.fixture(scope="module")
def school(
    healthy: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., duckdb.DuckDBPyConnection]]:
    """Makes a school of one closed semester, of its students, days of attendance, grades and scores."""
    file = tmp_path_factory.mktemp("backtest") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    with duckdb.connect(str(file)) as connection:
        clear(connection)
        connection.execute("begin")

        def make(**tables: list[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
            connection.execute("rollback")
            connection.execute("begin")
            fill(connection, {"dim_semester": [semester_row(20, FIRST_DAY, is_over=True)]} | tables)
            return connection

        yield make


def _students(number: int, **columns: Callable[[int], Any]) -> list[dict[str, Any]]:
    return [
        {"school_id": 1, "student_id": n, "cohort_id": 1, "is_deleted": False}
        | {name: value(n) for name, value in columns.items()}
        for n in range(number)
    ]


def _members(number: int) -> list[dict[str, Any]]:
    return [
        {"school_id": 1, "semester_id": 20, "course_class_id": 1, "student_id": n, "joined_on": FIRST_DAY}
        for n in range(number)
    ]


def _day(student: int, week: int, weekday: int, present: int, late: int = 0) -> dict[str, Any]:
    return {
        "school_id": 1,
        "semester_id": 20,
        "student_id": student,
        "date": FIRST_DAY + timedelta(days=7 * (week - 1) + weekday),
        "week": week,
        "recorded": 6,
        "present": present,
        "absent": 6 - present,
        "late": late,
    }


def _grade(number: int, student: int, percent: float, updated: date) -> dict[str, Any]:
    return {
        "school_id": 1,
        "grade_id": number,
        "source": "class",
        "semester_id": 20,
        "assessment_id": number % 3,
        "student_id": student,
        "full_score": 100.0,
        "real_score": percent,
        "score_percent": percent,
        "weight": 1.0,
        "is_passed": percent >= 60,
        "counts_in_statistics": True,
        "status": "normal",
        "published_at": datetime.combine(updated, datetime.min.time()),
        "updated_at": datetime.combine(updated, datetime.min.time()),
    }


def _world(
    random: np.random.Generator, is_weak: np.ndarray, is_failing: np.ndarray
) -> dict[str, list[dict[str, Any]]]:
    """Weak students miss a fifth of the lessons, others a fiftieth. Failing ones fail three courses."""
    attendance = [
        _day(n, week, weekday, int(random.binomial(6, 0.8 if weak else 0.98)))
        for n, weak in enumerate(is_weak)
        for week in range(1, WEEKS + 1)
        for weekday in range(5)
    ]
    grades = [
        _grade(3 * n + course, n, 50.0 if fails else 75.0, LAST_DAY)
        for n, fails in enumerate(is_failing)
        for course in range(3)
    ]
    return {
        "dim_student": _students(len(is_weak), gender=lambda n: "mf"[n % 2]),
        "bridge_class_student": _members(len(is_weak)),
        "attendance_student_day": attendance,
        "fct_grade": grades,
    }


def _rows(connection: duckdb.DuckDBPyConnection, table: str, condition: str = "true") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(f"select * from {table} where {condition}").pl().to_dicts()
    return rows


def _level(connection: duckdb.DuckDBPyConnection, outcome: str, week: int) -> dict[str, Any]:
    [row] = _rows(
        connection,
        "marts.early_warning_backtest",
        f"rule = 'level_warning' and outcome = '{outcome}' and week = {week}",
    )
    return row


STUDENTS = 240
CASES = """
    select weeks.*, outcomes.failed_courses as has_failed, outcomes.chronic_absence
    from core.early_warning_week as weeks join core.early_warning_outcome as outcomes using (student_id, week)
"""


def test_a_warning_that_works_is_shown_to_work(school: Any) -> None:
    random = np.random.default_rng(1)
    weak = np.arange(STUDENTS) % 8 < 2
    fails = random.random(STUDENTS) < np.where(weak, 0.7, 0.04)
    row = _level(school(**_world(random, weak, fails)), "failed_courses", 8)
    assert row["auc_low"] > 0.7
    assert row["precision_low"] > row["base_rate_high"]
    assert row["recall"] > 50


def test_a_warning_that_does_not_work_is_shown_not_to(school: Any) -> None:
    random = np.random.default_rng(2)
    weak = np.arange(STUDENTS) % 8 < 2
    fails = random.random(STUDENTS) < 0.2
    row = _level(school(**_world(random, weak, fails)), "failed_courses", 8)
    assert row["auc_low"] < 0.5 < row["auc_high"]
    assert row["precision_low"] < row["base_rate"] < row["precision_high"]


def test_a_warning_biased_against_a_group_is_shown_to_be(school: Any) -> None:
    """Boys and girls are the same in pairs; in the biased world two of five boys miss lessons for nothing."""
    random = np.random.default_rng(3)
    weak = np.repeat(np.arange(STUDENTS // 2) % 4 == 0, 2)
    fails = np.repeat(random.random(STUDENTS // 2) < np.where(weak[::2], 0.7, 0.04), 2)
    boys = np.arange(STUDENTS) % 2 == 0
    condition = "rule = 'level_warning' and outcome = 'failed_courses' and week = 8 and group_code = 'm'"
    biased = school(**_world(random, weak | (boys & (random.random(STUDENTS) < 0.4)), fails))
    [row] = _rows(biased, "marts.early_warning_backtest_group", condition)
    assert row["false_alarm_rate_difference_low"] > 10
    assert row["is_distinguishable"]
    fair = school(**_world(random, weak, fails))
    [row] = _rows(fair, "marts.early_warning_backtest_group", condition)
    assert not row["is_distinguishable"]


def test_figures_against_scipy(school: Any) -> None:
    random = np.random.default_rng(4)
    weak = random.random(60) < 0.3
    connection = school(**_world(random, weak, random.random(60) < np.where(weak, 0.6, 0.1)))
    weeks = connection.sql(CASES)
    for week in (1, 3, 9, 15):
        cases = weeks.filter(f"week = {week}").pl()
        for outcome, column in (("failed_courses", "has_failed"), ("chronic_absence", "chronic_absence")):
            judged = cases.filter(pl.col(column).is_not_null())
            if judged.is_empty():
                continue
            [row] = _rows(
                connection,
                "marts.early_warning_backtest",
                f"rule = 'attendance_rate' and outcome = '{outcome}' and week = {week}",
            )
            happened = judged[column].to_numpy()
            flagged = (
                judged["attendance_rate_level"].is_in(["warning", "at_risk"]).fill_null(False).to_numpy()
            )
            hits = int((happened & flagged).sum())
            assert (row["students"], row["with_outcome"]) == (len(judged), happened.sum())
            assert (row["flagged"], row["hits"]) == (flagged.sum(), hits)
            # Where the rule could judge nobody, it has missed nobody.
            with_outcome = int(happened.sum()) if judged["attendance_rate_level"].count() else 0
            for share, whole in (("precision", int(flagged.sum())), ("recall", with_outcome)):
                _assert_wilson(row, share, hits, whole)
            _assert_wilson(row, "base_rate", int(happened.sum()), len(judged))
            by_rule = judged.filter(pl.col("attendance_rate_level").is_not_null())
            risk = -by_rule["attendance_rate"].cast(pl.Float64).to_numpy()
            _assert_area(row, risk, by_rule[column].to_numpy())


def _assert_wilson(row: Week, share: str, part: int, whole: int) -> None:
    if whole == 0:
        assert row[share] is row[f"{share}_low"] is row[f"{share}_high"] is None
        return
    interval = stats.binomtest(part, whole).proportion_ci(method="wilson")
    measured = [float(row[name]) for name in (share, f"{share}_low", f"{share}_high")]
    expected = [100 * part / whole, 100 * interval.low, 100 * interval.high]
    assert measured == pytest.approx(expected, abs=PERCENT)


def _assert_area(row: Week, risk: np.ndarray, happened: np.ndarray) -> None:
    """The area by Mann and Whitney; its interval pair by pair, with one student more of either outcome."""
    if happened.all() or not happened.any():
        assert row["auc"] is row["auc_low"] is row["auc_high"] is None
        return
    with_it, without = risk[happened], risk[~happened]
    area = stats.mannwhitneyu(with_it, without).statistic / (len(with_it) * len(without))
    assert float(row["auc"]) == pytest.approx(area, abs=AREA)
    if min(len(with_it), len(without)) < 15 or len(set(risk)) == 1:
        assert row["auc_low"] is row["auc_high"] is None
        return
    smooth, variance = _smooth_area(_placements(risk, happened), happened)
    expected = [
        special.expit(special.logit(smooth) + z * variance**0.5 / (smooth * (1 - smooth))) for z in (-Z, Z)
    ]
    measured = [float(row["auc_low"]), float(row["auc_high"])]
    assert measured == pytest.approx([min(expected[0], area), max(expected[1], area)], abs=AREA)


def _weights(happened: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return happened + 1 / len(happened), ~happened + 1 / len(happened)


def _placements(risk: np.ndarray, happened: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each student: the share of those without the outcome at less risk, of those with it at more."""
    wins = np.sign(risk[:, None] - risk[None, :]) / 2 + 0.5
    with_it, without = _weights(happened)
    return wins @ without / without.sum(), with_it @ wins / with_it.sum()


def _smooth_area(placements: tuple[np.ndarray, np.ndarray], happened: np.ndarray) -> tuple[float, float]:
    """The mean of the placements, and its variance."""
    variances = [
        np.cov(values, aweights=weights, ddof=0) / (count - 1)
        for values, weights, count in zip(
            placements, _weights(happened), (happened.sum(), (~happened).sum()), strict=True
        )
    ]
    return np.average(placements[0], weights=_weights(happened)[0]), sum(variances)


@pytest.mark.parametrize("week", [6, 12])
def test_the_level_beside_the_best_indicator_by_pairs(school: Any, week: int) -> None:
    random = np.random.default_rng(5)
    weak = random.random(160) < 0.3
    connection = school(**_world(random, weak, random.random(160) < np.where(weak, 0.6, 0.1)))
    row = _level(connection, "failed_courses", week)
    assert row["best_single"] == "attendance_rate"
    cases = connection.sql(CASES).filter(f"week = {week}").pl()
    cases = cases.filter(pl.col("attendance_rate_level").is_not_null(), pl.col("level") != "unknown")
    happened = cases["has_failed"].to_numpy()
    level = cases["level"].replace_strict(RANKS).to_numpy()
    single = -cases["attendance_rate"].cast(pl.Float64).to_numpy()
    areas = [stats.mannwhitneyu(risk[happened], risk[~happened]).statistic for risk in (level, single)]
    difference = (areas[0] - areas[1]) / (happened.sum() * (~happened).sum())
    by_level, by_single = _placements(level, happened), _placements(single, happened)
    (a, a_variance), (b, b_variance) = (
        _smooth_area(placements, happened) for placements in (by_level, by_single)
    )
    gaps = (by_level[0] - by_single[0], by_level[1] - by_single[1])
    correlation = (a_variance + b_variance - _smooth_area(gaps, happened)[1]) / (
        2 * (a_variance * b_variance) ** 0.5
    )
    # Attendance, its drop and lateness judge; grades are published in the last week.
    ends = []
    for sign, z in ((-1, Z), (1, stats.norm.ppf(1 - 0.05 / max(_candidates(connection, week), 2)))):
        reaches = [
            special.expit(special.logit(area) + direction * z * variance**0.5 / (area * (1 - area))) - area
            for area, variance, direction in ((a, a_variance, sign), (b, b_variance, -sign))
        ]
        squares = reaches[0] ** 2 + reaches[1] ** 2 + 2 * correlation * reaches[0] * reaches[1]
        ends.append(a - b + sign * squares**0.5)
    expected = [difference, min(ends[0], difference), max(ends[1], difference)]
    measured = [float(row[f"auc_difference{end}"]) for end in ("", "_low", "_high")]
    assert measured == pytest.approx(expected, abs=AREA)
    verdict = "better" if ends[0] > 0 else "worse" if ends[1] < 0 else "not distinguishable"
    assert row["verdict"] == verdict


def _candidates(connection: duckdb.DuckDBPyConnection, week: int) -> int:
    """How many indicators judge ten with two failed courses, and ten without."""
    cases = connection.sql(CASES).filter(f"week = {week}").pl()
    counts = [
        cases.filter(pl.col(f"{indicator}_level").is_not_null())["has_failed"]
        .value_counts()["count"]
        .to_list()
        for indicator in ("attendance_rate", "attendance_drop", "lateness_rate")
    ]
    return sum(len(count) == 2 and min(count) >= 10 for count in counts)


def test_who_is_not_judged_has_no_risk(school: Any) -> None:
    """Of 60 students 20 have no lesson at all and fail: their risk is not known, and not the least."""
    random = np.random.default_rng(12)
    world = _world(random, np.zeros(60, bool), np.arange(60) % 3 == 0)
    world["attendance_student_day"] = [
        row for row in world["attendance_student_day"] if row["student_id"] % 3 or row["student_id"] > 30
    ]
    connection = school(**world)
    [row] = _rows(
        connection,
        "marts.early_warning_backtest",
        "rule = 'attendance_rate' and outcome = 'failed_courses' and week = 8",
    )
    assert (row["students"], row["judged"], row["with_outcome"]) == (60, 49, 20)
    cases = connection.sql(CASES).filter("week = 8 and attendance_rate_level is not null").pl()
    _assert_area(row, -cases["attendance_rate"].cast(pl.Float64).to_numpy(), cases["has_failed"].to_numpy())
    assert float(row["auc"]) > 0.2, "0.25 if who is not judged counted as least at risk"
    # Nine with the outcome are judged, which is too few for a single indicator to be compared with.
    level = _level(connection, "failed_courses", 8)
    assert (level["best_single"], level["single_hits"], level["auc_difference"]) == (None, None, None)
    assert level["verdict"] == "too few"


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32 - 1), week=st.integers(2, WEEKS - 3))
def test_the_best_indicator_flags_as_many(school: Any, seed: int, week: int) -> None:
    """Of equals at the border the mean of all ways to choose: by a lottery of a thousand orders."""
    random = np.random.default_rng(seed)
    weak = random.random(90) < 0.3
    connection = school(**_world(random, weak, random.random(90) < np.where(weak, 0.6, 0.1)))
    rows = _rows(
        connection,
        "marts.early_warning_backtest",
        f"outcome = 'failed_courses' and week = {week} and rule_type in ('level', 'area')",
    )
    assert {row["rule"] for row in rows} == {
        "level_warning",
        "level_at_risk",
        "attendance_reasons",
        "grades_reasons",
    }
    contained = _rows(connection, "marts.early_warning_backtest", "outcome = 'chronic_absence'")
    assert {row["best_single"] for row in contained} <= {None, "lateness_rate"}, "attendance contains it"
    cases = connection.sql(CASES).filter(f"week = {week}").pl()
    single = rows[0]["best_single"]
    happened = cases["has_failed"].to_numpy()
    value = cases[single].cast(pl.Float64).fill_null(0).to_numpy() * (
        -1 if single == "attendance_rate" else 1
    )
    risk = np.where(cases[f"{single}_level"].is_null().to_numpy(), -np.inf, value)
    for row in rows:
        hits = []
        for _ in range(1000):
            order = np.lexsort((random.random(len(risk)), -risk))
            hits.append(happened[order[: row["flagged"]]].sum())
        error = np.std(hits) / len(hits) ** 0.5
        assert float(row["single_hits"]) == pytest.approx(np.mean(hits), abs=5 * error + 0.0051)


def test_a_row_is_as_sure_as_the_least_sure_student(school: Any) -> None:
    """Grades of every third student are published in week 4; nothing else is used that has a time."""
    random = np.random.default_rng(14)
    world = _world(random, np.zeros(30, bool), np.zeros(30, bool))
    world["fct_grade"] += [_grade(1000 + n, n, 55.0, FIRST_DAY + timedelta(days=20)) for n in range(0, 30, 3)]
    connection = school(**world)
    ranks = {"recorded": 0, "dated": 1, "assumed": 2}
    students = connection.sql("select week, known_when from core.early_warning_week").pl()
    for row in _rows(connection, "marts.early_warning_backtest", "outcome = 'failed_courses'"):
        of_week = students.filter(pl.col("week") == row["week"])["known_when"].drop_nulls().unique().to_list()
        assert row["known_when"] == max(of_week, key=ranks.__getitem__, default=None)


def test_areas_are_those_of_the_rules_in_force(school: Any) -> None:
    """A reason of attendance or of grades, judged where one of its indicators is; no lateness."""
    random = np.random.default_rng(13)
    weak = random.random(60) < 0.3
    world = _world(random, weak, random.random(60) < 0.3)
    for day in world["attendance_student_day"]:
        day["late"] = int(random.random() < 0.1)
    world["fct_grade"] += [_grade(1000 + n, n, 55.0, FIRST_DAY + timedelta(days=20)) for n in range(0, 60, 4)]
    connection = school(**world)
    indicators = {
        "attendance_reasons": ("attendance_rate", "attendance_drop"),
        "grades_reasons": ("score_rate", "score_drop", "failed_courses"),
    }
    cases = connection.sql(CASES).pl()
    for rule, columns in indicators.items():
        levels = [f"{column}_level" for column in columns]
        judged = cases.filter(
            pl.any_horizontal(pl.col(levels).is_not_null()), pl.col("has_failed").is_not_null()
        )
        flagged = judged.filter(pl.any_horizontal(pl.col(levels).is_in(["warning", "at_risk"])))
        rows = _rows(
            connection, "marts.early_warning_backtest", f"rule = '{rule}' and outcome = 'failed_courses'"
        )
        assert {row["is_contained"] for row in rows} == {rule == "grades_reasons"}
        for row in rows:
            assert row["judged"] == len(judged.filter(pl.col("week") == row["week"]))
            assert row["flagged"] == len(flagged.filter(pl.col("week") == row["week"]))
            risk = judged.filter(pl.col("week") == row["week"])
            worst = risk.select(pl.max_horizontal(pl.col(levels).replace_strict(RANKS, default=None)))
            _assert_area(row, worst.to_series().to_numpy(), risk["has_failed"].to_numpy())


GROUPS = "outcome = 'failed_courses' and rule = 'level_warning'"
SHARES = {
    "precision": ("hits", "flagged"),
    "recall": ("hits", "with_outcome"),
    "false_alarm_rate": ("false_alarms", "without"),
}


def _biased_groups(school: Any, seed: int, students: int = 150) -> list[Week]:
    random = np.random.default_rng(seed)
    weak = random.random(students) < np.where(np.arange(students) % 2, 0.15, 0.5)
    world = _world(random, weak, random.random(students) < np.where(weak, 0.6, 0.1))
    world["dim_student"] = _students(
        students, gender=lambda n: "mf"[n % 2], cohort_id=lambda n: n % 3, is_boarding=lambda n: n % 5 < 2
    )
    rows = _rows(school(**world), "marts.early_warning_backtest_group", GROUPS)
    return [row | {"without": row["students"] - row["with_outcome"]} for row in rows]


def _elsewhere(row: Week, rows: list[Week], column: str) -> int:
    kind = [row_ for row_ in rows if (row_["week"], row_["group_type"]) == (row["week"], row["group_type"])]
    return int(sum(row_[column] for row_ in kind) - row[column])


def test_groups_against_newcombe(school: Any) -> None:
    """Of shares that are not rounded."""
    rows = _biased_groups(school, 6)
    for row in rows:
        for share, (count, whole) in SHARES.items():
            wholes = row[whole], _elsewhere(row, rows, whole)
            if not all(wholes) or row["judged"] == 0:
                continue
            counts = row[count], _elsewhere(row, rows, count)
            p, q = counts[0] / wholes[0], counts[1] / wholes[1]
            (low, high), (other_low, other_high) = (
                stats.binomtest(int(k), int(n)).proportion_ci(method="wilson")
                for k, n in zip(counts, wholes, strict=True)
            )
            expected = [
                p - q,
                p - q - ((p - low) ** 2 + (other_high - q) ** 2) ** 0.5,
                p - q + ((high - p) ** 2 + (q - other_low) ** 2) ** 0.5,
            ]
            measured = [float(row[f"{share}_difference{end}"]) for end in ("", "_low", "_high")]
            assert measured == pytest.approx([100 * end for end in expected], abs=PERCENT)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_verdict_of_groups_against_scipy(school: Any, seed: int) -> None:
    """By Fisher and Holm, in week 8 alone, and boys beside girls once."""
    rows = _biased_groups(school, seed)
    assert {row["is_distinguishable"] for row in rows if row["week"] != 8} == {None}
    chances = {}
    for row in (row for row in rows if row["week"] == 8):
        pair = row["group_type"] != "cohort"
        for share in ("recall", "false_alarm_rate"):
            count, whole = SHARES[share]
            wholes = row[whole], _elsewhere(row, rows, whole)
            if min(wholes) < 10:
                assert row[f"{share}_p_value"] is None
                continue
            counts = row[count], _elsewhere(row, rows, count)
            table = [[count, whole - count] for count, whole in zip(counts, wholes, strict=True)]
            key = (row["group_type"], None if pair else row["group_code"], share)
            chances[key] = stats.fisher_exact(table).pvalue
    assert len(chances) > 6
    adjusted, greatest = {}, 0.0
    for rank, (key, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        greatest = max(greatest, min((len(chances) - rank) * chance, 1.0))
        adjusted[key] = greatest
    for row in (row for row in rows if row["week"] == 8):
        code = None if row["group_type"] != "cohort" else row["group_code"]
        of_row = []
        for share in ("recall", "false_alarm_rate"):
            expected = adjusted.get((row["group_type"], code, share))
            measured = row[f"{share}_p_value"]
            assert (measured is None) == (expected is None)
            if expected is not None:
                assert float(measured) == pytest.approx(expected, abs=1e-6)
                of_row.append(expected)
        assert row["is_distinguishable"] == (min(of_row) <= 0.05 if of_row else None)


def _chance_verdict(row: Week) -> str | None:
    """Newcombe (1998), method 10, from scipy's intervals of the two shares."""
    if row["is_contained"] or not row["judged"]:
        return None
    counts = row["hits"], row["judged_with_outcome"] - row["hits"]
    wholes = row["flagged"], row["judged"] - row["flagged"]
    if min(row["judged_with_outcome"], row["judged"] - row["judged_with_outcome"]) < 30 or min(wholes) < 10:
        return "too few"
    p, q = (count / whole for count, whole in zip(counts, wholes, strict=True))
    (low, high), (other_low, other_high) = (
        stats.binomtest(count, whole).proportion_ci(method="wilson")
        for count, whole in zip(counts, wholes, strict=True)
    )
    if p - q - np.hypot(p - low, other_high - q) > 0:
        return "better"
    return "worse" if p - q + np.hypot(high - p, q - other_low) < 0 else "not distinguishable"


def test_verdicts_against_chance_are_newcombes(school: Any) -> None:
    """Of every rule; warnings help, mean nothing or mislead, and a third of the students is not judged."""
    verdicts = set()
    for seed, shares in enumerate([(0.5, 0.3), (0.35, 0.35), (0.1, 0.5), (0.45, 0.3)]):
        random = np.random.default_rng(seed)
        weak = random.random(150) < 0.3
        world = _world(random, weak, random.random(150) < np.where(weak, *shares))
        world["attendance_student_day"] = [
            row for row in world["attendance_student_day"] if row["student_id"] % 3
        ]
        connection = school(**world)
        cases = connection.sql(CASES).filter("attendance_rate_level is not null").pl()
        happened = dict(cases.group_by("week").agg(pl.col("has_failed").sum()).iter_rows())
        for row in _rows(connection, "marts.early_warning_backtest"):
            if (row["rule"], row["outcome"]) == ("attendance_rate", "failed_courses"):
                assert row["judged_with_outcome"] == happened.get(row["week"], 0)
            assert row["chance_verdict"] == _chance_verdict(row), row
            verdicts.add(row["chance_verdict"])
    assert verdicts == {None, "too few", "better", "worse", "not distinguishable"}


@pytest.mark.parametrize(
    ("world", "verdict"),
    [("works", "better"), ("means nothing", "not distinguishable"), ("biased", "better")],
)
def test_thresholds_tell_the_worlds_apart(school: Any, world: World, verdict: str) -> None:
    """`campus thresholds`, of warnings of attendance against failed courses in week 8."""
    connection = school(**rows_of(world, 7))
    rows = {tuple(row[:3]): row[-1] for row in back_test_rows(connection, connection, 1)}
    assert rows["a warning of attendance", "two failed courses", "S20, week 8"] == verdict
    benefits = {row[2]: str(row[5]) for row in decision_rows(connection, connection, 1, 4)}
    low = float(benefits["a warning of attendance"].partition("(")[2].partition(" ")[0])
    assert (low > 0) == (verdict == "better")


@pytest.mark.parametrize(("weeks", "verdict_week"), [(WEEKS, 8), (8, 8), (6, 6)])
def test_the_week_of_the_verdict_is_chosen_beforehand(school: Any, weeks: int, verdict_week: int) -> None:
    random = np.random.default_rng(9)
    weak = random.random(80) < 0.5
    world = _world(random, weak, random.random(80) < 0.5)
    world["attendance_student_day"] = [row for row in world["attendance_student_day"] if row["week"] <= weeks]
    semester = semester_row(20, FIRST_DAY, is_over=True) | {"week_count": weeks}
    connection = school(dim_semester=[semester], **world)
    rows = _rows(connection, "marts.early_warning_backtest_group", GROUPS)
    assert {row["week"] for row in rows if row["is_distinguishable"] is not None} == {verdict_week}
    for row in rows + _rows(connection, "marts.early_warning_backtest"):
        assert row["is_verdict_week"] == (row["week"] == verdict_week)


def test_a_kind_with_a_count_of_few_is_hidden(school: Any) -> None:
    random = np.random.default_rng(8)
    weak = random.random(100) < 0.3
    connection = school(**_world(random, weak, random.random(100) < np.where(weak, 0.6, 0.1)))
    rows = _rows(connection, "marts.early_warning_backtest_group", "true")
    few, hidden = set(), set()
    for row in rows:
        kind = tuple(row[name] for name in ("week", "outcome", "rule", "group_type"))
        counts = [row[name] for name in ("students", "judged", "with_outcome", "flagged", "hits")]
        counts += [row["with_outcome"] - row["hits"], row["flagged"] - row["hits"]]
        if set(counts) & {1, 2, 3, 4}:
            few.add(kind)
        if row["is_suppressed"]:
            hidden.add(kind)
    assert few == hidden and 0 < len(few) < len(rows) / 3
    assert {row["students"] for row in rows} & {1, 2, 3, 4} == set(), "no group is small by its rows"


def test_a_perfect_rule_has_an_area_of_one(school: Any) -> None:
    weak = np.arange(60) < 20
    row = _level(school(**_world(np.random.default_rng(7), weak, weak)), "failed_courses", 10)
    assert (row["precision"], row["recall"], row["auc"], row["auc_high"]) == (100, 100, 1, 1)
    assert 0.7 < row["auc_low"] < 1
    assert row["verdict"] == "too few", "twenty with the outcome"
    assert row["lead_weeks"] >= WEEKS - 5


@pytest.mark.parametrize(
    ("failing", "has_interval", "verdict"), [(14, False, "too few"), (29, True, "too few"), (30, True, None)]
)
def test_few_have_no_interval_and_no_verdict(
    school: Any, failing: int, has_interval: bool, verdict: str | None
) -> None:
    random = np.random.default_rng(failing)
    row = _level(
        school(**_world(random, random.random(80) < 0.3, np.arange(80) < failing)), "failed_courses", 8
    )
    assert row["with_outcome"] == failing
    for name in ("auc_low", "auc_high", "auc_difference_low", "auc_difference_high"):
        assert (row[name] is not None) == has_interval
    assert (row["verdict"] == "too few") == (verdict == "too few")


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_outcomes_dealt_at_random_are_foretold_by_nothing(school: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    weak = np.arange(120) % 4 == 0
    row = _level(school(**_world(random, weak, random.permutation(120) < 40)), "failed_courses", 8)
    # Five standard errors: one in a million examples.
    spread = float(row["auc_high"] - row["auc_low"]) / 3.92
    assert abs(float(row["auc"]) - 0.5) < 5 * spread


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(week=st.integers(1, WEEKS - 1), seed=st.integers(0, 1000))
def test_nothing_later_changes_an_earlier_flag(school: Any, week: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    weak = random.random(20) < 0.4
    world = _world(random, weak, weak)
    ends_on = FIRST_DAY + timedelta(days=7 * week - 1)
    early = [_grade(100 + n, n, 55.0, ends_on) for n in range(0, 20, 3)]
    world["fct_grade"] += early
    world |= _scores_of(random, 20)
    flags = f"select * from core.early_warning_week where week <= {week} order by all"
    before = school(**world).sql(flags).fetchall()
    assert before
    later = [day for day in world["attendance_student_day"] if day["week"] > week]
    for day in later:
        day |= {"present": 0, "absent": 6}
    for grade in world["fct_grade"]:
        if grade["updated_at"].date() > ends_on:
            grade |= {"real_score": 1.0, "score_percent": 1.0, "is_passed": False}
    for score in world["fct_score"]:
        if score["created_at"].date() > ends_on:
            score["created_at"] = datetime.combine(LAST_DAY, datetime.min.time())
    assert school(**world).sql(flags).fetchall() == before


def _items(number: int) -> dict[str, list[dict[str, Any]]]:
    """An assessment of a class of all students, and its items."""
    assessment: Week = {"school_id": 1, "semester_id": 20, "assessment_id": 1, "course_class_id": 1}
    item: Week = {
        "school_id": 1,
        "assessment_id": 1,
        "full_score": 10.0,
        "is_leaf": True,
        "is_deleted": False,
    }
    return {
        "dim_assessment": [assessment | {"is_deleted": False}],
        "dim_assessment_item": [item | {"assessment_item_id": n, "is_deleted": False} for n in range(number)],
    }


def _score(item: int, student: int, created: date) -> dict[str, Any]:
    return {
        "school_id": 1,
        "semester_id": 20,
        "score_id": 100 * item + student,
        "assessment_item_id": item,
        "student_id": student,
        "score": 7.0,
        "is_valid": True,
        "created_at": datetime.combine(created, datetime.min.time()),
    }


def _scores_of(random: np.random.Generator, students: int) -> dict[str, list[dict[str, Any]]]:
    """Ten items of a class of all students; each score is given on a day of its own, or never."""
    scores = [
        _score(item, student, FIRST_DAY + timedelta(days=int(random.integers(0, 7 * WEEKS - 4))))
        for item in range(10)
        for student in range(students)
        if random.random() < 0.8
    ]
    return {**_items(10), "fct_score": scores}


def test_indicators_of_a_week_by_hand(school: Any) -> None:
    """Student 0 misses three of 30 lessons in week 1, is late in two, and lacks the score of one item."""
    days = [_day(0, 1, weekday, 6 if weekday else 3, late=2 if weekday == 1 else 0) for weekday in range(5)]
    days += [_day(0, 2, weekday, 6) for weekday in range(5)]
    scores = [
        _score(item, n, date(2024, 9, 4) + timedelta(days=7 * item))
        for item in range(3)
        for n in (0, 1)
        if (item, n) != (1, 0)
    ]
    connection = school(
        dim_student=_students(2),
        bridge_class_student=_members(2),
        attendance_student_day=days,
        fct_grade=[_grade(1, 0, 55.0, FIRST_DAY + timedelta(days=9)), _grade(2, 0, 95.0, LAST_DAY)],
        fct_score=scores,
        **_items(3),
    )
    weeks = {
        row["week"]: row
        for row in _rows(connection, "core.early_warning_week", "student_id = 0 and week <= 3")
    }
    assert [float(weeks[week]["attendance_rate"]) for week in (1, 2, 3)] == [90.0, 95.0, 95.0]
    assert [float(weeks[week]["lateness_rate"]) for week in (1, 2)] == [7.41, 3.51]
    # Item 1 begins in week 2, by the score of student 1.
    assert [float(weeks[week]["missing_rate"]) for week in (1, 2, 3)] == [0.0, 50.0, 33.33]
    assert [weeks[week]["failed_courses"] for week in (1, 2, 3)] == [None, 1, 1]
    assert [weeks[week]["known_when"] for week in (1, 2)] == ["dated", "dated"]
    assert weeks[1]["attendance_rate_level"] is None, "five days are too few to judge"


def test_a_grade_counts_as_the_warehouse_knew_it(school: Any) -> None:
    """55 until the night of week 4, 70 from then on; the platform's own time is later than both."""
    changed = datetime(2024, 9, 28, 2)
    versions: list[Week] = [
        {"known_from": datetime(2024, 9, 1, 2), "known_to": changed, "real_score": 55.0},
        {"known_from": changed, "known_to": None, "real_score": 70.0},
    ]
    history = [
        {
            "school_id": 1,
            "semester_id": 20,
            "grade_id": 1,
            "source": "class",
            "student_id": 0,
            "status": "normal",
        }
        | version
        for version in versions
    ]
    connection = school(
        dim_student=_students(1),
        bridge_class_student=_members(1),
        fct_grade=[_grade(1, 0, 70.0, LAST_DAY)],
        grade_history=history,
        known_since=[{"school_id": 1, "resource": "class_members", "known_since": datetime(2024, 9, 1, 2)}],
    )
    rows = connection.sql(
        "select failed_courses, known_when from core.early_warning_week where week in (3, 4) order by week"
    ).fetchall()
    assert rows == [(1, "recorded"), (0, "recorded")]


def test_who_was_not_there_is_in_no_week(school: Any) -> None:
    members = _members(3)
    members[1] |= {"joined_on": FIRST_DAY + timedelta(days=14)}
    members[2] |= {"left_on": FIRST_DAY + timedelta(days=14)}
    connection = school(dim_student=_students(3), bridge_class_student=members)
    weeks = connection.sql(
        "select student_id, min(week), max(week) from core.early_warning_week group by all order by all"
    ).fetchall()
    assert weeks == [(0, 1, WEEKS), (1, 3, WEEKS), (2, 1, 2)]
    assert _rows(connection, "core.early_warning_week", "level <> 'unknown'") == []


def _status(connection: duckdb.DuckDBPyConnection) -> dict[tuple[int, str], tuple[str, int | None]]:
    rows = _rows(connection, "marts.early_warning_backtest_status")
    return {(row["semester_id"], row["outcome"]): (row["status"], row["weeks_missing"]) for row in rows}


def test_a_running_semester_is_not_judged(school: Any) -> None:
    """The only semester has begun five weeks ago; the semester after it is not known yet."""
    semester = semester_row(20, FIRST_DAY, is_over=False) | {"loaded_on": FIRST_DAY + timedelta(days=35)}
    connection = school(dim_semester=[semester], dim_student=_students(1), bridge_class_student=_members(1))
    assert _rows(connection, "marts.early_warning_backtest") == []
    assert _status(connection) == {
        (20, outcome): ("semester not over", weeks)
        for outcome, weeks in {
            # Eleven weeks, the last of which ends on a Friday; from the Saturday on it is over.
            **dict.fromkeys(("chronic_absence", "failed_courses", "mean_drop", "failed_or_chronic"), 11),
            **dict.fromkeys(("has_left", "failed_next"), None),
        }.items()
    }


def test_the_status_says_what_is_missing(school: Any) -> None:
    """A closed semester, then one that begins in four weeks. Of 60 students 20 fail and five miss lessons."""
    next_day = LAST_DAY + timedelta(days=30)
    loaded = {"loaded_on": next_day - timedelta(days=28)}
    world = _world(np.random.default_rng(9), np.arange(60) < 5, np.arange(60) % 3 == 0)
    semesters = [
        semester_row(20, FIRST_DAY, is_over=True) | loaded,
        semester_row(21, next_day, is_over=False) | loaded,
    ]
    connection = school(dim_semester=semesters, **world)
    assert _status(connection) == {
        (20, "chronic_absence"): ("too few", None),
        (20, "failed_courses"): ("ready", None),
        (20, "mean_drop"): ("outcome not known", None),
        (20, "failed_or_chronic"): ("ready", None),
        (20, "has_left"): ("next semester not begun", 4),
        (20, "failed_next"): ("next semester not over", 4 + WEEKS),
    }
    [row] = _rows(connection, "marts.early_warning_backtest_status", "outcome = 'failed_courses'")
    assert (row["with_outcome"], row["without_outcome"]) == (20, 40)
    # The lessons of a week suffice to judge lateness. Grades are published in the last week.
    assert (row["first_week"], row["weeks_ready"]) == (1, WEEKS - 1)
    [row] = _rows(connection, "marts.early_warning_backtest_status", "outcome = 'chronic_absence'")
    assert (row["with_outcome"], row["weeks_ready"], row["first_week"]) == (5, 0, None)


def test_a_semester_without_grades_says_so(school: Any) -> None:
    semester = semester_row(20, FIRST_DAY, is_over=True) | {"never_loaded": ["grades"]}
    connection = school(dim_semester=[semester], dim_student=_students(1), bridge_class_student=_members(1))
    status = _status(connection)
    assert status[20, "failed_courses"] == status[20, "mean_drop"] == ("not loaded", None)
    assert status[20, "chronic_absence"] == ("outcome not known", None)


def test_semesters_made_one_by_one_are_those_made_together(school: Any) -> None:
    random = np.random.default_rng(8)
    weak = random.random(40) < 0.4
    first, second = (_world(random, weak, random.random(40) < 0.4) for _ in range(2))
    later_on = timedelta(days=182)
    for days in (second["attendance_student_day"], second["fct_grade"], second["bridge_class_student"]):
        for row in days:
            row |= {"semester_id": 21}
            row |= {name: value + later_on for name, value in row.items() if isinstance(value, date)}
            if "grade_id" in row:
                row["grade_id"] += 1000
    scores = _scores_of(random, 40)
    both = {name: first[name] + second[name] for name in first if name != "dim_student"}
    semesters = [
        semester_row(20, FIRST_DAY, is_over=True),
        semester_row(21, FIRST_DAY + later_on, is_over=True),
    ]
    connection = school(dim_semester=semesters, dim_student=first["dim_student"], **both, **scores)
    models = {model.name: model for model in read_project(compiled()).models}
    for name in MODELS[1:5]:
        [model] = [model for model in models.values() if model.name.endswith(f".{name}")]
        connection.execute(f"alter table {model.name} rename to together")
        make_semesters(connection, model, exists=False)
        for pair in (("together", model.name), (model.name, "together")):
            tables = [table if "." in table else f"{model.schema}.{table}" for table in pair]
            assert connection.sql(f"from {tables[0]} except all from {tables[1]}").fetchall() == [], (
                model.name
            )
        assert connection.sql(f"select count(distinct semester_id) from {model.name}").fetchall() == [(2,)]
        connection.execute(f"drop table {model.schema}.together")


def test_outcomes_count_only_what_happens_after_the_week(school: Any) -> None:
    """Two fails published in week 4 and 10; a fall by two standard deviations since the last semester."""
    published = [FIRST_DAY + timedelta(days=7 * week - 3) for week in (4, 4, 10, 10)]
    grades = [_grade(n, 0, 50.0, day) for n, day in enumerate(published)]
    earlier = semester_row(19, FIRST_DAY - timedelta(days=182), is_over=True) | {"week_count": None}
    means = [
        {
            "school_id": 1,
            "semester_id": semester,
            "student_id": 0,
            "z_score_in_cohort": z,
            "failed_courses": 0,
        }
        for semester, z in ((19, 1.0), (20, -1.0))
    ]
    connection = school(
        dim_semester=[earlier, semester_row(20, FIRST_DAY, is_over=True)],
        dim_student=_students(1),
        bridge_class_student=_members(1),
        fct_grade=grades,
        grade_student_semester=means,
    )
    rows = connection.sql(
        "select week, failed_courses, mean_drop from core.early_warning_outcome order by week"
    ).fetchall()
    assert rows == [
        (week, True if week < 10 else None, True if week < 4 else None) for week in range(1, WEEKS + 1)
    ]


def test_the_direction_of_an_indicator_is_that_of_its_rule(school: Any) -> None:
    random = np.random.default_rng(11)
    weak = random.random(60) < 0.3
    world = _world(random, weak, random.random(60) < np.where(weak, 0.6, 0.1))
    query = (
        "select auc from marts.early_warning_backtest "
        "where rule = 'attendance_rate' and week = 9 order by all"
    )
    areas = school(**world).sql(query).fetchall()
    connection = school(**world)
    connection.execute(
        "update seeds.early_warning_rules set worse = 'at_least' where indicator = 'attendance_rate'"
    )
    backtest = compiled()["nodes"]["model.campus.early_warning_backtest"]["compiled_code"]
    connection.execute(f"create or replace table marts.early_warning_backtest as {backtest}")
    turned = connection.sql(query).fetchall()
    assert areas and turned == sorted((1 - area,) for (area,) in areas)
