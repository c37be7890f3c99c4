"""Made-up schools of a finished semester: warnings of attendance mean something, nothing, or are unfair."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Literal

import duckdb
import numpy as np

from tests.kits.models.marts import insert, make

World = Literal["works", "means nothing", "biased"]
Table = Sequence[Mapping[str, Any]]
SCHOOL, SEMESTER, CURRENT = 1, 20, 21
WEEKS, FIRST_DAY, STUDENTS = 16, date(2024, 9, 2), 400
LAST_DAY = FIRST_DAY + timedelta(days=7 * WEEKS - 3)
#: The models of the back-test, in their order.
MODELS = (
    "early_warning_student",
    "early_warning_week",
    "early_warning_outcome",
    "early_warning_backtest",
    "early_warning_backtest_group",
    "early_warning_backtest_status",
)
MARTS = ("attendance_student_day", "grade_history", "grade_student_semester")
#: The marks of the days of attendance, each made on its day.
MARKS = """
    INSERT INTO core.fct_attendance BY NAME
    SELECT school_id, semester_id, student_id, date, week, unnest(range(recorded)) AS lesson,
        lesson < present AS is_present, lesson < late AS is_late, true AS counts_in_denominator,
        date AS marked_at, TIMESTAMP '2026-01-01' AS synced_at
    FROM marts.attendance_student_day
"""
#: The list of today is that of week 8: by the indicators of attendance alone.
TODAY = f"""
    DELETE FROM marts.early_warning; DELETE FROM marts.early_warning_indicator;
    INSERT INTO marts.early_warning BY NAME
    SELECT
        school_id, {CURRENT} AS semester_id, 'now' AS semester_name, false AS is_complete, student_id,
        'Student ' || student_id AS student_name, false AS has_left, true AS inputs_loaded, level,
        1 AS reason_count, 'attendance' AS reasons_en, '出勤' AS reasons_zh, attendance_rate
    FROM core.early_warning_week WHERE week = 8;
    INSERT INTO marts.early_warning_indicator BY NAME
    SELECT school_id, {CURRENT} AS semester_id, student_id, indicator, level, false AS has_left
    FROM (UNPIVOT (SELECT school_id, student_id, week, attendance_rate_level AS attendance_rate,
        attendance_drop_level AS attendance_drop FROM core.early_warning_week)
        ON attendance_rate, attendance_drop INTO NAME indicator VALUE level)
    WHERE week = 8;
"""


def rows_of(world: World, seed: int) -> dict[str, Table]:
    """The rows of a world. Boys and girls come in pairs: equally many are absent.

    works: who misses a fifth of the lessons fails far more often. means nothing: the same, with failures by
    lot. biased: as `works`, and two of five boys miss lessons for nothing."""
    random = np.random.default_rng(seed)
    weak = np.repeat(random.random(STUDENTS // 2) < 0.2, 2)
    fails = random.random(STUDENTS) < (0.19 if world == "means nothing" else np.where(weak, 0.7, 0.06))
    boys = np.arange(STUDENTS) % 2 == 0
    if world == "biased":
        weak = weak | (boys & (random.random(STUDENTS) < 0.4))
    present = random.binomial(6, np.where(weak, 0.8, 0.98)[:, None, None], (STUDENTS, WEEKS, 5))
    school, semester = {"school_id": SCHOOL}, {"school_id": SCHOOL, "semester_id": SEMESTER}
    return {
        "dim_school": [school | {"school_name": "S", "is_deleted": False}],
        "dim_semester": [
            semester_row(SEMESTER, FIRST_DAY, is_over=True),
            semester_row(CURRENT, date(2025, 2, 17), is_over=False) | {"is_current": True},
        ],
        "dim_student": [
            school
            | {
                "student_id": n,
                "cohort_id": 1,
                "cohort_name": "2027",
                "is_deleted": False,
                "gender": "mf"[n % 2],
            }
            for n in range(STUDENTS)
        ],
        "bridge_class_student": [
            semester | {"course_class_id": 1, "student_id": n, "joined_on": FIRST_DAY}
            for n in range(STUDENTS)
        ],
        "attendance_student_day": [
            semester
            | {"student_id": n, "date": FIRST_DAY + timedelta(days=7 * week + day), "week": week + 1}
            | {"recorded": 6, "present": int(count), "absent": 6 - int(count), "late": 0}
            for (n, week, day), count in np.ndenumerate(present)
        ],
        "fct_grade": [
            _grade(n, course, fails=bool(fails[n])) for n in range(STUDENTS) for course in range(3)
        ],
    }


def clear(con: duckdb.DuckDBPyConnection) -> None:
    """Delete what the back-test reads from a built file."""
    tables = con.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'core'").fetchall()
    for schema, names in (("core", [name for (name,) in tables]), ("marts", MARTS)):
        for name in names:
            con.execute(f"DELETE FROM {schema}.{name}")
    con.execute("DELETE FROM quality.changes; DELETE FROM raw.scores WHERE _deleted_at IS NOT NULL")


def fill(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """Insert rows of `core` and of MARTS into a cleared file, and make the models of the back-test."""
    for name, rows in tables.items():
        if rows:
            insert(con, name, rows, "marts" if name in MARTS else "core")
    con.execute(MARKS)
    make(con, MODELS)


def semester_row(semester_id: int, first_day: date, *, is_over: bool) -> dict[str, Any]:
    return {
        "school_id": SCHOOL,
        "semester_id": semester_id,
        "semester_name": f"S{semester_id}",
        "first_day": first_day,
        "last_day": first_day + timedelta(days=7 * WEEKS - 3),
        "week_1_on": first_day,
        "week_count": WEEKS,
        "is_over": is_over,
        "is_deleted": False,
        "never_loaded": [],
        "loaded_on": date(2026, 1, 1),
    }


def _grade(student: int, course: int, *, fails: bool) -> dict[str, Any]:
    published = datetime.combine(LAST_DAY, datetime.min.time())
    percent = 50.0 if fails else 75.0
    return {
        "school_id": SCHOOL,
        "semester_id": SEMESTER,
        "source": "class",
        "grade_id": 3 * student + course,
        "assessment_id": course,
        "student_id": student,
        "full_score": 100.0,
        "weight": 1.0,
        "status": "normal",
        "real_score": percent,
        "score_percent": percent,
        "is_passed": not fails,
        "counts_in_statistics": True,
        "published_at": published,
        "updated_at": published,
    }
