"""Shared SQL of the ready-made workbooks. Every query takes $school_id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from exports.spreadsheet.sheets import Language


def rows(con: duckdb.DuckDBPyConnection, school_id: int, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query on the published file."""
    return con.execute(query, {"school_id": school_id}).fetchall()


def rate(part: str, whole: str) -> str:
    """SQL for 100 * part / whole with two decimals, like the rates of marts. Null where the whole is zero."""
    return ratio(f"100 * {part}", whole, 2)


def ratio(part: str, whole: str, places: int) -> str:
    """SQL for part / whole, rounded half up, away from zero. Null where the whole is not above zero. Divides
    whole numbers of 1e-12, like the marts, since a double cannot represent most halves."""
    units, of = (f"(CAST({number} AS DECIMAL(38, 12)) * {10**12})::HUGEINT" for number in (part, whole))
    return (
        f"try_cast(((2{'0' * places} * {units} + sign({units}) * {of}) // "
        f"(2 * nullif(greatest({of}, 0), 0)))::DECIMAL(38, 0)"
        f" * 0.{'0' * (places - 1)}1 AS DECIMAL(18, {places}))"
    )


#: Quotients of marts with the decimals that sheets and pages show: the mart's own four are rounded already.
MEAN = f"{ratio('percent_sum', 'scored', 2)} AS mean"
#: Of marts.grade_class_against_cohort.
CLASS_MEAN = f"{ratio('class_percent_sum', 'class_scored', 2)} AS class_mean"
OTHERS_SUM = "(cohort_percent_sum - coalesce(class_percent_sum, 0))"
OTHERS_MEAN = f"{ratio(OTHERS_SUM, 'others_scored', 2)} AS others_mean"
DIFFERENCE = (
    ratio(
        f"(class_percent_sum * others_scored - {OTHERS_SUM} * class_scored)",
        "(class_scored * others_scored)",
        2,
    )
    + " AS difference"
)
#: Of marts.score_item_analysis.
ITEM_MEAN = f"{ratio('score_sum', 'students', 2)} AS mean"
DIFFICULTY = (
    f"if(difficulty IS NOT NULL, {ratio('score_sum', '(students * full_score)', 2)}, NULL) AS difficulty"
)
#: Of marts.grade_student_semester.
GPA = f"{ratio('grade_points_sum', 'gpa_credits', 2)} AS gpa"
SCORE_RATE = f"{rate('score_sum', 'full_score_sum')} AS score_rate"


def number_text(number: str) -> str:
    """SQL for a number as text, without trailing zeros."""
    return f"format('{{:g}}', ({number})::DOUBLE)"


def of_schools(school_ids: Iterable[int], column: str = "school_id") -> str:
    """SQL for the condition that a row is of one of these schools."""
    return f"{column} IN ({', '.join(map(str, school_ids))})"


def shown_of(schools: str) -> str:
    """SQL for the semester that long sheets show of each school: the current or else the last semester with
    data. A platform may have several current semesters, for example of two kinds of school.

    `schools`: a condition on `school_id`."""
    return f"""shown AS (
    SELECT school_id, semester_id, semester_name
    FROM core.dim_semester
    SEMI JOIN marts.early_warning USING (school_id, semester_id)
    WHERE {schools}
    QUALIFY rank() OVER (
        PARTITION BY school_id
        ORDER BY is_current DESC, CASE WHEN NOT is_current THEN first_day END DESC NULLS LAST
    ) = 1
)"""


#: `shown_of` a single school.
SHOWN = shown_of("school_id = $school_id")

#: The attendance of the same grade a year before, by cohort and teaching week of the shown semester. No row:
#: the grade is not known, or nothing was recorded.
LAST_YEAR = """last_year AS (
    SELECT
        now.school_id, now.semester_id, now.group_type, now.group_id, now.grade_level, now.week,
        sum(earlier.present) AS present, sum(earlier.recorded) AS recorded
    FROM marts.attendance_group_week AS now
    JOIN shown USING (school_id, semester_id)
    JOIN core.dim_semester USING (school_id, semester_id)
    JOIN marts.attendance_group_week AS earlier
        ON earlier.school_id = now.school_id
        AND earlier.semester_id = dim_semester.last_year_semester_id
        AND earlier.group_type = now.group_type
        AND earlier.grade_level = now.grade_level
        AND earlier.week = now.week
    WHERE now.group_type = 'cohort' AND earlier.recorded > 0
    GROUP BY ALL
)"""

#: The order of semesters: the current semester first, then the latest.
NEWEST_FIRST = "dim_semester.is_current DESC, dim_semester.first_day DESC NULLS LAST"

#: Excludes students whom the platform has deleted.
NOT_DELETED = "ANTI JOIN (FROM core.dim_student WHERE is_deleted) USING (school_id, student_id)"

#: Joins the cohort of a student's administrative class, which is that of the class, not of the student.
CLASS_COHORT = """LEFT JOIN (
    SELECT school_id, admin_class_id, cohort_id AS class_cohort_id, cohort_name AS class_cohort
    FROM core.dim_admin_class
) AS classes USING (school_id, admin_class_id)"""
#: Joins the chances of a student by the score, null where it has not proven itself.
SCORE = """LEFT JOIN (
    SELECT school_id, semester_id, student_id, failed_chance, chronic_chance FROM marts.early_warning_score
) AS score USING (school_id, semester_id, student_id)"""
#: By language, SQL for the reasons of a student; each of a semester that is over says so.
REASON_TEXTS = {
    "en": "if(is_complete, replace(reasons_en, '; ', ', from last semester; ') || ', from last semester', "
    "reasons_en)",
    "zh": "if(is_complete, replace(reasons_zh, '；', '，来自上学期；') || '，来自上学期', reasons_zh)",
}
#: The day of the last talk or measure of a student in the semester; null: the school has written none down.
LAST_INTERVENTION = """LEFT JOIN (
    SELECT school_id, semester_id, student_id, max(date) AS last_intervention_on
    FROM core.fct_intervention GROUP BY ALL
) USING (school_id, semester_id, student_id)"""
#: The day since when a student has had a level, of marts.early_warning_history and core.dim_semester. Null:
#: the first publication was after the end of the semester, which does not tell since when.
SINCE = "CASE WHEN change <> 'first' OR coalesce(since <= last_day, true) THEN since END"
#: Joins the last change of each student's level, as `change`, `week`, `since` and others. A student whose
#: level is not known now has none.
LAST_CHANGE = f"""LEFT JOIN (
    SELECT
        school_id, semester_id, student_id, level, week, {SINCE} AS since, change, thresholds_changed,
        CASE WHEN is_new_this_week THEN change END AS new_this_week
    FROM marts.early_warning_history
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE is_latest
) AS last_change USING (school_id, semester_id, student_id, level)"""
#: Sorts students who are new or back this week first.
NEW_FIRST = "new_this_week IS NULL"


def since_text(language: Language) -> str:
    """SQL for the time since when a student has had the level, of the columns of LAST_CHANGE."""
    week, earlier, limits = {
        "en": ("'week ' || week", " or earlier", " (limits changed)"),
        "zh": ("'第' || week || '周'", "（或更早）", "（界限调整）"),
    }[language]
    return (
        f"coalesce({week}, strftime(since, '%Y-%m-%d')) || if(change = 'first', '{earlier}', '')"
        f" || if(thresholds_changed, '{limits}', '')"
    )


#: The label of a band in both languages, by its limits.
BAND = f"""CASE
    WHEN lower_percent IS NULL THEN '< ' || {number_text("upper_percent")}
    WHEN upper_percent IS NULL THEN '≥ ' || {number_text("lower_percent")}
    ELSE {number_text("lower_percent")} || '–' || {number_text("upper_percent")}
END"""
