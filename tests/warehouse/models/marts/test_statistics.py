"""The harder statistics of the marts, worked out again by scipy and numpy from generated data.

The marts' own SQL, as it is compiled, runs on a copy of a built file whose facts are replaced.
"""

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.kits.models.builds import Build
from tests.kits.models.marts import insert, mart

STUDENTS, CLASSES, ITEMS = 120, 6, 5
#: Marts tell four decimals.
EXACT = 5.1e-5


@pytest.fixture(scope="module")
def generated(
    healthy: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A school whose classes have from 2 to 120 students, with ties, gaps and a class where all are equal."""
    # The compiled models name their database, which is called as its file.
    file = tmp_path_factory.mktemp("generated") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    random = np.random.default_rng(5)
    with duckdb.connect(str(file)) as connection:
        facts = ("fct_grade", "fct_item_score", "fct_assessment_item")
        for table in (*facts, "dim_student", "dim_course_class"):
            connection.execute(f"delete from core.{table}")
        connection.execute("delete from core.bridge_student_admin_class")
        insert(connection, "dim_student", _students())
        insert(connection, "dim_course_class", [_class(number) for number in range(CLASSES)])
        insert(connection, "fct_grade", list(_grades(random)))
        scores = list(_scores(random))
        insert(connection, "fct_item_score", scores)
        insert(connection, "fct_assessment_item", _items(scores))
        yield connection


def _students() -> list[dict[str, Any]]:
    return [{"school_id": 1, "student_id": n, "cohort_id": 1 + n % 3} for n in range(STUDENTS)]


def _class(number: int) -> dict[str, Any]:
    return {"school_id": 1, "course_class_id": number, "course_name": f"course {number % 2}"}


def _grades(random: np.random.Generator) -> Iterator[dict[str, Any]]:
    for number, size in enumerate((120, 40, 7, 3, 2, 30)):
        for student in range(size):
            percent = 80.0 if number == 5 else float(np.round(np.clip(random.normal(75, 12), 0, 100) * 2) / 2)
            yield {
                "school_id": 1,
                "semester_id": 20,
                "source": "class",
                "course_class_id": number,
                "student_id": student,
                "real_score": percent,
                "full_score": 100.0,
                "score_percent": percent,
                "weight": 1.0,
                "is_passed": percent >= 60,
                "counts_in_statistics": True,
            }


def _scores(random: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Marks of ability and luck, of 10 in halves; one in twelve is missing, so that not all are complete."""
    for assessment, students in enumerate((120, 37, 21)):
        ability = random.normal(0, 1, students)
        for item in range(ITEMS):
            marks = np.clip(np.round(2 * (6 + 1.5 * ability + random.normal(0, 1.5, students))) / 2, 0, 10)
            for student in np.flatnonzero(random.random(students) > 1 / 12):
                yield {
                    "school_id": 1,
                    "assessment_id": assessment,
                    "assessment_item_id": assessment * 10 + item,
                    "student_id": int(student),
                    "is_valid": True,
                    "score": float(marks[student]),
                }


def _items(scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    grouped = pl.DataFrame(scores).group_by("assessment_id", "assessment_item_id")
    sums = grouped.agg(valid_scores=pl.len(), score_sum=pl.col("score").sum())
    return sums.with_columns(school_id=1, semester_id=20, full_score=10.0).to_dicts()


def test_distributions_against_numpy(healthy: Build, generated: duckdb.DuckDBPyConnection) -> None:
    groups = {
        row["group_key"]: row
        for row in mart(generated, "grade_distribution")
        if row["group_type"] == "course_class"
    }
    grades = generated.sql("select course_class_id, score_percent::double as x from core.fct_grade").pl()
    assert len(groups) == CLASSES
    for (key,), part in grades.group_by("course_class_id"):
        values = part["x"].to_numpy()
        group = groups[str(key)]
        expected = {
            "mean": np.mean(values),
            "sd": np.std(values, ddof=1),
            "lower_quartile": np.percentile(values, 25),
            "median": np.median(values),
            "upper_quartile": np.percentile(values, 75),
        }
        assert {name: float(group[name]) for name in expected} == pytest.approx(expected, abs=EXACT)


def test_ranks_and_z_scores_against_scipy(healthy: Build, generated: duckdb.DuckDBPyConnection) -> None:
    students = pl.DataFrame(mart(generated, "grade_student_semester"))
    # Who has left is ranked among nobody.
    students = students.filter(~pl.col("has_left"))
    for _, cohort in students.group_by("cohort_id"):
        means = cohort["weighted_mean"].cast(pl.Float64).to_numpy()
        ranks = stats.rankdata(-means, method="min")
        assert cohort["rank_in_cohort"].to_list() == ranks.tolist()
        percent_ranks = (ranks - 1) / (len(means) - 1)
        assert cohort["percent_rank_in_cohort"].to_list() == pytest.approx(percent_ranks.tolist())
        z_scores = stats.zscore(means, ddof=1).tolist()
        assert cohort["z_score_in_cohort"].cast(pl.Float64).to_list() == pytest.approx(z_scores, abs=EXACT)


def test_classes_beside_the_others_against_scipy(
    healthy: Build, generated: duckdb.DuckDBPyConnection
) -> None:
    classes = mart(generated, "grade_class_against_cohort")
    grades = generated.sql(
        "select course_class_id, course_class_id % 2 as course, cohort_id, score_percent::double as x"
        " from core.fct_grade join core.dim_student using (school_id, student_id)"
    ).pl()
    compared = 0
    for row in classes:
        of_class = pl.col("course_class_id") == row["course_class_id"]
        cohort = grades.filter(
            (pl.col("course") == row["course_class_id"] % 2) & (pl.col("cohort_id") == row["cohort_id"])
        )
        own = cohort.filter(of_class)["x"].to_numpy()
        others = cohort.filter(~of_class)["x"].to_numpy()
        assert row["others_scored"] == len(others)
        if min(len(own), len(others)) < 5:
            assert row["is_distinguishable"] is None
            continue
        compared += 1
        within = (own.var(ddof=1) * (len(own) - 1) + others.var(ddof=1) * (len(others) - 1)) / (
            len(own) + len(others) - 2
        )
        assert float(row["effect_size"]) == pytest.approx(
            (own.mean() - others.mean()) / within**0.5, abs=EXACT
        )
        welch = stats.ttest_ind(own, others, equal_var=False)
        interval = welch.confidence_interval(0.95)
        limits = float(row["difference_low"]), float(row["difference_high"])
        # The quantile of t is an expansion.
        assert limits == pytest.approx((interval.low, interval.high), rel=3e-4, abs=EXACT)
        reliability = _reliability(cohort, row["course_class_id"])
        assert float(row["shrunken_difference"]) == pytest.approx(
            (own.mean() - others.mean()) * reliability, abs=EXACT
        )
        p_value = 2 * stats.t.sf(abs(welch.statistic) * reliability**0.5, welch.df)
        assert abs(p_value - 0.05) > 1e-4, "too near to the limit to tell by"
        assert row["is_distinguishable"] == (p_value < 0.05)
        assert row["verdict"] in (("above", "below") if p_value < 0.05 else ("not distinguishable",))
        assert (row["rank"] is not None) == (p_value < 0.05)
    assert compared > 5


def _reliability(cohort: pl.DataFrame, of_class: int) -> float:
    """The share of a class's difference that is no chance, by the analysis of variance of the classes."""
    parts = {key: part["x"].to_numpy() for (key,), part in cohort.group_by("course_class_id")}
    within = sum(x.var() * len(x) for x in parts.values()) / (len(cohort) - len(parts))
    errors, differences = [], []
    for key, own in parts.items():
        others = np.concatenate([x for other, x in parts.items() if other != key])
        errors.append(within * (1 / len(own) + 1 / len(others)))
        differences.append(own.mean() - others.mean())
    excess = sum(d**2 / e for d, e in zip(differences, errors, strict=True)) - len(parts)
    between = max(excess, 0) / sum(1 / error for error in errors)
    return float(between / (between + errors[list(parts).index(of_class)]))


def test_items_against_scipy(healthy: Build, generated: duckdb.DuckDBPyConnection) -> None:
    row_by_item = {row["assessment_item_id"]: row for row in mart(generated, "score_item_analysis")}
    scores = generated.sql(
        "select assessment_id, assessment_item_id, student_id, score::double as score"
        " from core.fct_item_score"
    ).pl()
    for (assessment,), part in scores.group_by("assessment_id"):
        wide = part.pivot(on="assessment_item_id", index="student_id", values="score").drop_nulls()
        names = [name for name in wide.columns if name != "student_id"]
        marks = wide.select(names).to_numpy()
        alpha = _alpha(marks)
        for column, name in enumerate(names):
            item, rest = marks[:, column], np.delete(marks, column, axis=1).sum(axis=1)
            row = row_by_item[int(name)]
            assert row["complete_students"] == len(marks)
            if len(marks) < 20:
                assert row["alpha"] is row["item_rest_correlation"] is row["discrimination"] is None
                continue
            expected = {
                "item_rest_correlation": stats.pearsonr(item, rest).statistic,
                "alpha": alpha,
                "discrimination": _discrimination(item / 10, marks.sum(axis=1)),
            }
            error = (2 * ITEMS / ((ITEMS - 1) * (len(marks) - 2))) ** 0.5 * stats.norm.ppf(0.975)
            expected |= {
                "alpha_low": 1 - (1 - alpha) * np.exp(error),
                "alpha_high": 1 - (1 - alpha) * np.exp(-error),
            }
            assert row["is_small_sample"] == (len(marks) < 30)
            interval = stats.pearsonr(item, rest).confidence_interval(0.95)
            expected |= {"item_rest_low": interval.low, "item_rest_high": interval.high}
            assert {key: float(row[key]) for key in expected} == pytest.approx(expected, abs=EXACT)
        assert assessment in (0, 1, 2)
    assert {row["alpha"] is None for row in row_by_item.values()} == {True, False}


def _alpha(marks: np.ndarray) -> float:
    """Cronbach's alpha by the mean covariance: k * c / (v + (k - 1) * c), another way to the same number."""
    covariances = np.cov(marks, rowvar=False)
    k = len(covariances)
    variance = np.trace(covariances) / k
    covariance = (covariances.sum() - np.trace(covariances)) / (k * (k - 1))
    return float(k * covariance / (variance + (k - 1) * covariance))


def _discrimination(shares: np.ndarray, totals: np.ndarray) -> float:
    """Top less bottom 27 %, ties at an edge settled in every possible way: the mean of many shuffles' limit,
    by replacing tied students' shares with their mean before the groups are cut."""
    size = max(round(len(totals) * 0.27), 1)
    levelled = np.array([shares[totals == total].mean() for total in totals])
    order = np.argsort(totals, kind="stable")
    return float(levelled[order[-size:]].mean() - levelled[order[:size]].mean())
