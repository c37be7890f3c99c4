"""Writes generated schools directly into a lake: a semester of attendance and its related tables.

A school has 2,000 students in 50 administrative classes of 40, 11 courses each, 7 lessons a day, 18 weeks of
5 days: at most 1,260,000 records of attendance; 3 % of the sessions are never recorded. Each course
class has an assessment of 8 items, a score for each of them and a grade; 1 % of the members leave half-way. A
hundredth of the grades and of the scores changed after the first load. Transcripts include the semester
before. Every value is a function of the school and its own key.
"""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from loading.tables import TABLES
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES
from warehouse.lake.tables import Stored

#: Records of a school in a semester.
RECORDS_A_SCHOOL = 1_222_000
#: From the first day of a semester to that of the next.
DAYS_BETWEEN = 182
SEMESTER_ID = "_semester_id"

STORED: dict[str, Stored] = {**TABLES, CHANGES.name: CHANGES}
MARKS = """(
    SELECT $s * 1000000 + k AS student_id, k, course, $s * 10 + term AS semester_id, 1 + course % 3 AS credit,
        1 + hash(k, course, term, $s) % 31 / 10 AS points
    FROM range(2000) AS students (k), range(11) AS courses (course), range(2) AS terms (term)
)"""

#: The query of each table. $s: the school. $t: the semester, 0 the current one, in tables by semester. $c:
#: the first id of its classes. Missing columns are null. Ids are unique over all schools, although they need
#: not be.
SCHOOL = {
    "schools": "SELECT $s AS id, 'School ' || $s AS name",
    "semesters": """
        SELECT $s * 10 AS id, '2025-2026 (2)' AS name, true AS is_current,
            TIMESTAMP '2026-03-02' AS start_at, TIMESTAMP '2026-07-05' AS end_at
        UNION ALL
        SELECT $s * 10 + 1, '2025-2026 (1)', false, TIMESTAMP '2025-09-01', TIMESTAMP '2026-01-25'
        UNION ALL
        SELECT $s * 10 + term, 'Semester -' || term, false,
            TIMESTAMP '2026-03-02' - to_days($between * term::INT),
            TIMESTAMP '2026-07-05' - to_days($between * term::INT)
        FROM range(2, $terms) AS terms (term)""",
    "v1_semesters": """
        SELECT $s * 10 + term AS id, TIMESTAMP '2026-03-02' - to_days($between * term::INT) AS start_at,
            TIMESTAMP '2026-07-05' - to_days($between * term::INT) AS end_in, [1, 2, 3, 4, 5] AS lesson_days
        FROM range($terms) AS terms (term)""",
    "terms": """
        SELECT $s * 1000 + k AS id, 0 AS parent_id, 'system.graduates_in' AS type, '' || (2026 + k) AS name
        FROM range(3) AS cohorts (k)
        UNION ALL
        SELECT $s * 1000 + 100 + k, 0, 'teaching.subject', 'Subject ' || k
        FROM range(6) AS subjects (k)""",
    "structures": """
        SELECT $s * 1000 AS id, 0 AS parent_id, 'School' AS name, 'headquarters' AS type
        UNION ALL
        SELECT $s * 1000 + 1 + k, $s * 1000, 'Year ' || k, 'grade' FROM range(3) AS years (k)""",
    "students": """
        SELECT $s * 1000000 + k AS id, 'Student ' || k AS name, 'student' AS role, '' || k AS usin,
            [$s * 1000 + 1 + k // 40 % 3] AS structure_ids, $s * 1000 + k // 40 % 3 AS graduates_in_id
        FROM range(2000) AS students (k)""",
    "v1_users": "SELECT $s * 1000000 + k AS id, '' || k AS usin, 1 AS role FROM range(2000) AS students (k)",
    "teachers": """
        SELECT $s * 1000000 + 500000 + k AS id, 'Teacher ' || k AS name, 'teacher' AS role, 'T' || k AS usin
        FROM range(110) AS teachers (k)""",
    "admin_classes": """
        SELECT $s * 1000 + k AS id, 'Class ' || k AS name, $s * 1000 + k % 3 AS graduates_in_id
        FROM range(50) AS classes (k)""",
    "classes": """
        SELECT $c + k AS id, 'C' || k AS csin, 'Course ' || k % 11 AS name,
            'Course ' || k % 11 || ', class ' || k // 11 AS class_name,
            $s * 1000 + 100 + k % 11 // 2 AS subject_id, [$s * 1000 + k // 11] AS admin_class_ids,
            [{'id': $s * 1000000 + 500000 + k % 11 * 10 + k // 55, 'name': 'Teacher'}] AS teachers
        FROM range(550) AS classes (k)""",
    "v1_classes": """
        SELECT $c + k AS id, 'C' || k AS csin, 'Course ' || k % 11 AS name,
            [{'id': $s * 1000000 + 500000 + k % 11 * 10 + k // 55}] AS teachers
        FROM range(550) AS classes (k)""",
    "class_members": """
        SELECT 'student' AS type, $s * 1000000 + k AS reflection_id,
            $c + k // 40 * 11 + course AS class_id,
            if(hash(k, course, $s) % 100 = 0, TIMESTAMP '2026-05-01' - $ago, NULL) AS deleted_at
        FROM range(2000) AS students (k), range(11) AS courses (course)""",
    "assessments": """
        SELECT $c + k AS id, $c + k AS class_id, 100 AS full_score
        FROM range(550) AS classes (k)""",
    "assessment_items": """
        SELECT ($c + k) * 10 + item AS id, $c + k AS assessment_id, 0 AS pid,
            'item' AS type, 'score' AS scoring_type, 'Item ' || item AS name, 12.5 AS full_score,
            if(hash(k, item, $s, $t) % 10 > 0, TIMESTAMP '2026-06-22' - $ago + to_hours(k % 240), NULL)
                AS published_at
        FROM range(550) AS classes (k), range(8) AS items (item)""",
    "scores": """
        SELECT $s * 1000000 + $t * 200000 + (k * 11 + course) * 8 + item AS id,
            $c + class AS assessment_id,
            assessment_id * 10 + item AS item_id, 'item_score' AS type, $s * 1000000 + k AS owner_id,
            $s * 1000000 + 500000 + course * 10 + class // 55 AS evaluator_id, luck % 101 > 0 AS valid,
            if(luck % 50 = 0, NULL, luck % 4 + hash(k, course, $s) % 18 / 2) AS score,
            TIMESTAMP '2026-06-01' - $ago + to_hours((luck % 500)::INT) AS created_at,
            created_at AS updated_at,
            if(
                hash(class, item, $s, $t) % 10 > 0,
                TIMESTAMP '2026-06-22' - $ago + to_hours(class % 240),
                NULL
            ) AS published_at
        FROM (
            SELECT k, course, item, k // 40 * 11 + course AS class,
                hash(k, course, item, $s, $t) % 1000 AS luck
            FROM range(2000) AS students (k), range(11) AS courses (course), range(8) AS items (item)
        )""",
    "grades": """
        SELECT $s * 100000 + $t * 30000 + k * 11 + course AS id, 'class' AS source,
            $c + k // 40 * 11 + course AS source_id, $s * 1000000 + k AS owner_id, 100 AS full_score,
            50 + hash(k, $s) % 20 + hash(k, course, $s, $t) % 31 AS suggest_score,
            if(k % 3 = 0, suggest_score, NULL) AS score, suggest_score AS real_score,
            1 + course % 3 AS credit, greatest(suggest_score // 10 - 5, 0) AS gpa,
            if((k * 11 + course) % 71 = 0, 'delayed', 'published') AS status,
            if((k * 11 + course) % 71 = 0, NULL, TIMESTAMP '2026-07-01' - $ago) AS published_at
        FROM range(2000) AS students (k), range(11) AS courses (course)""",
    "changes": """
        SELECT resource, $s || ':' || $s * 10 AS slice, NULL AS key, 'loaded' AS op, NULL AS field,
            NULL AS before, NULL AS after, TIMESTAMP '2026-06-30' AS seen_at, 1 AS slice_version
        FROM (VALUES ('grades'), ('scores')) AS resources (resource)
        UNION ALL
        SELECT 'grades', $s || ':' || $s * 10, '' || ($s * 100000 + k), 'updated',
            unnest(['score', 'real_score', 'published_at']), unnest([NULL, '61', NULL]),
            unnest(['70', '70', '2026-07-01 00:00:00']),
            unnest([TIMESTAMP '2026-07-02', '2026-07-02', '2026-07-01']), unnest([3, 3, 2])
        FROM range(0, 22000, 100) AS grades (k)
        UNION ALL
        SELECT 'scores', $s || ':' || $s * 10, '' || ($s * 1000000 + k), 'updated', 'score', '5', '6.5',
            TIMESTAMP '2026-07-03', 2
        FROM range(0, 176000, 100) AS scores (k)""",
    "transcript_courses": f"""
        SELECT student_id, semester_id, $s * 100000 + k // 40 * 11 + course AS source_id, credit,
            credit AS gained_credit, 'Course ' || course AS name, true AS published,
            MAP {{'100': '' || (50 + points * 10)::INT, 'gpa': points::DECIMAL(3, 1)::VARCHAR}} AS evaluation
        FROM {MARKS}""",
    "transcript_semesters": f"""
        SELECT student_id, semester_id, round(sum(points * credit) / sum(credit), 2) AS grade_point_average,
            sum(credit) AS total_credit, total_credit AS gained_credit
        FROM {MARKS} GROUP BY student_id, semester_id""",
    "transcripts": f"""
        SELECT student_id, round(sum(points * credit) / sum(credit), 2) AS grade_point_average,
            sum(credit) AS total_credit, total_credit AS gained_credit
        FROM {MARKS} GROUP BY student_id""",
    "attendance_sessions": """
        SELECT $c + k * 11 + slot % 11 AS class_id,
            DATE '2026-03-02' - $days + (7 * (week - 1) + slot // 7)::INT AS date,
            slot % 7 + 1 AS lesson, week, week AS _week, true AS scheduled
        FROM range(50) AS classes (k), range(1, 19) AS weeks (week), range(35) AS slots (slot)""",
    "attendance_records": """
        SELECT $s * 10000000 + $t * 2000000 + row_number() OVER () AS id, class_id, student_id,
            date AS checked_at, lesson, week AS _week,
            CASE
                WHEN day_luck % 1000 < care OR luck % 1000 < 8 THEN 'absent'
                WHEN luck % 1000 < 33 THEN 'lated'
                WHEN luck % 1000 < 43 THEN 'early_left'
                ELSE 'normal'
            END AS status,
            if(status = 'absent' AND day_luck % 3 = 0, '病假', '') AS absence_label,
            date AS created_date, '08:05' AS created_time
        FROM (
            SELECT $c + k // 40 * 11 + slot % 11 AS class_id, $s * 1000000 + k AS student_id, week,
                DATE '2026-03-02' - $days + (7 * (week - 1) + slot // 7)::INT AS date, slot % 7 + 1 AS lesson,
                hash(k, week, slot, $s, $t) AS luck, hash(k, week, slot // 7, $s, $t) AS day_luck,
                5 + (hash(k, $s) % 100) ** 3 / 5000 AS care
            FROM range(2000) AS students (k), range(1, 19) AS weeks (week), range(35) AS slots (slot)
            WHERE hash(k // 40, week, slot, $s, $t) % 100 >= 3
        )""",
}


def schools_of(records: int) -> int:
    """The number of schools with about so many records."""
    return max(1, round(records / RECORDS_A_SCHOOL))


def fill(lake: Lake, schools: int, semesters: int = 1) -> None:
    """Write the tables of `schools` schools, one commit a school, semester and table.

    semesters: 1 to 4, the present one and earlier ones."""
    lake.ensure(TABLES.values())
    with duckdb.connect() as con:
        con.execute("SET threads = 2")
        for school in range(1, schools + 1):
            for name, query in SCHOOL.items():
                table = STORED[name]
                for term in range(semesters if SEMESTER_ID in table.slice_columns else 1):
                    rows = con.sql(_of(query, school, term, semesters)).to_arrow_table()
                    for batches in _pieces(rows):
                        shaped = _shaped(batches, table.lake_schema, school, school * 10 + term)
                        write_deltalake(lake.open(table), shaped, mode="append")


def _of(query: str, school: int, term: int, semesters: int) -> str:
    """Fill in a query for one school and semester."""
    values = {
        "$terms": semesters,
        "$s": school,
        "$t": term,
        "$c": school * 100_000 + term * 10_000,
        "$ago": f"to_days({DAYS_BETWEEN * term})",
        "$between": DAYS_BETWEEN,
        "$days": DAYS_BETWEEN * term,
    }
    for name, value in values.items():
        query = query.replace(name, str(value))
    return query


def _pieces(rows: pa.Table, size: int = 400_000) -> Iterator[pa.Table]:
    for start in range(0, max(rows.num_rows, 1), size):
        yield rows.slice(start, size)


def _shaped(rows: pa.Table, schema: pa.Schema, school: int, semester: int) -> pa.Table:
    """The rows with all columns of the lake, in its types."""
    same: dict[str, Any] = {
        "_school_id": school,
        "school_id": school,
        "_semester_id": semester,
        "semester_id": semester,
        "_synced_at": "2026-07-06 02:00:00",
    }
    columns: list[pa.ChunkedArray[Any]] = []
    for field in schema:
        if field.name in rows.column_names:
            column = rows[field.name]
        else:
            column = pa.chunked_array([pa.repeat(same.get(field.name), rows.num_rows)])
        columns.append(column.cast(field.type))
    return pa.table(columns, schema=schema)
