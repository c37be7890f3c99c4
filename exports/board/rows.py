"""What the charts of the board are drawn of: rows for the school, each cohort and each administrative class.

Rates come from sums of the marts. What no mart has by class (lessons of the week, bands of a subject) is
counted here of the same facts by the same rules; for the school as a whole it is what the mart says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from exports.figures import BY_GROUP, DUE, GROUP, last_days
from exports.source import School, records, told_apart
from exports.workbooks.queries import BAND, SHOWN, STILL_THERE, rate
from exports.workbooks.terms import WEEKDAYS, same

Rows = Sequence[Mapping[str, Any]]

#: The tables that the board stands on, for its age.
SOURCES = (
    "marts.attendance_group_week",
    "marts.attendance_heatmap",
    "marts.attendance_student_day",
    "marts.attendance_class_session",
    "marts.early_warning",
    "marts.grade_distribution_band",
)
#: So many students, and teachers, are shown at once.
TALKS, TEACHERS = 10, 15

#: Students of the semester with the groups that they are in.
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
        coalesce(cohort_id::VARCHAR, '') AS cohort, coalesce(cohort_name, '') AS cohort_name
    FROM placed WHERE admin_class_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY key ORDER BY cohort_name DESC) = 1
    ORDER BY cohort_name, name, key
"""
WEEKS = f"""
    WITH {SHOWN}
    SELECT
        replace(group_type, 'admin_class', 'class') AS kind,
        CASE WHEN group_type = 'school' THEN '' ELSE group_id::VARCHAR END AS key,
        week, bool_and(is_complete) AS is_complete,
        {rate("sum(present)", "sum(recorded)")}::DOUBLE AS rate
    FROM marts.attendance_group_week JOIN shown USING (school_id, semester_id)
    WHERE week IS NOT NULL AND group_type IN ('school', 'cohort', 'admin_class') AND recorded > 0
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
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {STILL_THERE}
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
            {rate("sum(recent_present)", "sum(recent_recorded)")}::DOUBLE AS recent,
            {rate("sum(earlier_present)", "sum(earlier_recorded)")}::DOUBLE AS earlier
        FROM marts.attendance_student_semester JOIN shown USING (school_id, semester_id) {STILL_THERE}
        WHERE admin_class_id IS NOT NULL
        GROUP BY ALL
    )
    SELECT *, round(recent - earlier, 2) AS change FROM recent
    WHERE change IS NOT NULL ORDER BY abs(change) DESC, key
"""
#: The first of the school, of each cohort and of each class.
TALK_TO = f"""
    WITH {SHOWN}
    SELECT
        coalesce(student_name, student_number, '') AS name, admin_class_id::VARCHAR AS key,
        coalesce(cohort_id::VARCHAR, '') AS cohort, level, reasons_zh, reasons_en,
        row_number() OVER whole AS place
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {STILL_THERE}
    WHERE level IN ('at_risk', 'warning')
    WINDOW
        whole AS (ORDER BY level = 'warning', reason_count DESC, attendance_rate, score_rate, student_id),
        of_cohort AS (
            PARTITION BY cohort_id
            ORDER BY level = 'warning', reason_count DESC, attendance_rate, score_rate, student_id
        ),
        of_class AS (
            PARTITION BY admin_class_id
            ORDER BY level = 'warning', reason_count DESC, attendance_rate, score_rate, student_id
        )
    QUALIFY least(place, row_number() OVER of_cohort, row_number() OVER of_class) <= {TALKS}
    ORDER BY place
"""
#: How many students are at risk or have a warning, by group, as TALK_TO lists them. Where an input was never
#: loaded, these are the students whom the loaded data alone put there.
FLAGGED = f"""
    WITH {SHOWN}
    SELECT {GROUP}, count(*) AS students
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {STILL_THERE}
    WHERE level IN ('at_risk', 'warning')
    {BY_GROUP}
"""
#: Rolls of the seven days up to a day that nobody took, the most first: a row a course class.
UNTAKEN = f"""
    WITH {DUE}
    SELECT
        teacher_names,
        if(contains(class_name, course_name), class_name, concat_ws(' ', course_name, class_name)) AS name,
        list_sort(list(DISTINCT cohort_id::VARCHAR) FILTER (cohort_id IS NOT NULL)) AS cohorts,
        list(DISTINCT admin_class_id::VARCHAR) FILTER (admin_class_id IS NOT NULL) AS classes,
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


def _groups(found: Rows) -> list[dict[str, Any]]:
    """Classes and their cohorts by names of their own: charts draw those of one name as one."""
    cohorts = told_apart(
        {group["cohort"]: group["cohort_name"] or group["cohort"] for group in found if group["cohort"]}
    )
    placed = [{**group, "cohort_name": cohorts.get(group["cohort"], "")} for group in found]
    names = told_apart({group["key"]: f"{group['cohort_name']} {group['name']}".strip() for group in placed})
    return [{**group, "name": names[group["key"]]} for group in placed]


def chart_rows(con: duckdb.DuckDBPyConnection, school: School) -> dict[str, Rows]:
    """The rows of each chart by its name. Each says its group: `kind` and `key`, the `cohort` that it is of,
    its name, and its `order` among others: the school, its cohorts, its classes."""
    groups = _groups(rows(con, GROUPS, school.id))
    cohorts = {group["cohort"]: group["cohort_name"] for group in groups}
    known = {("school", ""): {"name": school.name, "cohort": ""}}
    known |= {("cohort", key): {"name": name, "cohort": key} for key, name in cohorts.items() if key}
    known |= {("class", group["key"]): {name: group[name] for name in ("name", "cohort")} for group in groups}
    places = {where: {**said, "order": order} for order, (where, said) in enumerate(known.items())}

    def drawn(query: str) -> list[dict[str, Any]]:
        found = [{"kind": "class", **row} for row in rows(con, query, school.id)]
        return [
            {**row, **places[row["kind"], row["key"]]} for row in found if (row["kind"], row["key"]) in places
        ]

    lessons = [
        {**row, "weekday_zh": day.zh, "weekday_en": day.en[:3]}
        for row in drawn(LESSONS)
        for day in [WEEKDAYS.get(row["weekday"], same(row["weekday"]))]
    ]
    days = last_days(con, school.id)
    return {
        "groups": groups,
        "weeks": drawn(WEEKS),
        "lessons": lessons,
        "levels": drawn(LEVELS),
        "bands": drawn(BANDS),
        "moved": drawn(MOVED),
        "talks": rows(con, TALK_TO, school.id),
        "flagged": rows(con, FLAGGED, school.id),
        "untaken": rows(con, UNTAKEN.format(day=days["day"]), school.id) if days else [],
    }
