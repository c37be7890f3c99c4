"""A published file with one table of mixed types, which every writer reads."""

from pathlib import Path

import duckdb

TABLE = "marts.lessons"
SCHOOL = 101

#: 20 columns: ids, numbers with leading zeros, Chinese names and remarks, dates, decimals, flags, gaps.
COLUMNS = """
    101::BIGINT AS school_id,
    1_000_000 + i AS student_id,
    lpad((i * 7)::VARCHAR, 8, '0') AS student_number,
    ['王', '李', '张', '刘', '陈', '杨', '赵', '黄'][1 + i % 8]
        || ['小明', '思远', '雨桐', '子涵', '欣怡', '浩然'][1 + i % 6] AS student_name,
    '高二(' || (i % 12 + 1) || ')班' AS admin_class_name,
    '2025-2026学年上学期' AS semester_name,
    DATE '2025-09-01' + (i % 120)::INTEGER AS "date",
    TIMESTAMP '2025-09-01 08:00:00' + to_seconds(i * 37) AS recorded_at,
    i % 9 + 1 AS lesson,
    (hash(i) % 10_001 / 100)::DECIMAL(9, 2) AS attendance_rate,
    (hash(i + 1) % 1501 / 10)::DECIMAL(5, 1) AS score,
    hash(i + 2) / 1.8e19 AS z_score,
    i % 3 = 0 AS is_late,
    CASE WHEN i % 5 > 0 THEN 'Mathematics' END AS subject_name,
    ['出勤', '迟到', '缺勤', '请假'][1 + i % 4] AS status,
    CASE WHEN i % 50 = 0 THEN '因病请假，已交假条 ' || i END AS remark,
    i % 400 AS present,
    i * 31 % 1000 AS recorded,
    (hash(i + 3) % 401 / 100)::DECIMAL(3, 2) AS gpa,
    'T' || i % 90 AS teacher
"""


def make(path: Path, rows: int) -> None:
    """Write the file, with the tables that describe a published file."""
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute("CREATE SCHEMA core")
        con.execute("CREATE SCHEMA quality")
        con.execute(f"CREATE TABLE {TABLE} AS SELECT {COLUMNS} FROM range({rows}) AS numbers (i)")
        con.execute(
            "CREATE TABLE core.dim_school AS "
            f"SELECT {SCHOOL} AS school_id, '启明实验学校' AS school_name, false AS is_deleted"
        )
        con.execute(
            "CREATE TABLE quality.publication AS "
            "SELECT '20260101T020000' AS generation, TIMESTAMP '2026-01-01 02:00:00' AS published_at"
        )
        con.execute(
            "CREATE TABLE quality.load_log AS "
            f"SELECT {SCHOOL} AS _school_id, 'lessons' AS resource, '{SCHOOL}' AS slice, 'ok' AS status, "
            "true AS complete, 1 AS requests, TIMESTAMP '2026-01-01 02:00:00' AS started_at, "
            "TIMESTAMP '2026-01-01 02:00:00' AS finished_at"
        )
        con.execute(
            "CREATE TABLE core.dim_semester (school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, "
            "is_current BOOLEAN, first_day DATE)"
        )
        con.execute("CREATE TABLE marts.early_warning (school_id BIGINT, semester_id BIGINT)")
        con.execute(
            "CREATE TABLE quality.semester_calendars (_school_id BIGINT, semester_id BIGINT, "
            "v1_semester_id BIGINT)"
        )
        con.execute(
            "CREATE TABLE quality.dictionary AS SELECT schema_name, table_name, column_name, column_name AS "
            "description, column_name AS label_en, NULL::VARCHAR AS label_zh, "
            "if(column_name LIKE '%rate', 'percent', NULL) AS unit, NULL::VARCHAR[] AS stands_on "
            "FROM duckdb_columns()"
        )
