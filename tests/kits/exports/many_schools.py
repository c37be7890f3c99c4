"""A published file with many schools, of which the first have something that needs a look."""

from contextlib import closing
from pathlib import Path

import duckdb

FIRST = 1001
#: The schools with something to look at.
NEVER, OLD, FAILED, PART, ABSENT, AT_RISK, UNTAKEN = range(FIRST, FIRST + 7)
#: Three students are at risk and in the worst tier of attendance, two were ill, and four grades are in the
#: first subject.
SMALL = FIRST + 7
SUBJECTS = ("语文", "数学", "英语", "物理", "化学", "生物", "历史", "地理", "政治")
#: The last school day, and when schools were loaded: most, the old one, and in vain.
DAY, LOADED, LOADED_BEFORE, TRIED = "2026-03-16", "2026-03-17 01:00", "2026-03-10 01:00", "2026-03-17 02:00"


def add_schools(file: Path, schools: int, students: int) -> list[int]:
    """Add schools, made from the school 1 of a published file, with so many students. Returns their ids."""
    with closing(duckdb.connect(str(file))) as con:
        con.execute(f"CREATE TEMP TABLE added AS SELECT range AS n FROM range({FIRST}, {FIRST + schools})")
        for statement in _statements(students):
            con.execute(statement)
        con.execute("CHECKPOINT")
    return list(range(FIRST, FIRST + schools))


def _noise(factor: int) -> str:
    """SQL for a number from 0 to 1 that differs from school to school."""
    return f"(n * {factor} % 97 / 97)"


def _statements(students: int) -> list[str]:
    attending = f"n NOT IN ({NEVER}, {PART})"
    first_subject = f"n = {SMALL} AND subject = '{SUBJECTS[0]}'"
    return [
        "INSERT INTO raw.schools BY NAME SELECT n AS id, n AS _school_id FROM added",
        "INSERT INTO core.dim_school BY NAME "
        "SELECT n AS school_id, '第' || n || '中学' AS school_name, false AS is_deleted FROM added",
        "INSERT INTO core.dim_semester BY NAME "
        "SELECT rows.* REPLACE (n AS school_id) FROM core.dim_semester AS rows, added WHERE school_id = 1",
        f"""
        INSERT INTO marts.early_warning BY NAME SELECT rows.* REPLACE (
            n AS school_id, i AS student_id, true AS inputs_loaded,
            CASE
                WHEN i < CASE n WHEN {AT_RISK} THEN {0.3 * students} WHEN {SMALL} THEN 3
                    ELSE {students} * (0.02 + 0.03 * {_noise(37)}) END THEN 'at_risk'
                WHEN i < {students} * (0.08 + 0.06 * {_noise(53)}) THEN 'warning'
                ELSE 'none'
            END AS level
        )
        FROM marts.early_warning AS rows, added, range({students}) students (i)
        WHERE school_id = 1 AND student_id = 1 AND n <> {NEVER}
        """,
        f"""
        INSERT INTO marts.attendance_student_day BY NAME SELECT rows.* REPLACE (
            n AS school_id, i AS student_id, DATE '{DAY}' - d::INTEGER AS date, 8 AS recorded,
            if(i % 100 < CASE n WHEN {ABSENT} THEN 50 ELSE 8 + 9 * {_noise(29)} END, 3, 8) AS present
        )
        FROM marts.attendance_student_day AS rows, added, range({students}) students (i), range(10) days (d)
        WHERE school_id = 1 AND student_id = 1 AND {attending}
        """,
        f"""
        INSERT INTO marts.attendance_student_semester BY NAME SELECT rows.* REPLACE (
            n AS school_id, i AS student_id,
            CASE
                WHEN i < if(n = {SMALL}, 3, {students} * (0.03 + 0.04 * {_noise(61)})) THEN 'severe'
                WHEN i < {students} * 0.15 THEN 'chronic'
                WHEN i < {students} * 0.3 THEN 'watch'
                ELSE 'satisfactory'
            END AS tier
        )
        FROM (SELECT * FROM marts.attendance_student_semester WHERE school_id = 1 LIMIT 1) AS rows,
            added, range({students}) students (i)
        WHERE {attending}
        """,
        # A student misses one to three lessons for one reason.
        f"""
        INSERT INTO core.fct_attendance BY NAME SELECT rows.* REPLACE (
            n AS school_id, 10 * i + j AS attendance_id, i AS student_id, j AS lesson,
            false AS is_present, true AS is_absent, true AS counts_in_denominator,
            i % 4 > 0 AS is_leave,
            CASE WHEN i < if(n = {SMALL}, 3, 20) THEN '病假' WHEN i % 4 = 1 THEN '事假' END AS absence_label
        )
        FROM (SELECT * FROM core.fct_attendance WHERE school_id = 1 LIMIT 1) AS rows,
            added, range(40) students (i), range(1, 4) lessons (j)
        WHERE j <= 1 + (i + n) % 3 AND {attending}
        """,
        f"""
        INSERT INTO marts.attendance_class_session BY NAME SELECT rows.* REPLACE (
            n AS school_id, i AS course_class_id, DATE '{DAY}' AS date,
            if(i < if(n = {UNTAKEN}, 120, 20 * {_noise(41)}), 'unrecorded', 'recorded') AS state
        )
        FROM marts.attendance_class_session AS rows, added, range(200) sessions (i)
        WHERE school_id = 1 AND date = DATE '2026-03-02' AND {attending}
        """,
        f"""
        INSERT INTO marts.attendance_group_week BY NAME SELECT rows.* REPLACE (
            n AS school_id, n AS group_id, w AS week, w < 18 AS is_complete, 10000 AS recorded,
            (if(n = {ABSENT}, 7500, 9250) + 400 * {_noise(29)} + 100 * sin(w + 6 * {_noise(7)}))::BIGINT
                AS present
        )
        FROM marts.attendance_group_week AS rows, added, range(1, 19) weeks (w)
        WHERE school_id = 1 AND group_type = 'school' AND week = 1 AND {attending}
        """,
        f"""
        INSERT INTO marts.grade_distribution BY NAME SELECT rows.* REPLACE (n AS school_id)
        FROM marts.grade_distribution AS rows, added
        WHERE school_id = 1 AND group_type = 'school' AND n <> {NEVER}
        """,
        f"""
        INSERT INTO marts.grade_distribution_band BY NAME SELECT bands.* REPLACE (
            n AS school_id, subject AS group_name, if({first_subject}, (lower_percent IS NULL)::BIGINT * 4,
                40 + (60 * {_noise(23)} + 5 * length(band))::BIGINT) AS grades
        )
        FROM (
            SELECT DISTINCT ON (band) * FROM marts.grade_distribution_band
            WHERE school_id = 1 AND group_type = 'subject'
        ) AS bands, added, (SELECT unnest({list(SUBJECTS)}) AS subject)
        WHERE n <> {NEVER}
        """,
        f"INSERT INTO core.never_loaded BY NAME SELECT {PART} AS school_id, semester_id, "
        "unnest(['attendance_records', 'attendance_sessions']) AS resource "
        "FROM core.dim_semester WHERE school_id = 1",
        f"""
        INSERT INTO quality.load_log BY NAME SELECT rows.* REPLACE (
            n AS _school_id, n || slice[2:] AS slice,
            if(n = {OLD}, TIMESTAMP '{LOADED_BEFORE}', TIMESTAMP '{LOADED}') AS started_at,
            if(n = {OLD}, TIMESTAMP '{LOADED_BEFORE}', TIMESTAMP '{LOADED}') AS finished_at,
            if(is_part, 'failed', status) AS status, NOT is_part AS complete, NOT is_part AS "whole"
        )
        FROM quality.load_log AS rows, added, LATERAL (
            SELECT starts_with(resource, 'attendance_') AND n = {PART} AS is_part
        )
        WHERE _school_id = 1 AND n <> {NEVER}
        """,
        f"""
        INSERT INTO quality.load_log BY NAME SELECT rows.* REPLACE (
            {FAILED} AS _school_id, {FAILED} || slice[2:] AS slice, TIMESTAMP '{TRIED}' AS started_at,
            TIMESTAMP '{TRIED}' AS finished_at, 'failed' AS status, false AS complete, false AS "whole"
        )
        FROM quality.load_log AS rows WHERE _school_id = 1 AND resource = 'grades'
        """,
    ]
