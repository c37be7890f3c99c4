"""The measures of a built file: their table, their macros, and the checks that compare marts with them."""

import shutil
from collections.abc import Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.figures import figures
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish
from warehouse.metrics import catalogue
from warehouse.publish.metrics import record_metrics
from warehouse.publish.models.compiled_models import Check, read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import run_check


@pytest.fixture(scope="module")
def file(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built file with its measures."""
    published = publish(healthy, tmp_path_factory.mktemp("measures"))
    with closing(duckdb.connect(str(published))) as con:
        # Again, as a build on a copy of the last file does.
        record_metrics(con)
    return published


@pytest.fixture(scope="module")
def checks() -> Mapping[str, Check]:
    return {check.name: check for check in read_project(compiled()).checks if "_same_" in check.name}


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return con.execute(query).fetchall()


def test_a_measure_has_its_words_and_places(file: Path) -> None:
    [row] = rows(
        file,
        "SELECT label_zh, schema_name || '.' || table_name, time_column, dimensions[:2], unit, shown_in[1]"
        " FROM quality.metrics WHERE metric = 'attendance_rate'",
    )
    place = "marts.attendance_group_week.attendance_rate"
    assert row == ("出勤率", "core.fct_attendance", "date", ["school", "semester"], "percent", place)


def test_each_measure_answers_by_each_dimension(file: Path) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        for name, metric in catalogue().metrics.items():
            for key in catalogue().dimensions_of(name):
                by = [key, *metric.needs]
                result = con.execute(f'FROM marts.metric_{name}("by" := {by})')
                columns = [column for column, *_ in result.description or ()]
                of_split = {column for part in by for column in catalogue().dimensions[part].columns}
                numbers = {"value", "students", "numerator", "denominator"}
                assert sorted(columns) == sorted({"metric", *of_split, *numbers})


def test_a_total_is_that_of_the_mart(file: Path) -> None:
    [(rate,)] = rows(
        file,
        "SELECT round(100 * sum(present) / sum(recorded), 2) FROM marts.attendance_student_semester"
        " WHERE school_id = 1",
    )
    [(value, students)] = rows(
        file, "SELECT value, students FROM marts.metric_attendance_rate(schools := [1])"
    )
    assert value == Decimal(str(rate)).quantize(Decimal("0.01")) and students >= 1


def test_days_limit_a_measure(file: Path) -> None:
    [(first, last)] = rows(file, "SELECT min(date), max(date) FROM core.fct_attendance")
    assert rows(file, f"FROM marts.metric_attendance_rate(since := '{first}', until := '{last}')") == rows(
        file, "FROM marts.metric_attendance_rate()"
    )
    assert rows(file, f"FROM marts.metric_attendance_rate(since := DATE '{last}' + 1)") == []
    assert rows(file, f"FROM marts.metric_attendance_rate(until := DATE '{first}' - 1)") == []


def test_an_unknown_dimension_is_an_error_with_the_known_ones(file: Path) -> None:
    with pytest.raises(duckdb.Error, match="pass_rate can be split by school, semester"):
        rows(file, "FROM marts.metric_pass_rate(\"by\" := ['weather'])")


def test_nothing_known_is_not_zero(empty: Build, tmp_path: Path) -> None:
    copy = Path(shutil.copy(empty.file, tmp_path / "campus.duckdb"))
    with closing(duckdb.connect(str(copy))) as con:
        record_metrics(con)
        for name, metric in catalogue().metrics.items():
            rows_of_none = con.execute(f'SELECT value FROM marts.metric_{name}("by" := {metric.needs})')
            assert (0,) not in rows_of_none.fetchall()


def test_the_board_shows_the_measure(file: Path) -> None:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        shown = next(figure for figure in figures(con, 1) if figure.name == "at_risk")
        [(value,)] = con.execute(
            "SELECT value FROM marts.metric_at_risk_students(\"by\" := ['semester'], schools := [1])"
        ).fetchall()
    assert shown.number == value


def test_a_measure_of_a_semester_is_not_added_up_over_semesters(file: Path) -> None:
    with pytest.raises(duckdb.Error, match="and always by semester"):
        rows(file, "FROM marts.metric_at_risk_students()")


def test_equal_ids_of_two_schools_are_two_students(file: Path) -> None:
    of_schools = rows(file, "SELECT students FROM marts.metric_attendance_rate(\"by\" := ['school'])")
    assert rows(file, "SELECT students FROM marts.metric_attendance_rate()") == [
        (sum(students for (students,) in of_schools),)
    ]


def test_students_are_those_behind_the_value(file: Path) -> None:
    query = "SELECT students FROM marts.metric_pass_rate(schools := [1])"
    decided = "SELECT count(DISTINCT student_id) FROM core.fct_grade WHERE school_id = 1 AND source = 'class'"
    counted = f"{decided} AND counts_in_statistics AND semester_id IS NOT NULL AND is_passed IS NOT NULL"
    assert rows(file, query) == rows(file, counted)


def test_every_place_shows_the_measure(file: Path, checks: Mapping[str, Check]) -> None:
    with closing(duckdb.connect(str(file))) as con:
        assert {name: run_check(con, check).status for name, check in checks.items()} == dict.fromkeys(
            checks, "pass"
        )


def test_another_number_in_a_mart_is_found(file: Path, tmp_path: Path, checks: Mapping[str, Check]) -> None:
    """Of each check, one row a hundredth away is enough."""
    with closing(duckdb.connect(str(shutil.copy(file, tmp_path / "campus.duckdb")))) as con:
        for place in catalogue().places:
            for column in place.columns:
                con.execute(
                    f"UPDATE {place.table} SET {column} = {column} + 0.01"
                    f" WHERE {column} IS NOT NULL AND {place.condition} AND rowid = ("
                    f"SELECT min(rowid) FROM {place.table} WHERE {column} IS NOT NULL AND {place.condition})"
                )
        results = {name: run_check(con, check) for name, check in checks.items()}
    assert {name for name, done in results.items() if done.status == "pass"} == set()
    assert all(done.failures for done in results.values())
