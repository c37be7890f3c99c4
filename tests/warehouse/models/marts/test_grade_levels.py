"""Grades of cohorts over three academic years, and the same grade a year before, computed a second time."""

from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pytest

from exports.board.school import chart_rows
from exports.ready import ready_workbooks
from exports.source import School
from exports.spreadsheet.sheets import Workbook
from tests.kits.models import school_years
from tests.kits.models.builds import Build, Builder
from tests.kits.models.publishing import publish
from tests.kits.models.school_years import FIRST_DAYS, FOUR_YEARS, JUNIOR, SENIOR, SILENT, WEEKS
from warehouse.published.reading import records

#: The grade from which a cohort graduates, where the platform tells.
LAST_GRADES = {SENIOR: 12, JUNIOR: 9}


@pytest.fixture(scope="module")
def years(build: Builder) -> Build:
    return build("years", school_years.tables())


@pytest.fixture(scope="module")
def published(years: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(years, tmp_path_factory.mktemp("years"))


def level(school: int, graduates_in: int, year: int) -> int | None:
    """The grade by counting down from the last year before graduation."""
    if school not in LAST_GRADES:
        return None
    grade = LAST_GRADES[school]
    for _ in range(year, graduates_in - 1):
        grade -= 1
    return grade


def expected_levels() -> set[tuple[int, int, int, int | None]]:
    return {
        (school, year, graduates_in - 2000, level(school, graduates_in, year))
        for school in school_years.NAMES
        for year in FIRST_DAYS
        for graduates_in in school_years.cohorts(school, year)
    }


def test_the_build_has_no_problem(years: Build) -> None:
    assert years.problems == {}


@pytest.mark.parametrize("mart", ["attendance_student_semester", "grade_student_semester", "early_warning"])
def test_cohorts_move_up_in_the_marts_of_students(years: Build, mart: str) -> None:
    rows = years.rows(f"select distinct school_id, semester_id, cohort_id, grade_level from marts.{mart}")
    assert set(rows) == expected_levels()


def test_cohorts_move_up_in_the_weeks(years: Build) -> None:
    rows = years.rows(
        "select distinct school_id, semester_id, group_id, grade_level from marts.attendance_group_week"
        " where group_type = 'cohort'"
    )
    assert set(rows) == expected_levels()
    others = "from marts.attendance_group_week where group_type <> 'cohort' and grade_level is not null"
    assert years.rows(f"select count(*) {others}") == [(0,)]


def test_each_source_says_that_it_is_the_source(years: Build) -> None:
    rows = years.rows(
        "select school_id, cohort_id, any_value(grade_level_known_by), count(distinct grade_level_known_by)"
        " from core.cohort_grade_level where semester_id = 2023 group by all"
    )
    sources = {(school, cohort): source for school, cohort, source, n in rows if n == 1}
    assert {source for (school, _), source in sources.items() if school == SENIOR} == {"grade_maps"}
    # The structures of 2025 name the cohorts of 2026 to 2028; 2024 and 2025 have graduated.
    assert sources[JUNIOR, 26] == "structure" and sources[JUNIOR, 25] == "school"
    assert not {school for school, _ in sources} & {SILENT, FOUR_YEARS}


def rate_of_the_grade_before(graduates_in: int, week: int) -> float:
    """The rate of the cohort that graduates a year earlier, in the same week of the year before."""
    year = max(FIRST_DAYS) - 1
    marks = [
        school_years.is_present(student, year, week) for student in school_years.students(graduates_in - 1)
    ]
    return round(100 * sum(marks) / len(marks), 2)


@pytest.mark.parametrize("school", sorted(school_years.NAMES))
def test_the_board_has_the_grade_of_last_year_where_it_is_known(published: Path, school: int) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        weeks = chart_rows(con, School(school, "S"))["weeks"]
    drawn = {(row["kind"], row["key"], row["week"]): row["last_year"] for row in weeks}
    cohorts = school_years.cohorts(school, max(FIRST_DAYS))
    assert {key for kind, key, _ in drawn if kind == "cohort"} == {str(cohort - 2000) for cohort in cohorts}
    for (kind, key, week), rate in drawn.items():
        if kind == "cohort" and school in LAST_GRADES:
            assert rate == rate_of_the_grade_before(2000 + int(key), week)
        else:
            assert rate is None
    assert len({rate for rate in drawn.values() if rate is not None}) != 1, "all rates are the same"


def cells(con: duckdb.DuckDBPyConnection, book: Workbook, sheet: str, school: int) -> list[dict[str, Any]]:
    """The rows of a sheet's query by column, before any is formatted."""
    [query] = [made.query for made in book.sheets if made.name.en == sheet]
    return records(con, query, {"school_id": school})


@pytest.mark.parametrize("school", sorted(school_years.NAMES))
def test_attendance_of_last_year_is_in_the_workbook(published: Path, school: int) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        [book] = ready_workbooks(con, "attendance", school, "en")
        rates = {
            (2000 + int(name.split()[1]), row["week"]): float(value)
            for row in cells(con, book, "Weeks", school)
            for name, value in row.items()
            if name.startswith("last_year_rate ")
        }
    cohorts = school_years.cohorts(school, max(FIRST_DAYS)) if school in LAST_GRADES else ()
    assert rates == {
        (cohort, week): rate_of_the_grade_before(cohort, week) for cohort in cohorts for week in WEEKS
    }


@pytest.mark.parametrize("school", sorted(school_years.NAMES))
def test_grades_of_last_year_are_in_the_workbook(published: Path, school: int) -> None:
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        [book] = ready_workbooks(con, "grades", school, "en")
        rows = cells(con, book, "Distribution", school)
    if school not in LAST_GRADES:
        assert not [name for name in rows[0] if name.startswith("last_year")]
        return
    of_cohorts = {
        row["group_name"]: (float(row["last_year_mean"]), float(row["last_year_pass_rate"]))
        for row in rows
        if row["group_type"] == "cohort"
    }
    year = max(FIRST_DAYS)
    for cohort in school_years.cohorts(school, year):
        scores = [school_years.score(student, year - 1) for student in school_years.students(cohort - 1)]
        passed = [score for score in scores if score >= 60]
        assert of_cohorts.pop(f"{cohort}届") == (fmean(scores), 100 * len(passed) / len(scores))
    assert not of_cohorts
    assert {row["last_year_mean"] for row in rows if row["group_type"] != "cohort"} == {None}
