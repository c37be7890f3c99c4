"""Talks and measures: what was before and after them, computed a second time in plain Python."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from statistics import mean, stdev
from typing import Any

import duckdb
import polars as pl
import pytest
from scipy import stats

from tests.kits.models.builds import Build
from warehouse.publish.models.dbt_project import compiled

FIRST_DAY, WEEK_COUNT, SPAN = date(2024, 9, 2), 12, 4
LEVELS = ("at_risk", "warning", "none")
Row = dict[str, Any]


@dataclass(frozen=True)
class School:
    """The rows that the mart is made of, in plain Python."""

    weeks: list[Row]
    days: list[Row]
    interventions: list[Row]
    #: The changes of published levels, and the last day of the data.
    published: list[Row] = field(default_factory=list)
    as_of: date | None = None


@pytest.fixture(scope="module")
def connection(
    healthy: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    file = tmp_path_factory.mktemp("interventions") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    with duckdb.connect(str(file)) as opened:
        for table in (
            *("core.dim_semester", "core.dim_student", "core.early_warning_week", "core.fct_intervention"),
            *("core.early_warning_state", "marts.attendance_student_day", "marts.early_warning_history"),
        ):
            opened.execute(f"delete from {table}")
        yield opened


def outcome(
    connection: duckdb.DuckDBPyConnection, school: School, **semester: Any
) -> dict[tuple[int, date, str], Row]:
    """The rows of the mart of a school, by student, day and kind."""
    students = {row["student_id"] for row in (*school.weeks, *school.interventions, *school.published)}
    term = {
        "school_id": 1,
        "semester_id": 20,
        "first_day": FIRST_DAY,
        "last_day": FIRST_DAY + timedelta(days=7 * WEEK_COUNT - 3),
        "week_1_on": FIRST_DAY,
        "week_count": WEEK_COUNT,
        "is_over": True,
        "never_loaded": [],
        "loaded_on": date(2025, 3, 1),
    }
    tables = {
        "core.dim_semester": [term | semester],
        "core.dim_student": [
            {"school_id": 1, "student_id": student, "cohort_id": 1} for student in sorted(students)
        ],
        "core.early_warning_week": school.weeks,
        "core.fct_intervention": school.interventions,
        "marts.attendance_student_day": school.days,
        "marts.early_warning_history": school.published,
        "core.early_warning_state": [{"school_id": 1, "semester_id": 20, "as_of": school.as_of}]
        if school.as_of
        else [],
    }
    connection.execute("begin")
    for name, rows in tables.items():
        if rows:
            connection.register("rows", pl.DataFrame(rows, infer_schema_length=None).to_arrow())
            connection.execute(f"insert into {name} by name from rows")
    query = compiled()["nodes"]["model.campus.intervention_outcome"]["compiled_code"]
    made = connection.sql(query).to_arrow_table().to_pylist()
    connection.execute("rollback")
    return {(row["student_id"], row["date"], row["kind"]): row for row in made}


def week_row(student: int, week: int, level: str, score_rate: str | None = None, cohort: int = 1) -> Row:
    return {
        "school_id": 1,
        "semester_id": 20,
        "week": week,
        "student_id": student,
        "cohort_id": cohort,
        "level": level,
        "score_rate": None if score_rate is None else Decimal(score_rate),
    }


def day_row(student: int, day: int, present: int, recorded: int = 6) -> Row:
    date_ = FIRST_DAY + timedelta(days=day)
    return {
        "school_id": 1,
        "semester_id": 20,
        "student_id": student,
        "date": date_,
        "recorded": recorded,
        "present": present,
    }


def talk(student: int, day: int, kind: str = "talk") -> Row:
    return {
        "school_id": 1,
        "semester_id": 20,
        "student_id": student,
        "date": FIRST_DAY + timedelta(days=day),
        "week": day // 7 + 1,
        "kind": kind,
    }


def luck_school(seed: int) -> School:
    """A school of random levels, marks and talks."""
    luck = Random(seed)
    students = range(90)
    weeks = [
        week_row(
            student,
            week,
            luck.choice(LEVELS) if luck.random() < 0.97 else "unknown",
            None if luck.random() < 0.1 else f"{luck.uniform(30, 99):.2f}",
            cohort=student % 2,
        )
        for student in students
        for week in range(1, WEEK_COUNT + 1)
        if luck.random() < 0.97
    ]
    days = [
        day_row(student, day, luck.randint(0, 6), luck.choice([6, 6, 6, 0]) or 6)
        for student in students
        for day in range(7 * WEEK_COUNT - 2)
        if day % 7 < 5 and luck.random() < 0.8
    ]
    talks = {
        (student, day): talk(student, day)
        for student in luck.sample(students, 25)
        for day in luck.sample(range(7 * WEEK_COUNT - 2), 2)
    }
    return School(weeks, days, list(talks.values()))


def rounded(number: Decimal | float) -> Decimal:
    return Decimal(number).quantize(Decimal("0.01"), ROUND_HALF_UP)


def rate(days: list[Row]) -> Decimal | None:
    recorded = sum(day["recorded"] for day in days)
    return rounded(Decimal(100 * sum(day["present"] for day in days)) / recorded) if recorded else None


def brute_force(school: School, own: Row) -> Row:
    """A row of the mart, by loops."""
    by_week = {(row["student_id"], row["week"]): row for row in school.weeks}
    spoken_to = {row["student_id"] for row in school.interventions}
    day, week, student = own["date"], own["week"], own["student_id"]
    later_week = min(week + SPAN, WEEK_COUNT)

    def changes(of: int) -> tuple[Decimal | None, Decimal | None]:
        near = [
            row
            for row in school.days
            if row["student_id"] == of and abs((row["date"] - day).days) <= 7 * SPAN
        ]
        first, second = (
            rate([row for row in near if row["date"] < day]),
            rate([row for row in near if row["date"] > day]),
        )
        then, later = (
            by_week.get((of, week - 1), {}).get("score_rate"),
            by_week.get((of, later_week), {}).get("score_rate") if later_week > week else None,
        )
        return (
            None if first is None or second is None else second - first,
            None if then is None or later is None else later - then,
        )

    before = by_week.get((student, week - 1))
    is_judged = before is not None and before["level"] != "unknown"
    matched = [
        row["student_id"]
        for row in school.weeks
        if is_judged
        and before is not None
        and (row["week"], row["level"], row["cohort_id"]) == (week - 1, before["level"], before["cohort_id"])
        and row["student_id"] not in spoken_to
    ]
    result: Row = {
        "level_before": before and before["level"],
        "matched_students": len(matched) if is_judged else None,
    }
    for place, measure in enumerate(("attendance", "score")):
        change = changes(student)[place]
        others = [value for of in matched if (value := changes(of)[place]) is not None]
        result[f"{measure}_change"] = change
        result[f"matched_{measure}"] = len(others) if is_judged else None
        enough = len(others) >= 5
        result[f"matched_{measure}_change"] = mean(others) if enough else None
        if enough and change is not None:
            half = float(stats.t.ppf(0.975, len(others) - 1)) * float(stdev(others))
            half *= (1 + 1 / len(others)) ** 0.5
            difference = float(change) - float(mean(others))
            result[f"{measure}_difference"] = difference
            result[f"{measure}_difference_low"] = difference - half
            result[f"{measure}_difference_high"] = difference + half
        else:
            result |= dict.fromkeys(
                (f"{measure}_difference{end}" for end in ("", "_low", "_high")),
            )
    return result


@pytest.mark.parametrize("seed", range(3))
def test_mart_is_what_loops_say(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    school = luck_school(seed)
    made = outcome(connection, school)
    assert len(made) == len(school.interventions)
    compared = 0
    for own in school.interventions:
        row = made[own["student_id"], own["date"], own["kind"]]
        # The quantile of t is exact to 0.03% of the width of an interval.
        width = max(
            float(row[f"{measure}_difference_high"] or 0) - float(row[f"{measure}_difference_low"] or 0)
            for measure in ("attendance", "score")
        )
        for name, value in brute_force(school, own).items():
            if value is None or isinstance(value, str | int):
                assert row[name] == value, (name, own)
            else:
                assert float(row[name]) == pytest.approx(float(value), abs=0.0051 + 3e-4 * width), (name, own)
        compared += row["comparison"] == "compared"
    assert 10 < compared < len(made)


def test_day_itself_is_neither_before_nor_after(connection: duckdb.DuckDBPyConnection) -> None:
    """28 days before and after, and no more."""
    days = [day_row(1, day, present) for day, present in ((6, 1), (7, 2), (34, 4), (35, 0), (36, 5), (63, 6))]
    days.append(day_row(1, 64, 1))
    [row] = outcome(connection, School([], days, [talk(1, 35)])).values()
    assert (row["recorded_before"], row["present_before"]) == (12, 6)
    assert (row["recorded_after"], row["present_after"]) == (12, 11)
    assert row["attendance_change"] == Decimal("41.67")
    assert (row["comparison"], row["matched_students"], row["level_before"]) == (
        "level not known",
        None,
        None,
    )


def test_too_few_matched_students_are_not_compared_with(connection: duckdb.DuckDBPyConnection) -> None:
    """Who has a row of the semester is nobody's match, nor is another cohort or level."""
    people = dict.fromkeys(range(1, 9), ("warning", 1)) | {9: ("at_risk", 1), 10: ("warning", 2)}
    weeks = [week_row(student, 4, level, cohort=cohort) for student, (level, cohort) in people.items()]
    days = [day_row(student, day, student % 6) for student in people for day in (30, 40)]
    talks = [talk(1, 28), talk(2, 0), talk(3, 80), talk(4, 28, "call_home")]
    row = outcome(connection, School(weeks, days, talks))[1, FIRST_DAY + timedelta(days=28), "talk"]
    assert (row["matched_students"], row["matched_attendance"], row["comparison"]) == (4, 0, "too few")
    assert row["matched_attendance_change"] is None and row["attendance_difference"] is None


def test_numbers_of_attendance_are_null_where_it_was_never_loaded(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    [row] = outcome(
        connection, School([], [], [talk(1, 35)]), never_loaded=["attendance_records"], loaded_on=None
    ).values()
    assert row["recorded_before"] is None and row["present_after"] is None and row["is_complete"] is None


@pytest.mark.parametrize(("loaded_on", "is_complete"), [(64, True), (63, False)])
def test_weeks_after_that_are_not_over_say_so(
    connection: duckdb.DuckDBPyConnection, loaded_on: int, is_complete: bool
) -> None:
    loaded = FIRST_DAY + timedelta(days=loaded_on)
    school = School([], [], [talk(1, 35)])
    [row] = outcome(connection, school, is_over=False, loaded_on=loaded).values()
    assert row["is_complete"] is is_complete


def published(student: int, day: int, level: str | None) -> Row:
    since = FIRST_DAY + timedelta(days=day)
    return {"school_id": 1, "semester_id": 20, "student_id": student, "since": since, "level": level}


@pytest.mark.parametrize(("as_of", "after"), [(20, None), (40, None), (41, "at_risk"), (50, "at_risk")])
def test_levels_of_a_running_semester_are_those_published(
    connection: duckdb.DuckDBPyConnection, as_of: int, after: str | None
) -> None:
    """A talk in week 2: week 1 ends on day 6, and week 6, four weeks later, on day 41. Who has left has no
    level."""
    changes = [published(1, 1, "warning"), published(1, 7, "watch"), published(1, 40, "at_risk")]
    changes += [published(student, 2, "warning") for student in range(2, 8)] + [published(8, 3, "none")]
    changes += [published(9, 1, "warning"), published(9, 4, None)]
    school = School([], [], [talk(1, 7), talk(9, 60)], changes, FIRST_DAY + timedelta(days=as_of))
    row = outcome(connection, school, is_over=False)[1, FIRST_DAY + timedelta(days=7), "talk"]
    assert (row["level_before"], row["level_after"]) == ("warning", after)
    assert row["matched_students"] == 6
    assert row["score_rate_before"] is None and row["score_change"] is None


def test_day_has_its_semester_and_week(healthy: Build) -> None:
    rows = healthy.rows("select student_id, semester_id, week, done_by from core.fct_intervention order by 1")
    assert rows == [(1, 20, 2, "陈老师"), (2, None, None, None)]
