"""The rows of the board's charts, for the school, each cohort and each administrative class.

Rates come from sums of the marts. No mart has lessons of the week or bands of a subject by class: these
queries count the same facts by the same rules. The rows of the whole school come from the mart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from exports.figures import DUE, last_days
from exports.source import School, distinct_names, records
from exports.spreadsheet.sheets import Words
from exports.workbooks.queries import (
    BAND,
    CLASS_COHORT,
    LAST_CHANGE,
    LAST_INTERVENTION,
    LAST_YEAR,
    NEW_FIRST,
    NOT_DELETED,
    REASON_TEXTS,
    SCORE,
    SHOWN,
    rate,
    since_text,
)
from exports.workbooks.terms import ATTENTION, WEEKDAYS, grade_name, untranslated

Rows = Sequence[Mapping[str, Any]]

#: The source tables of the board, for its age.
SOURCES = (
    "marts.attendance_group_week",
    "marts.attendance_heatmap",
    "marts.attendance_student_day",
    "marts.attendance_class_session",
    "marts.early_warning",
    "marts.early_warning_history",
    "marts.grade_distribution_band",
    "core.dim_admin_class",
)
#: Students, teachers and schools that are shown before somebody asks for all.
TALKS, TEACHERS, SCHOOLS = 20, 15, 20

#: The line of a cohort's grade in the year before.
LAST_YEAR_OF = Words("{} a year before", "上一学年{}")

#: Students of the semester with their groups.
PLACED = f"""
    WITH {SHOWN}, placed AS (
        SELECT school_id, semester_id, student_id, cohort_id, cohort_name, admin_class_id, admin_class_name
        FROM marts.early_warning JOIN shown USING (school_id, semester_id)
    )
"""
GROUPS = f"""
    {PLACED}
    SELECT DISTINCT
        admin_class_id::VARCHAR AS key, coalesce(admin_class_name, admin_class_id::VARCHAR) AS name,
        coalesce(class_cohort_id::VARCHAR, '') AS cohort
    FROM placed {CLASS_COHORT} WHERE admin_class_id IS NOT NULL
    ORDER BY coalesce(class_cohort, ''), name, key
"""
#: The cohorts of students, and of classes.
COHORTS = f"""
    {PLACED}
    SELECT cohort_id::VARCHAR AS key, coalesce(max(cohort_name), key) AS name
    FROM (
        SELECT cohort_id, cohort_name FROM placed
        UNION ALL
        SELECT class_cohort_id, class_cohort FROM placed {CLASS_COHORT}
    )
    WHERE cohort_id IS NOT NULL GROUP BY cohort_id ORDER BY name, key
"""
WEEKS = f"""
    WITH {SHOWN}, {LAST_YEAR}
    SELECT
        replace(group_type, 'admin_class', 'class') AS kind,
        CASE WHEN group_type = 'school' THEN '' ELSE group_id::VARCHAR END AS key,
        week, bool_and(is_complete) AS is_complete,
        {rate("sum(weeks.present)", "sum(weeks.recorded)")}::DOUBLE AS rate,
        {rate("sum(last_year.present)", "sum(last_year.recorded)")}::DOUBLE AS last_year,
        max(last_year.grade_level) AS grade_level
    FROM marts.attendance_group_week AS weeks
    JOIN shown USING (school_id, semester_id)
    LEFT JOIN last_year USING (school_id, semester_id, group_type, group_id, week)
    WHERE week IS NOT NULL AND group_type IN ('school', 'cohort', 'admin_class') AND weeks.recorded > 0
    GROUP BY ALL ORDER BY kind, key, week
"""
LESSONS = f"""
    {PLACED},
    known AS (
        SELECT
            CASE WHEN grouping(admin_class_id) = 0 THEN 'class' ELSE 'cohort' END AS kind,
            coalesce(admin_class_id, cohort_id)::VARCHAR AS key, weekday, lesson,
            {rate("count_if(is_present)", "count(*)")}::DOUBLE AS rate, count(*) AS recorded
        FROM core.fct_attendance JOIN placed USING (school_id, semester_id, student_id)
        WHERE counts_in_denominator
        GROUP BY GROUPING SETS ((cohort_id, weekday, lesson), (admin_class_id, weekday, lesson))
        UNION ALL
        SELECT
            'school', '', weekday, lesson, {rate("sum(present)", "sum(recorded)")}::DOUBLE, sum(recorded)
        FROM marts.attendance_heatmap JOIN shown USING (school_id, semester_id)
        GROUP BY ALL
    )
    FROM known WHERE key IS NOT NULL AND recorded > 0 ORDER BY ALL
"""
LEVELS = f"""
    WITH {SHOWN}
    SELECT admin_class_id::VARCHAR AS key, level, count(*) AS students
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {NOT_DELETED}
    WHERE level IN ('at_risk', 'warning') AND inputs_loaded AND admin_class_id IS NOT NULL
    GROUP BY ALL ORDER BY ALL
"""
BANDS = f"""
    {PLACED},
    counted AS (
        SELECT
            CASE WHEN grouping(admin_class_id) = 0 THEN 'class' ELSE 'cohort' END AS kind,
            coalesce(admin_class_id, cohort_id)::VARCHAR AS key, school_id, subject_name AS subject, band,
            count(*) AS grades
        FROM core.fct_grade
        JOIN placed USING (school_id, semester_id, student_id)
        JOIN core.dim_course_class USING (school_id, course_class_id)
        WHERE source = 'class' AND counts_in_statistics AND band IS NOT NULL
        GROUP BY GROUPING SETS (
            (school_id, subject_name, band, cohort_id), (school_id, subject_name, band, admin_class_id)
        )
        UNION ALL
        SELECT 'school', '', school_id, group_name, band, sum(grades)
        FROM marts.grade_distribution_band JOIN shown USING (school_id, semester_id)
        WHERE group_type = 'subject' AND grades > 0
        GROUP BY ALL
    )
    SELECT
        kind, key, subject, {BAND} AS band,
        dense_rank() OVER (ORDER BY lower_percent DESC NULLS LAST) AS place, grades::BIGINT AS grades
    FROM counted JOIN staging.stg_grade_bands USING (school_id, band)
    WHERE key IS NOT NULL AND subject IS NOT NULL
    ORDER BY ALL
"""
MOVED = f"""
    WITH {SHOWN}, recent AS (
        SELECT
            admin_class_id::VARCHAR AS key,
            {rate("sum(recent_present)", "sum(recent_recorded)")} AS recent,
            {rate("sum(earlier_present)", "sum(earlier_recorded)")} AS earlier
        FROM marts.attendance_student_semester JOIN shown USING (school_id, semester_id) {NOT_DELETED}
        WHERE admin_class_id IS NOT NULL
        GROUP BY ALL
    )
    SELECT key, recent::DOUBLE AS recent, earlier::DOUBLE AS earlier, (recent - earlier)::DOUBLE AS change
    FROM recent WHERE change IS NOT NULL ORDER BY abs(change) DESC, key
"""
#: The students at risk or with a warning. Where an input was never loaded, the loaded data alone decide.
TALK_TO = f"""
    WITH {SHOWN}
    SELECT
        student_id::VARCHAR AS student, coalesce(student_name, student_number, '') AS name,
        admin_class_id::VARCHAR AS key, coalesce(cohort_id::VARCHAR, '') AS cohort, level,
        {REASON_TEXTS["zh"]} AS reasons_zh, {REASON_TEXTS["en"]} AS reasons_en, last_intervention_on,
        new_this_week,
        {since_text("en")} AS since_en, {since_text("zh")} AS since_zh
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {LAST_CHANGE}
    {LAST_INTERVENTION} {SCORE} {NOT_DELETED}
    WHERE level IN ('at_risk', 'warning')
    ORDER BY {NEW_FIRST}, {ATTENTION}
"""
#: Rolls of the seven days up to a day that were not taken: a row a course class, most lessons first.
UNTAKEN = f"""
    WITH {DUE}
    SELECT
        course_class_id::VARCHAR AS course, teacher_names,
        if(contains(class_name, course_name), class_name, concat_ws(' ', course_name, class_name)) AS name,
        list_sort(list(DISTINCT cohort_id::VARCHAR) FILTER (cohort_id IS NOT NULL)) AS cohorts,
        list_sort(list(DISTINCT admin_class_id::VARCHAR) FILTER (admin_class_id IS NOT NULL)) AS classes,
        list_sort(list(DISTINCT struct_pack(
            date := sessions.date, weekday := weekday, lesson := sessions.lesson
        ))) AS lessons
    FROM sessions LEFT JOIN placed_sessions USING (course_class_id, date, lesson)
    WHERE sessions.state = 'unrecorded'
    GROUP BY course_class_id, course_name, class_name, teacher_names
    ORDER BY len(lessons) DESC, teacher_names, name, course_class_id
"""


def rows(con: duckdb.DuckDBPyConnection, query: str, school_id: int) -> list[dict[str, Any]]:
    """The rows of a query about one school, by their columns."""
    return records(con, query, {"school_id": school_id})


def _groups(rows: Rows, cohorts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Classes with distinct names: a chart draws equal names as one group."""
    placed = [{**group, "cohort_name": cohorts.get(group["cohort"], "")} for group in rows]
    names = distinct_names(
        {group["key"]: f"{group['cohort_name']} {group['name']}".strip() for group in placed}
    )
    return [{**group, "name": names[group["key"]]} for group in placed]


def chart_rows(con: duckdb.DuckDBPyConnection, school: School) -> dict[str, Rows]:
    """The rows of each chart by its name. Each row has its group: `kind`, `key`, `cohort`, `name`, and
    `order` (the school, then its cohorts, then its classes)."""
    cohorts = distinct_names({row["key"]: row["name"] for row in rows(con, COHORTS, school.id)})
    groups = _groups(rows(con, GROUPS, school.id), cohorts)
    labels = {("school", ""): {"name": school.name, "cohort": ""}}
    labels |= {("cohort", key): {"name": name, "cohort": key} for key, name in cohorts.items()}
    labels |= {
        ("class", group["key"]): {name: group[name] for name in ("name", "cohort")} for group in groups
    }
    places = {group: {**label, "order": order} for order, (group, label) in enumerate(labels.items())}

    def drawn(query: str) -> list[dict[str, Any]]:
        all_rows = [{"kind": "class", **row} for row in rows(con, query, school.id)]
        return [
            {**row, **places[row["kind"], row["key"]]}
            for row in all_rows
            if (row["kind"], row["key"]) in places
        ]

    lessons = [
        {**row, "weekday_zh": day.zh, "weekday_en": day.en[:3]}
        for row in drawn(LESSONS)
        for day in [WEEKDAYS.get(row["weekday"], untranslated(row["weekday"]))]
    ]
    weeks = [
        {
            **{name: value for name, value in row.items() if name != "grade_level"},
            "last_year_zh": LAST_YEAR_OF.zh.format(grade.zh) if grade else None,
            "last_year_en": LAST_YEAR_OF.en.format(grade.en) if grade else None,
        }
        for row in drawn(WEEKS)
        for grade in [grade_name(row["grade_level"]) if row["grade_level"] else None]
    ]
    days = last_days(con, school.id)
    return {
        "cohorts": [{"key": key, "name": name} for key, name in cohorts.items()],
        "groups": groups,
        "weeks": weeks,
        "lessons": lessons,
        "levels": drawn(LEVELS),
        "bands": drawn(BANDS),
        "moved": drawn(MOVED),
        "talks": rows(con, TALK_TO, school.id),
        "untaken": rows(con, UNTAKEN.format(day=days["day"]), school.id) if days else [],
    }
