"""`campus thresholds --suggest`: what a person reads, and what is written."""

from pathlib import Path

import duckdb
import pytest

from pipelines.cli.actions.suggest_thresholds import run_suggest
from pipelines.settings.settings import Settings, settings_apart
from warehouse.publish.build import models_version
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import PROJECT, compiled
from warehouse.publish.models.thresholds import read_own

INDICATORS = (
    *("attendance_rate", "attendance_drop", "lateness_rate", "score_rate", "score_drop", "failed_courses"),
    "missing_rate",
)


def home(folder: Path, semesters: int) -> Settings:
    """A published file of school 101: a fifth of the students of each semester have the outcome, and are late
    in 8% of the lessons. The rules in force flag nobody."""
    settings = settings_apart(folder)
    folder.mkdir(exist_ok=True)
    seed = PROJECT / "seeds" / "early_warning_rules.csv"
    others = ", ".join(
        f"NULL::DECIMAL(9, 2) AS {name}, NULL::VARCHAR AS {name}_level"
        for name in INDICATORS
        if name != "lateness_rate"
    )
    with duckdb.connect(str(settings.published)) as con:
        for schema in ("core", "staging", "seeds", "quality"):
            con.execute(f"CREATE SCHEMA {schema}")
        con.execute(
            "CREATE TABLE quality.publication AS SELECT ? AS models_version", [models_version(folder)]
        )
        con.execute(
            "CREATE TABLE core.dim_school AS SELECT 101 AS school_id, 'First' AS school_name, "
            "false AS is_deleted"
        )
        con.execute(
            "CREATE TABLE seeds.early_warning_rules AS SELECT * REPLACE (school_id::BIGINT AS school_id, "
            "warning::DECIMAL(18, 6) AS warning, at_risk::DECIMAL(18, 6) AS at_risk, "
            "step::DECIMAL(18, 6) AS step, indicator = 'lateness_rate' OR suffices AS suffices) "
            "FROM read_csv(?)",
            [str(seed)],
        )
        con.execute(
            "CREATE TABLE staging.stg_early_warning_rules AS "
            "SELECT * REPLACE (101 AS school_id, NULL::DECIMAL AS cohort_percent) "
            "FROM seeds.early_warning_rules"
        )
        con.execute(
            "CREATE TABLE core.dim_semester AS "
            "SELECT 101 AS school_id, unnest(range(20, 20 + ?)) AS semester_id, 18 AS week_count",
            [semesters],
        )
        con.execute(
            "CREATE TABLE core.early_warning_week AS "
            "SELECT school_id, semester_id, 8 AS week, student_id, 1 AS cohort_id, "
            "if(student_id % 5 = 0, 8, 1)::DECIMAL(9, 2) AS lateness_rate, 'none' AS lateness_rate_level, "
            f"false AS missing_lowers_grades, {others} "
            "FROM core.dim_semester, range(100) AS students (student_id)"
        )
        con.execute(
            "CREATE TABLE core.early_warning_outcome AS SELECT school_id, semester_id, week, student_id, "
            "student_id % 5 = 0 AS failed_or_chronic FROM core.early_warning_week"
        )
    return settings


def test_a_proposal_is_written_if_it_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = home(tmp_path / "home", semesters=2)
    own = settings.home / "thresholds" / "early_warning_rules.csv"
    assert run_suggest(settings, (), 25, accept=False) == 0
    shown = capsys.readouterr().out
    assert "each semester is judged by limits fitted on the other semesters" in shown
    assert "40 of 40" in shown and "100% (91 to 100)" in shown
    assert "Lateness rate, %" in shown and "Nothing was written" in shown
    assert not own.exists()
    assert run_suggest(settings, (101,), 25, accept=True) == 0
    assert f"Written to {own}" in capsys.readouterr().out
    [file] = read_own(settings.home, read_project(compiled()))
    [(_, row)] = file.rows
    assert (row["school_id"], row["indicator"], row["warning"], row["cohort_percent"]) == (
        "101",
        "lateness_rate",
        "7.5",
        "10",
    )


def test_with_a_single_semester_nothing_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home(tmp_path / "home", semesters=1)
    assert run_suggest(settings, (), 25, accept=True) == 0
    shown = capsys.readouterr().out
    assert "the only closed one, so these figures are too good" in shown
    assert "A second closed semester is needed" in shown
    assert "Nothing is proposed." in shown
    assert not (settings.home / "thresholds").exists()


def test_within_a_small_budget_the_rules_in_force_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home(tmp_path / "home", semesters=2)
    assert run_suggest(settings, (), 10, accept=True) == 0
    assert "No limits that flag at most 10% are proven to beat those in force." in capsys.readouterr().out


def test_a_school_that_is_not_there_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = home(tmp_path / "home", semesters=1)
    assert run_suggest(settings, (999,), 10, accept=False) == 1
    assert "has no school 999" in capsys.readouterr().err
