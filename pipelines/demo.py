"""The demo: a nightly load of the embedded simulator, shown to somebody who sees this for the first time."""

import time
from dataclasses import dataclass

import duckdb

from pipelines.commands import run_sync
from pipelines.display import console, errors, show
from pipelines.settings import Settings


@dataclass(frozen=True)
class Result:
    """A small result worth showing: what it says, and the query that anyone can run."""

    title: str
    query: str


LOADED = """
    SELECT
        resource,
        sum(loaded)::BIGINT AS rows,
        sum(requests)::BIGINT AS requests,
        string_agg(DISTINCT status, ', ') AS status
    FROM quality.load_log
    WHERE sync_id = (SELECT max_by(sync_id, started_at) FROM quality.load_log)
    GROUP BY resource
    ORDER BY min(finished_at)
"""
SEMESTERS = """
    SELECT
        school_name AS school,
        semester_name AS semester,
        count(*) AS students,
        round(100 * sum(score_sum) / sum(full_score_sum), 1) AS "score rate %",
        round(sum(grade_points_sum) / sum(gpa_credits), 2) AS gpa,
        count_if(failed_courses > 0) AS "with a failed course"
    FROM marts.grade_student_semester
    JOIN core.dim_school USING (school_id)
    GROUP BY ALL
    ORDER BY ALL
"""
ATTENDANCE = """
    SELECT
        school_name AS school,
        semester_name AS semester,
        count(*) AS students,
        round(100 * sum(present) / sum(recorded), 1) AS "attendance %",
        round(100 * sum(late) / sum(present), 1) AS "late %",
        count_if(is_chronic) AS "chronically absent"
    FROM marts.attendance_student_semester
    JOIN core.dim_school USING (school_id)
    GROUP BY ALL
    ORDER BY ALL
"""
WARNINGS = """
    SELECT
        admin_class_name AS class,
        student_name AS student,
        attendance_rate AS "attendance %",
        score_rate AS "score rate %",
        reasons_en AS why
    FROM marts.early_warning
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE is_current AND level = 'at_risk' AND NOT has_left
    ORDER BY reason_count DESC, attendance_rate, student_id
    LIMIT 5
"""
RESULTS = (
    Result("How the schools did, semester by semester", SEMESTERS),
    Result("Who was there", ATTENDANCE),
    Result("Who needs help now, and why (made-up names)", WARNINGS),
)


def run_demo(settings: Settings) -> int:
    """Sync from the simulator and show what came of it. The exit status."""
    if not settings.embedded:
        errors.print("campus: the demo runs on the embedded simulator; unset CAMPUS_BASE_URL for it")
        return 2
    console.print("Loading two made-up schools from the embedded simulator, as every night.\n")
    started = time.monotonic()
    status = run_sync(settings, (), None)
    if not settings.published.exists():
        return status
    with duckdb.connect(str(settings.published), read_only=True) as connection:
        _show(connection, Result("What was loaded", LOADED))
        for result in RESULTS:
            _show(connection, result)
    size = settings.published.stat().st_size / 1e6
    console.print(
        f"\nDone in {time.monotonic() - started:.0f} s. The warehouse: {settings.published} ({size:.0f} MB)"
    )
    console.print(
        "Next:\n"
        '  .venv/bin/campus sql "FROM marts.early_warning LIMIT 5"\n'
        '  .venv/bin/campus sql "SELECT * FROM quality.load_log" --format csv\n'
        "  .venv/bin/campus ui        the Dagster UI with this run in it\n"
        "  .venv/bin/campus doctor    once CAMPUS_BASE_URL names your platform, see README.md",
        markup=False,
    )
    return status


def _show(connection: duckdb.DuckDBPyConnection, result: Result) -> None:
    answer = connection.execute(result.query)
    columns = [column[0] for column in answer.description or ()]
    console.print()
    show(result.title, columns, answer.fetchall())
