"""The work of `campus demo`: loads two nights from the embedded simulator and shows results.

Between the nights a teacher corrects published grades, since a first load has no changes to show."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
from pydantic import SecretStr

from pipelines.cli.actions.load import run_build, run_load
from pipelines.cli.command_session import session
from pipelines.cli.terminal.display import USAGE, console, fail, print_line, show
from pipelines.cli.terminal.progress import progress
from pipelines.settings.settings import SIMULATOR, Settings, claim_home
from pipelines.settings.simulated_platform import correct_grades, made_up_platform, note_correction
from simulator.process import RunningSimulator
from warehouse.published.reading import opened
from warehouse.published.shards import size_of


@dataclass(frozen=True)
class Result:
    """A result of the demo: its title and its query."""

    title: str
    query: str


LOADED = """
    SELECT
        resource,
        sum(loaded)::BIGINT AS rows,
        sum(requests)::BIGINT AS requests,
        string_agg(DISTINCT status, ', ') AS status
    FROM (
        FROM quality.load_log
        QUALIFY row_number() OVER (PARTITION BY resource, slice ORDER BY finished_at DESC) = 1
    )
    GROUP BY resource
    ORDER BY rows DESC, resource
"""
SEMESTERS = """
    SELECT
        school_name AS school,
        semester_name AS semester,
        count(*) AS students,
        round(100 * sum(score_sum) / nullif(sum(full_score_sum), 0), 2) AS "score rate %",
        round(sum(grade_points_sum) / nullif(sum(gpa_credits), 0), 2) AS gpa,
        count_if(failed_courses > 0) AS "with a failed course"
    FROM marts.grade_student_semester
    GROUP BY ALL
    ORDER BY ALL
"""
ATTENDANCE = """
    SELECT
        school_name AS school,
        semester_name AS semester,
        count(*) AS students,
        round(100 * sum(present) / nullif(sum(recorded), 0), 2) AS "attendance %",
        round(100 * sum(late) / nullif(sum(present), 0), 2) AS "late %",
        count_if(is_chronic) AS "chronically absent"
    FROM marts.attendance_student_semester
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
    WHERE is_current AND level = 'at_risk' AND NOT has_left
    ORDER BY reason_count DESC, attendance_rate, student_id
    LIMIT 5
"""
CORRECTIONS = """
    SELECT
        course_name AS course,
        student_name AS student,
        before,
        after,
        published_at_before AS published,
        date_trunc('minute', seen_at) AS seen
    FROM marts.grade_change
    WHERE is_after_publication AND record_type = 'grade' AND field = 'real_score'
    ORDER BY seen_at DESC, course_name, student_id
    LIMIT 5
"""
RESULTS = (
    Result("What was loaded", LOADED),
    Result("How the schools did, semester by semester", SEMESTERS),
    Result("Who was there", ATTENDANCE),
    Result("Who needs help now, and why (made-up names)", WARNINGS),
    Result("Which grades were changed after they were published", CORRECTIONS),
)


def run_demo(settings: Settings) -> int:
    """Load two nights from the simulator and show the results. Returns the exit status."""
    if settings.base_url and not settings.embedded:
        return fail("the demo runs on the embedded simulator: unset CAMPUS_BASE_URL for it", USAGE)
    # Made-up schools never go into the lake of a district.
    settings = settings.model_copy(update={"lake": None})
    claim_home(settings.model_copy(update={"base_url": SIMULATOR}))
    print_line("Loading two made-up schools from the embedded simulator, as every night does.\n")
    started = time.monotonic()
    with made_up_platform(settings.home) as platform:
        address = {
            "base_url": platform.base_url,
            "client_id": platform.client_id,
            "client_secret": SecretStr(platform.client_secret),
        }
        with session(settings, "campus demo") as tags:
            status = two_nights(settings.model_copy(update=address), platform, tags)
        note_correction(settings.home)
    if not settings.published.exists():
        return status
    with opened(settings.published) as connection:
        for result in RESULTS:
            _show(connection, result)
    size = size_of(settings.published) / 1e6
    print_line(
        f"\nDone in {time.monotonic() - started:.0f} s. The warehouse: {settings.published} ({size:.0f} MB)"
    )
    print_line(
        "Next:\n"
        '  .venv/bin/campus sql "FROM marts.early_warning LIMIT 5"\n'
        '  .venv/bin/campus sql "SELECT * FROM quality.load_log" --format csv\n'
        "  .venv/bin/campus export --all    the board and workbooks, one file a school\n"
        "  .venv/bin/campus ui              the Dagster UI with these runs in it\n"
        "  .venv/bin/campus doctor          once CAMPUS_BASE_URL names your platform\n"
        "The schools are made-up, and so is everybody in them."
    )
    return status


def two_nights(settings: Settings, platform: RunningSimulator, tags: Mapping[str, str] | None = None) -> int:
    """Load, correct grades on the platform, load the grades again, and publish. Returns the exit status."""
    with progress() as listener:
        first = run_load(settings, tags=tags, listener=listener).status
        corrected = correct_grades(platform)
        print_line(
            f"\nThe second night: {corrected} published grades were corrected; loading the grades again.\n"
        )
        second = run_load(settings, selection='key:"raw/grades"', tags=tags, listener=listener).status
        return max(first, second, run_build(settings, tags, listener=listener))


def _show(connection: duckdb.DuckDBPyConnection, result: Result) -> None:
    answer = connection.execute(result.query)
    columns = [column[0] for column in answer.description or ()]
    console.print()
    show(result.title, columns, answer.fetchall())
