"""The back-test of `campus thresholds` shows outcomes that a rule does not contain, and net benefits."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cli.main import main
from pipelines.thresholds.back_test import HEADINGS, back_test_rows, pending_rows
from pipelines.thresholds.decisions import decision_rows, net_benefit, net_benefit_interval
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled

SCHOOL, STUDENTS = 1, 200
BACK_TEST = {
    "school_id": SCHOOL,
    "semester_id": 20,
    "semester_name": "S20",
    "week": 8,
    "weeks_left": 12,
    "is_verdict_week": True,
    "is_contained": False,
    "students": 200,
    "with_outcome": 40,
    "judged": 200,
    "flagged": 30,
    "hits": 18,
    "best_single": "score_rate",
    "single_hits": Decimal("14.60"),
    "chance_verdict": "better",
}
AREA = BACK_TEST | {"rule": "attendance_reasons", "outcome": "failed_courses"}


TABLES = (
    *("core.dim_semester", "core.early_warning_week", "core.early_warning_outcome"),
    *(
        "core.early_warning_score_unseen",
        "marts.early_warning_score_judgement",
        "marts.grade_student_semester",
    ),
    *("marts.early_warning_backtest", "marts.early_warning_backtest_status"),
)


@pytest.fixture
def file() -> Iterator[duckdb.DuckDBPyConnection]:
    """A file with the tables of TABLES, without rows."""
    models = {model.name: model for model in read_project(compiled()).models}
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        for name in TABLES:
            columns = ", ".join(f'"{column.name}" {column.type}' for column in models[name].columns)
            connection.execute(f"CREATE TABLE {name} ({columns})")
        for number, first_day in ((18, "2024-02-01"), (19, "2024-09-01"), (20, "2025-02-01")):
            values = f"({SCHOOL}, {number}, DATE '{first_day}')"
            connection.execute(
                f"INSERT INTO core.dim_semester (school_id, semester_id, first_day) VALUES {values}"
            )
        yield connection


def _insert(con: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    con.register("rows", rows.to_arrow())
    con.execute(f"INSERT INTO {table} BY NAME FROM rows")


def test_only_outcomes_that_a_rule_does_not_contain_are_shown(file: duckdb.DuckDBPyConnection) -> None:
    shown_pairs = [
        ("attendance_reasons", "failed_courses"),
        ("grades_reasons", "chronic_absence"),
        ("level_warning", "has_left"),
        ("level_warning", "failed_next"),
    ]
    contained = [("level_warning", "failed_or_chronic"), ("attendance_reasons", "chronic_absence")]
    _insert(
        file,
        "marts.early_warning_backtest",
        pl.DataFrame(
            BACK_TEST | {"rule": rule, "outcome": outcome} for rule, outcome in [*contained, *shown_pairs]
        ),
    )
    rows = back_test_rows(file, file, SCHOOL)
    assert [row[:4] for row in rows] == [
        ["a warning of attendance", "two failed courses", "S20, week 8", "published, now"],
        ["a warning of grades", "chronic absence", "S20, week 8", "published, now"],
        ["level: warning or at risk", "left", "S20, week 8", "published, now"],
        ["level: warning or at risk", "failed a course next semester", "S20, week 8", "published, now"],
    ]
    assert {len(row) for row in rows} == {len(HEADINGS)}
    file.execute("UPDATE marts.early_warning_backtest SET best_single = NULL, single_hits = NULL")
    assert back_test_rows(file, file, SCHOOL)[0][8] == "not known"
    assert rows[0][4:] == [
        *("30 of 200", "40 of 200: 20% (15 to 26)", "18 of 30: 60% (42 to 75)", "18 of 40: 45% (31 to 60)"),
        *("15 of 30 (Score rate, %)", "better"),
    ]


def test_the_last_closed_semester_stands_alone(file: duckdb.DuckDBPyConnection) -> None:
    """By its first day. The outcome of the next semester is known of an earlier one alone."""
    later = {"week": 13, "weeks_left": 7, "is_verdict_week": False}
    earlier = {"semester_id": 19, "semester_name": "S19", "flagged": 99}
    next_semester = BACK_TEST | earlier | {"rule": "level_warning", "outcome": "failed_next"}
    weeks = [AREA | later, AREA, AREA | later | {"week": 9, "weeks_left": 11}]
    _insert(file, "marts.early_warning_backtest", pl.DataFrame([*weeks, AREA | earlier, next_semester]))
    rows = back_test_rows(file, file, SCHOOL)
    assert [(*row[1:3], row[4]) for row in rows] == [
        ("two failed courses", "S20, week 8", "30 of 200"),
        ("two failed courses", "S20, week 13", "30 of 200"),
        ("failed a course next semester", "S19, week 8", "99 of 200"),
    ]
    file.execute("UPDATE marts.early_warning_backtest SET is_contained = true")
    assert back_test_rows(file, file, SCHOOL) == []


def test_other_limits_stand_beside_the_published_ones(file: duckdb.DuckDBPyConnection) -> None:
    is_failing = np.arange(STUDENTS) % 5 == 0
    _cases(file, is_failing)
    with duckdb.connect() as tried:
        tried.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        for name in TABLES:
            tried.register("rows", file.sql(f"FROM {name}").to_arrow_table())
            tried.execute(f"CREATE TABLE {name} AS FROM rows")
        tried.execute("UPDATE marts.early_warning_backtest SET flagged = 40, hits = 8")
        back_test, decisions = back_test_rows(file, tried, SCHOOL), decision_rows(file, tried, SCHOOL, 4)
    assert [(row[3], row[4]) for row in back_test] == [("published", "50 of 200"), ("now", "40 of 200")]
    assert [row[1:5] for row in decisions[:2]] == [
        ["S20, week 8", "a warning of attendance, published", 50, 10],
        ["S20, week 8", "a warning of attendance, now", 40, 8],
    ]


def test_an_outcome_without_rows_says_when_it_is_possible(file: duckdb.DuckDBPyConnection) -> None:
    status = {"school_id": SCHOOL, "semester_id": 20, "semester_name": "Autumn", "status_en": "not over"}
    outcomes = ("has_left", "failed_or_chronic", "failed_courses")
    rows = [status | {"outcome": outcome, "weeks_missing": 4} for outcome in outcomes]
    _insert(file, "marts.early_warning_backtest_status", pl.DataFrame(rows))
    assert pending_rows(file, SCHOOL, [["", "two failed courses"]]) == [["left", "Autumn", "not over", 4]]


@given(talks=st.integers(0, 100), not_needed=st.integers(0, 100), one_in=st.integers(2, 20), data=st.data())
def test_the_net_benefit_is_that_of_the_decision_curve(
    talks: int, not_needed: int, one_in: int, data: st.DataObject
) -> None:
    """Vickers and Elkin (2006): true positives less false ones times p / (1 - p), by all."""
    if not talks + not_needed:
        return
    needed, p = data.draw(st.integers(0, talks)), 1 / one_in
    expected = (needed - (talks - needed) * p / (1 - p)) / (talks + not_needed)
    assert float(net_benefit(talks, needed, talks + not_needed, one_in)) == pytest.approx(
        100 * expected, abs=0.0501
    )


@pytest.mark.parametrize("one_in", [2, 4, 10])
@pytest.mark.parametrize(("flagged", "precision"), [(0.15, 0.2), (0.15, 0.6), (1.0, 0.2)])
def test_the_interval_of_the_net_benefit_holds_it(flagged: float, precision: float, one_in: int) -> None:
    """Of 95 in 100 schools of 300 students, by lot."""
    random = np.random.default_rng(3)
    talks = random.binomial(300, flagged, 2000)
    needed = random.binomial(talks, precision)
    truth = 100 * flagged * (precision - (1 - precision) / (one_in - 1))
    intervals = [
        net_benefit_interval(int(n), int(k), 300, one_in) for n, k in zip(talks, needed, strict=True)
    ]
    assert 0.93 <= np.mean([low <= truth <= high for low, high in intervals]) <= 0.97


def _cases(file: duckdb.DuckDBPyConnection, is_failing: np.ndarray, **columns: Any) -> None:
    """Students of the last semester, of whom the first fifty have a warning of attendance."""
    ids = {"school_id": SCHOOL, "semester_id": 20, "week": 8, "student_id": np.arange(len(is_failing))}
    counts = {"with_outcome": is_failing.sum(), "flagged": 50, "hits": is_failing[:50].sum()}
    _insert(file, "marts.early_warning_backtest", pl.DataFrame(AREA | counts))
    _insert(file, "core.early_warning_outcome", pl.DataFrame(ids | {"failed_courses": is_failing}))
    earlier = ids | {"semester_id": 19, "failed_courses": ~is_failing}
    _insert(file, "core.early_warning_outcome", pl.DataFrame(earlier))
    if columns:
        unseen = {"outcome": "failed_courses", "best_single": "score_rate"} | columns
        _insert(file, "core.early_warning_score_unseen", pl.DataFrame(ids | unseen))


@pytest.mark.parametrize("one_in", [2, 4, 10])
def test_each_way_to_choose_is_counted(file: duckdb.DuckDBPyConnection, one_in: int) -> None:
    random = np.random.default_rng(1)
    is_failing, chance, single = random.random(STUDENTS) < 0.3, *random.random((2, STUDENTS)).round(6)
    _cases(file, is_failing, chance=chance, single_chance=single)
    # Student 0 failed two courses, but long ago; 1 failed two; 2 gained too few credits; 3 just enough.
    grades = {
        "school_id": SCHOOL,
        "semester_id": [18, 19, 19, 19, 19],
        "student_id": [0, 0, 1, 2, 3],
        "failed_courses": [2, 1, 2, 0, 1],
        "credits": 14,
        "gained_credits": [14, 14, 14, 9, 10],
    }
    _insert(file, "marts.grade_student_semester", pl.DataFrame(grades))
    is_off_track = np.isin(np.arange(STUDENTS), [1, 2])
    choices = {
        "a warning of attendance": np.arange(STUDENTS) < 50,
        "score (not proven, not shown)": chance >= 1 / one_in,
        "best single number: Score rate, %": single >= 1 / one_in,
        "off track last semester (after Chicago)": is_off_track,
        "everybody": np.ones(STUDENTS, bool),
        "nobody": np.zeros(STUDENTS, bool),
    }
    rows = decision_rows(file, file, SCHOOL, one_in)
    assert {row[1] for row in rows} == {"S20, week 8"}
    assert [row[2:5] for row in rows] == [
        [name, mask.sum(), (mask & is_failing).sum()] for name, mask in choices.items()
    ]
    for row, mask in zip(rows, choices.values(), strict=True):
        hits, not_needed = (mask & is_failing).sum(), (mask & ~is_failing).sum()
        benefit = float(str(row[5]).partition(" ")[0])
        assert benefit == pytest.approx(100 * (hits - not_needed / (one_in - 1)) / STUDENTS, abs=0.0501)


def test_what_is_not_known_has_no_net_benefit(file: duckdb.DuckDBPyConnection) -> None:
    _cases(file, np.arange(STUDENTS) % 5 == 0)
    rows = {row[2]: row[3:] for row in decision_rows(file, file, SCHOOL, 4)}
    for name in (
        "score (not proven, not shown)",
        "best single number",
        "off track last semester (after Chicago)",
    ):
        assert rows[name] == ["not known", "-", "-"]
    assert rows["a warning of attendance"][:2] == [50, 10]


def test_an_outcome_of_few_has_no_net_benefit(file: duckdb.DuckDBPyConnection) -> None:
    _cases(file, np.arange(STUDENTS) < 9)
    [row] = decision_rows(file, file, SCHOOL, 4)
    assert row[2] == "too few: 9 of 200 students have it"


def test_a_proven_score_is_named_so(file: duckdb.DuckDBPyConnection) -> None:
    _cases(file, np.arange(STUDENTS) % 5 == 0, chance=0.5, single_chance=0.2)
    judgement = {"school_id": SCHOOL, "outcome": "failed_courses", "week": [4, 8], "is_shown": [False, True]}
    _insert(file, "marts.early_warning_score_judgement", pl.DataFrame(judgement))
    rows = decision_rows(file, file, SCHOOL, 4)
    assert ["two failed courses", "S20, week 8", "score", 200, 40, "-6.7 (-13.3 to 1.4)"] in rows


@pytest.mark.parametrize("option", ["--suggest", "--accept"])
def test_limits_are_neither_suggested_nor_accepted(option: str) -> None:
    """They made things worse than chance, and stay out."""
    done = CliRunner().invoke(main, ["thresholds", option])
    assert done.exit_code == 2 and "No such option" in done.stderr
