"""The early-warning score: fitted to closed semesters, shown where it is better, and made of no group."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import special, stats

from loading.tables import TABLES
from tests.kits.models.builds import Build
from tests.kits.models.marts import make
from warehouse.publish.lineage import model_lineage
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.sql_functions import register_functions

MODELS = (
    "early_warning_score_fit",
    "early_warning_score_unseen",
    "early_warning_score_judgement",
    "early_warning_score_calibration",
    "early_warning_score",
)
WEEKS, STUDENTS, RUNNING = 10, 600, 30
FIRST_DAY = date(2026, 9, 7)
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def school(
    healthy: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., duckdb.DuckDBPyConnection]]:
    """Makes the score of the rows of other models."""
    file = tmp_path_factory.mktemp("score") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    with duckdb.connect(str(file)) as connection:
        register_functions(connection)
        for table in ("core.dim_semester", "marts.early_warning", "marts.grade_student_semester"):
            connection.execute(f"delete from {table}")
        connection.execute("begin")

        def make_score(**tables: pl.DataFrame) -> duckdb.DuckDBPyConnection:
            connection.execute("rollback")
            connection.execute("begin")
            for name, rows in tables.items():
                schema = "marts" if name in ("early_warning", "grade_student_semester") else "core"
                connection.register("rows", rows.to_arrow())
                connection.execute(f"insert into {schema}.{name} by name from rows")
            make(connection, MODELS)
            return connection

        yield make_score


def _world(
    seed: int, *, is_shuffled: bool = False, week: int = 8, semesters: int = 2
) -> dict[str, pl.DataFrame]:
    """Closed semesters, and a running one after some weeks. Care and lateness foretell failing."""
    random = np.random.default_rng(seed)
    ids = {"school_id": 1, "student_id": np.arange(STUDENTS)}
    closed, outcomes, students = [], [], []
    for semester in range(semesters):
        numbers, failing = _students(random, is_shuffled)
        earlier_z_score = numbers.pop("earlier_z_score")
        students.append(pl.DataFrame({"semester_id": semester} | ids | {"earlier_z_score": earlier_z_score}))
        for number in range(1, WEEKS + 1):
            of_week = {"semester_id": semester, "week": number} | ids
            ends_on = date(2025, 9, 7) + timedelta(days=150 * semester + 7 * number)
            closed.append(pl.DataFrame(of_week | {"ends_on": ends_on, "level": "none"} | numbers))
            outcomes.append(pl.DataFrame(of_week | {"failed_courses": failing}))
    now, _ = _students(random, is_shuffled)
    of_now = {"semester_id": RUNNING} | ids
    dim_semester = {
        "school_id": 1,
        "semester_id": [semesters - 1, RUNNING],
        "first_day": [FIRST_DAY - timedelta(days=180), FIRST_DAY],
        "week_1_on": [FIRST_DAY - timedelta(days=180), FIRST_DAY],
        "week_count": 20,
        "loaded_on": FIRST_DAY + timedelta(days=7 * week + 3),
        "is_over": [True, False],
        "is_current": [False, True],
    }
    grades = {"semester_id": semesters - 1, "z_score_in_cohort": now.pop("earlier_z_score")}
    grades["failed_courses"] = now.pop("failed_last_semester").astype(int) * 2
    return {
        "early_warning_week": pl.concat(closed),
        "early_warning_outcome": pl.concat(outcomes),
        "early_warning_student": pl.concat(students),
        "dim_semester": pl.DataFrame(dim_semester),
        "early_warning": pl.DataFrame(of_now | now | {"has_left": np.arange(STUDENTS) == 5}),
        "grade_student_semester": pl.DataFrame(ids | grades),
    }


def _students(random: np.random.Generator, is_shuffled: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
    care, lateness = random.normal(size=(2, STUDENTS))
    numbers = {
        "attendance_rate": 90 + 3 * care,
        "lateness_rate": 10 + 2 * lateness,
        "missing_rate": random.uniform(0, 10, STUDENTS),
        "score_rate": 70 + 4 * care + 4 * random.normal(size=STUDENTS),
        "earlier_z_score": random.normal(size=STUDENTS),
        "failed_last_semester": random.random(STUDENTS) < 0.3,
    }
    failing = random.random(STUDENTS) < special.expit(-2 - 1.5 * care + 1.5 * lateness)
    return numbers, random.permutation(failing) if is_shuffled else failing


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> Rows:
    rows: Rows = connection.sql(query).pl().to_dicts()
    return rows


def test_the_chance_of_a_student_is_that_of_the_table_of_coefficients(school: Any) -> None:
    connection = school(**_world(1))
    fits = connection.sql(
        "select input, mean::double, spread::double, coefficient::double from core.early_warning_score_fit "
        "where week = 8 and outcome = 'failed_courses'"
    ).fetchall()
    students = _rows(
        connection,
        "select warnings.*, z_score_in_cohort as earlier_z_score, "
        "grades.failed_courses > 0 as failed_last_semester, "
        "scores.week, failed_chance, chronic_chance, is_shown from marts.early_warning_score as scores "
        "join marts.early_warning as warnings using (student_id) "
        "join marts.grade_student_semester as grades using (student_id)",
    )
    assert len(students) == STUDENTS
    for row in students:
        assert (row["week"], row["is_shown"], row["chronic_chance"]) == (8, True, None)
        values = {"intercept": 1.0} | {name: float(row[name]) for name, *_ in fits if name in row}
        score = sum(coefficient * (values[name] - mean) / spread for name, mean, spread, coefficient in fits)
        if row["has_left"]:
            assert row["failed_chance"] is None
        else:
            assert float(row["failed_chance"]) == pytest.approx(special.expit(score), abs=6e-5)


def test_a_missing_number_counts_as_the_mean_and_is_an_input(school: Any) -> None:
    world = _world(2)
    is_missing = pl.col("student_id") % 3 == 0
    for name in ("early_warning_week", "early_warning"):
        world[name] = world[name].with_columns(score_rate=pl.when(~is_missing).then("score_rate"))
    connection = school(**world)
    fits = {
        row["input"]: float(row["coefficient"])
        for row in _rows(connection, "from core.early_warning_score_fit where week = 8")
    }
    assert {"score_rate", "score_rate_is_missing"} <= fits.keys() and "lateness_rate_is_missing" not in fits
    nothing = ("attendance_rate", "lateness_rate", "missing_rate", "score_rate")
    world["early_warning"] = world["early_warning"].with_columns(
        pl.when(pl.col("student_id") > 1).then(name).alias(name) for name in nothing
    )
    world["grade_student_semester"] = world["grade_student_semester"].filter(pl.col("student_id") != 0)
    chances = {
        row["student_id"]: row["failed_chance"]
        for row in _rows(school(**world), "from marts.early_warning_score")
    }
    assert chances[0] is None, "nothing is known of this student"
    assert chances[1] is not None


def test_students_are_scored_by_the_fit_of_their_week(school: Any) -> None:
    """No chance before week 4, after the last week with a fit, and after the semester."""
    for week, fit_week, count in (
        (0, 0, 0),
        (3, 0, 0),
        (7, 4, STUDENTS - 1),
        (11, 8, STUDENTS - 1),
        (12, 12, 0),
    ):
        rows = _rows(school(**_world(3, week=week)), "from marts.early_warning_score")
        assert {(row["week"], row["fit_week"]) for row in rows} == {(week, fit_week)}
        assert len([row for row in rows if row["failed_chance"] is not None]) == count
        assert {row["is_shown"] for row in rows} == {count > 0}
    world = _world(3)
    world["dim_semester"] = world["dim_semester"].with_columns(is_over=True)
    rows = _rows(school(**world), "from marts.early_warning_score")
    assert {(row["week"], row["failed_chance"], row["is_shown"]) for row in rows} == {(None, None, False)}


def test_nothing_is_scored_without_a_closed_semester(school: Any) -> None:
    connection = school(
        **_world(4) | {"early_warning_week": pl.DataFrame({"school_id": []}, {"school_id": pl.Int64})}
    )
    for name in MODELS[:4]:
        assert (
            connection.sql(
                f"from {'marts' if name[-2:] == 'nt' or name[-2:] == 'on' else 'core'}.{name}"
            ).fetchall()
            == []
        )
    rows = _rows(connection, "from marts.early_warning_score")
    assert len(rows) == STUDENTS and {(row["failed_chance"], row["is_shown"]) for row in rows} == {
        (None, False)
    }


def test_shuffled_outcomes_give_no_chance(school: Any) -> None:
    connection = school(**_world(5, is_shuffled=True))
    assert connection.sql("select count(*) from core.early_warning_score_fit").fetchall() != [(0,)]
    assert connection.sql("select bool_or(is_shown) from marts.early_warning_score_judgement").fetchall() == [
        (False,)
    ]
    assert connection.sql("select count(failed_chance) from marts.early_warning_score").fetchall() == [(0,)]


def test_the_reliability_curve_is_that_of_numpy(school: Any) -> None:
    connection = school(**_world(6))
    unseen = connection.sql(
        "from core.early_warning_score_unseen where week = 8 order by chance, semester_id, student_id"
    ).pl()
    curve = _rows(connection, "from marts.early_warning_score_calibration where week = 8 order by tenth")
    for row, tenth in zip(curve, np.array_split(np.arange(unseen.height), 10), strict=True):
        of_tenth = unseen[tenth.tolist()]
        hits = int(of_tenth["has_happened"].sum())
        assert (row["students"], row["with_outcome"]) == (len(tenth), hits)
        assert float(row["mean_chance"]) == pytest.approx(100 * float(of_tenth["chance"].mean()), abs=0.0051)
        interval = stats.binomtest(hits, len(tenth)).proportion_ci(method="wilson")
        assert float(row["outcome_rate_low"]) == pytest.approx(100 * interval.low, abs=0.0051)
        assert float(row["outcome_rate_high"]) == pytest.approx(100 * interval.high, abs=0.0051)
    assert [row["outcome_rate"] for row in curve][-1] > 3 * curve[4]["outcome_rate"]


def test_the_level_is_judged_beside_the_score(school: Any) -> None:
    world = _world(7)
    attendance = pl.col("attendance_rate")
    world["early_warning_week"] = world["early_warning_week"].with_columns(
        level=pl.when(attendance < 86)
        .then(pl.lit("at_risk"))
        .when(attendance < 90)
        .then(pl.lit("warning"))
        .otherwise(pl.lit("none"))
    )
    connection = school(**world)
    [row] = _rows(connection, "from marts.early_warning_score_judgement where week = 8")
    cases = (
        world["early_warning_week"]
        .filter(pl.col("week") == 8)
        .join(world["early_warning_outcome"], on=("semester_id", "week", "student_id"))
    )
    areas, pairs = [], []
    for _, frame in cases.partition_by("semester_id", as_dict=True).items():
        levels = frame["level"].replace_strict({"at_risk": 3, "warning": 2, "none": 0}).to_numpy()
        failing = frame["failed_courses"].to_numpy()
        pairs.append(failing.sum() * (~failing).sum())
        areas.append(stats.mannwhitneyu(levels[failing], levels[~failing]).statistic / pairs[-1])
    assert float(row["level_auc"]) == pytest.approx(np.average(areas, weights=pairs), abs=5.1e-5)
    assert row["auc_low"] > row["level_auc"] and row["is_shown"]
    assert row["best_single"] in ("attendance_rate", "lateness_rate")


def test_no_group_is_an_input_of_the_score() -> None:
    groups = {
        "gender",
        "is_boarding",
        "cohort_id",
        "cohort_name",
        "admin_class_id",
        "group_code",
        "grade_level",
    }
    for name in MODELS:
        schema = "core" if name in MODELS[:2] else "marts"
        sources = {
            source.rpartition(".")[2]
            for kinds in model_lineage(TABLES.values())[f"{schema}.{name}"].values()
            for sources in kinds.values()
            for source in sources
        }
        assert sources and sources.isdisjoint(groups)


def test_a_night_of_a_running_semester_fits_nothing_anew() -> None:
    """The fit reads rows of closed semesters alone: a model is made anew when its inputs change."""
    models = {model.name: model for model in read_project(compiled()).models}
    for name in MODELS[:2]:
        assert set(models[f"core.{name}"].inputs) == {
            *("core.early_warning_week", "core.early_warning_outcome", "core.early_warning_student")
        }
