"""The tables of a strong extract: rows of students without keys, each shared by several students.

Weeks stand in place of dates, and bands in place of marks. A row that too few students share becomes coarser
step by step, and is left out in the end. So each row equals, in all its columns, rows of enough students of
the same school, and no column leads from one row of a student to another row of the student."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import duckdb

from exports.extracts.plan import Column, ExtractRefused, Request, Table, condition, plan, treatment
from warehouse.identifiers import listed, quoted
from warehouse.privacy import SMALL_GROUP

SCHEMA = "coarse"
#: The published tables that a strong extract has, too: what the ids of its rows mean.
ABOUT_NOBODY = ("core.dim_school", "core.dim_semester", "core.dim_term")
BAND = (
    "CASE WHEN {0} >= 90 THEN 90 WHEN {0} >= 80 THEN 80 WHEN {0} >= 70 THEN 70 WHEN {0} >= 60 THEN 60 "
    "WHEN {0} >= 0 THEN 0 END"
)
#: By column: type, privacy class, meaning.
COLUMNS: Mapping[str, tuple[str, str, str]] = {
    "school_id": ("BIGINT", "id", "School"),
    "semester_id": ("BIGINT", "id", "Semester"),
    "cohort_id": ("BIGINT", "id", "Cohort, a term; null: not known, or too few share it"),
    "week": ("INTEGER", "plain", "Teaching week, in place of dates"),
    "absence": ("VARCHAR", "plain", "Recorded lessons missed: none, some, half or more; any: some or more"),
    "attendance_from": ("INTEGER", "plain", "Lower end of the band of the attendance rate: 95, 90, 80 or 0"),
    "score_from": ("INTEGER", "plain", "Lower end of the band of the score rate: 90, 80, 70, 60 or 0"),
    "has_failed": ("BOOLEAN", "plain", "Whether a course of the semester was failed"),
    "course_name": ("VARCHAR", "label", "Course; null: not known, or too few share it"),
}


@dataclass(frozen=True)
class CoarseTable:
    """A table with rows of students."""

    name: str
    columns: tuple[str, ...]
    #: SQL for its rows with `student_id`, of the published tables.
    query: str
    #: By column, SQL that replaces it in rows that too few share. One step comes after the other.
    steps: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Coarsening:
    """What has become of the rows of a table."""

    table: str
    rows: int
    #: Rows whose columns became coarser, by the names of these columns.
    generalized: Mapping[str, int]
    suppressed: int
    #: The fewest students who share a row. None: there is no row.
    fewest_sharing: int | None

    @property
    def suppressed_share(self) -> float | None:
        """The share of the rows that are left out. None: there was no row."""
        return self.suppressed / self.rows if self.rows else None


COARSE = (
    CoarseTable(
        "student_semester",
        ("school_id", "semester_id", "cohort_id", "attendance_from", "score_from", "has_failed"),
        f"""
        SELECT school_id, semester_id, student_id,
            coalesce(attendance.cohort_id, grades.cohort_id) AS cohort_id,
            CASE WHEN attendance_rate >= 95 THEN 95 WHEN attendance_rate >= 90 THEN 90
                WHEN attendance_rate >= 80 THEN 80 WHEN attendance_rate >= 0 THEN 0 END AS attendance_from,
            {BAND.format("score_rate")} AS score_from,
            failed_courses > 0 AS has_failed
        FROM marts.attendance_student_semester AS attendance
        FULL JOIN marts.grade_student_semester AS grades USING (school_id, semester_id, student_id)
        """,
        ({"cohort_id": "NULL"}, {"score_from": "NULL", "has_failed": "NULL"}, {"attendance_from": "NULL"}),
    ),
    CoarseTable(
        "attendance_week",
        ("school_id", "semester_id", "cohort_id", "week", "absence"),
        """
        SELECT records.school_id, semester_id, student_id, any_value(people.cohort_id) AS cohort_id, week,
            CASE WHEN count_if(is_absent) = 0 THEN 'none' WHEN 2 * count_if(is_absent) < count(*) THEN 'some'
                ELSE 'half or more' END AS absence
        FROM core.fct_attendance AS records
        LEFT JOIN core.dim_student AS people USING (school_id, student_id)
        WHERE counts_in_denominator AND semester_id IS NOT NULL AND week IS NOT NULL
        GROUP BY ALL
        """,
        ({"cohort_id": "NULL"}, {"absence": "if(absence = 'none', absence, 'any')"}),
    ),
    CoarseTable(
        "course_grade",
        ("school_id", "semester_id", "cohort_id", "course_name", "score_from"),
        f"""
        SELECT grades.school_id, semester_id, student_id, people.cohort_id,
            nullif(course_name, '') AS course_name, {BAND.format("score_percent")} AS score_from
        FROM core.fct_grade AS grades
        LEFT JOIN core.dim_student AS people USING (school_id, student_id)
        WHERE source = 'class' AND counts_in_statistics AND score_percent IS NOT NULL
            AND semester_id IS NOT NULL
        """,
        ({"cohort_id": "NULL"}, {"course_name": "NULL"}),
    ),
)


def plan_coarse(con: duckdb.DuckDBPyConnection, request: Request) -> list[Table]:
    """The tables of a strong extract. Raises ExtractRefused where the request names another table."""
    by_name = {f"{SCHEMA}.{table.name}": table for table in COARSE}
    available = (*by_name, *ABOUT_NOBODY)
    if unknown := [name for name in request.tables if name not in available]:
        raise ExtractRefused(
            f"a strong extract cannot have {', '.join(unknown)}: it has {', '.join(available)}"
        )
    names = request.tables or available
    about = [table for table in plan(con, request, ABOUT_NOBODY) if table.name in names]
    coarse = [
        Table(name, tuple(_columns(table, request)), f"temp.{quoted(table.name)}")
        for name, table in by_name.items()
        if name in names
    ]
    return [*coarse, *about]


def _columns(table: CoarseTable, request: Request) -> Iterator[Column]:
    for name in table.columns:
        type_, privacy, meaning = COLUMNS[name]
        how, reason = treatment(type_, privacy, is_grouped=False, hides_schools=request.hides_schools)
        if privacy == "plain":
            how, reason = "coarse", f"each row is shared by {SMALL_GROUP} students or more"
        yield Column(name, type_, privacy, meaning, how, reason)


def coarsen(con: duckdb.DuckDBPyConnection, tables: list[Table], request: Request) -> list[Coarsening]:
    """Make the rows of the coarse tables, as temporary tables, of what the request selects."""
    rows_of = {f"{SCHEMA}.{table.name}": table for table in COARSE}
    return [_coarsened(con, rows_of[table.name], table, request) for table in tables if table.name in rows_of]


def _coarsened(
    con: duckdb.DuckDBPyConnection, coarse: CoarseTable, table: Table, request: Request
) -> Coarsening:
    columns = listed(coarse.columns)
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE unshared AS SELECT student_id, {columns} FROM ({coarse.query}) "
        f"WHERE {condition(table, request)}"
    )
    con.execute(f"CREATE OR REPLACE TEMP TABLE {quoted(coarse.name)} AS FROM unshared LIMIT 0")
    [(rows,)] = con.execute("SELECT count(*) FROM unshared").fetchall()
    generalized, coarser, sharing = dict[str, int](), list[str](), list[int]()
    for step in ({}, *coarse.steps):
        coarser += step
        replaced = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in step.items())
        if replaced:
            con.execute(
                f"CREATE OR REPLACE TEMP TABLE unshared AS SELECT * REPLACE ({replaced}) FROM unshared"
            )
        # A student with several equal rows is a single student.
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE sized AS SELECT *, count(DISTINCT student_id) "
            f"OVER (PARTITION BY {columns}) AS sharing FROM unshared"
        )
        enough = f"FROM sized WHERE sharing >= {SMALL_GROUP}"
        [(shared, fewest)] = con.execute(f"SELECT count(*), min(sharing) {enough}").fetchall()
        con.execute(f"INSERT INTO temp.{quoted(coarse.name)} SELECT * EXCLUDE (sharing) {enough}")
        if shared:
            sharing.append(fewest)
        if step and shared:
            generalized[", ".join(coarser)] = shared
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE unshared AS SELECT * EXCLUDE (sharing) FROM sized "
            f"WHERE sharing < {SMALL_GROUP}"
        )
    [(suppressed,)] = con.execute("SELECT count(*) FROM unshared").fetchall()
    return Coarsening(table.name, rows, generalized, suppressed, min(sharing, default=None))
