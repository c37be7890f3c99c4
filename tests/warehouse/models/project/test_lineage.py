"""quality.lineage: the sources of each column, down to the interface."""

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from loading.tables import ENDPOINTS, TABLES
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish
from warehouse.publish.lineage import model_lineage, record_lineage
from warehouse.publish.models.compiled_models import CONDITION, VALUE, read_project
from warehouse.publish.models.dbt_project import compiled

#: Columns of core and marts that are constants of the SQL, such as the kind of a row.
WITHOUT_SOURCE = {
    "core.bridge_admin_class_student": {"in_v1", "in_v3"},
    "core.bridge_admin_class_teacher": {"role"},
    "core.bridge_student_admin_class": {"is_inferred"},
    "core.fct_grade_by_items": {"rule", "shown_by"},
    "core.fct_timetable_clash": {"kind"},
    "core.never_loaded": {"resource"},
    "core.score_rule": {"made_of", "shown_by"},
    "core.unmatched_v1": {"missing_in"},
    "marts.attendance_and_grades": {"population"},
    "marts.attendance_class_week": {"population"},
    "marts.attendance_group_week": {"group_type", "population"},
    "marts.attendance_heatmap": {"population"},
    "marts.attendance_student_pattern": {"pattern_type"},
    "marts.early_warning_backtest": {"outcome"},
    "marts.early_warning_backtest_group": {"group_type", "outcome"},
    "marts.early_warning_backtest_status": {"outcome"},
    "marts.early_warning_indicator": {"indicator", "place"},
    "marts.early_warning_rule_counts": {"in_force", "level", "level_en", "level_zh"},
    "marts.grade_class_against_cohort": {"population"},
    "marts.grade_class_exam_coursework": {"population"},
    "marts.grade_distribution": {"population"},
    "marts.grade_student_semester": {"population"},
    "marts.outcome_by_group": {"group_type", "population"},
    "marts.score_completeness": {"population"},
    "marts.score_item_analysis": {"population"},
    "marts.score_item_group_difference": {"group_code", "group_type", "other_group_code", "population"},
}


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("CREATE SCHEMA quality")
    record_lineage(con, TABLES.values(), ENDPOINTS)
    return con


def test_every_column_of_core_and_marts_has_a_source_or_is_named_here() -> None:
    lineage = model_lineage(TABLES.values())
    without = {}
    for model in read_project(compiled()).models:
        if model.schema in ("core", "marts"):
            sources = lineage[model.name]
            assert sources.keys() == {column.name for column in model.columns}, model.name
            if constants := {column for column in sources if VALUE not in sources[column]}:
                without[model.name] = constants
    assert without == WITHOUT_SOURCE


def test_every_name_is_one_of_the_published_file(healthy: Build, tmp_path: Path) -> None:
    with closing(duckdb.connect(str(publish(healthy, tmp_path)), read_only=True)) as con:
        unknown = con.execute(
            """
            WITH named AS (
                SELECT schema_name, table_name, column_name FROM quality.lineage
                UNION
                SELECT source_schema, source_table, source_column FROM quality.lineage
                WHERE source_schema <> 'interface'
            )
            FROM named ANTI JOIN duckdb_columns() AS columns
                ON columns.schema_name = named.schema_name AND columns.table_name = named.table_name
                AND columns.column_name = coalesce(named.column_name, columns.column_name)
            """
        ).fetchall()
    assert unknown == []


@pytest.mark.parametrize(
    ("column", "sources"),
    [
        (
            "marts.attendance_student_semester.attendance_rate",
            ["marts.attendance_student_day.present", "marts.attendance_student_day.recorded"],
        ),
        # A count of rows by a condition: the rows of one table, and the condition's column.
        (
            "marts.attendance_student_day.recorded",
            ["core.fct_attendance", "core.fct_attendance.counts_in_denominator"],
        ),
        # A student of v1 by the bridge, else as sent.
        (
            "core.fct_attendance.student_id",
            ["core.bridge_v1_person.person_id", "staging.stg_attendance_records.v1_student_id"],
        ),
        # A union by name, one side of which lacks the column.
        (
            "core.dim_semester.last_year_semester_id",
            ["staging.stg_semesters.semester_id", "staging.stg_v1_semesters.semester_id"],
        ),
        # A seed ends the way.
        ("core.dim_student.is_boarding", ["staging.stg_boarding_rules.is_boarding"]),
        ("core.dim_school.school_name", ["staging.stg_schools.school_name"]),
    ],
)
def test_columns_worked_out_by_hand(column: str, sources: list[str]) -> None:
    table, _, name = column.rpartition(".")
    assert model_lineage(TABLES.values())[table][name][VALUE] == sources


@pytest.mark.parametrize(
    ("column", "sources"),
    [
        # The rule of a status: joined by the school and the status, the best one of each group.
        (
            "core.dim_attendance_status.is_present",
            [
                "seeds.attendance_status_rules.status",
                "staging.stg_attendance_records.school_id",
                "staging.stg_attendance_records.status",
            ],
        ),
        # Without conditions: an outer join that brings other columns chooses no row of this one.
        ("core.dim_student.student_name", []),
    ],
)
def test_conditions_worked_out_by_hand(column: str, sources: list[str]) -> None:
    table, _, name = column.rpartition(".")
    assert model_lineage(TABLES.values())[table][name].get(CONDITION, []) == sources


@pytest.mark.parametrize(
    ("table", "column", "resource", "field"),
    [
        ("fct_grade", "level", "grades", "level"),
        # By the joins to the rule of each status.
        ("attendance_student_semester", "attendance_rate", "attendance_records", "status"),
    ],
)
def test_the_way_ends_at_the_fields_of_the_interface(
    con: duckdb.DuckDBPyConnection, table: str, column: str, resource: str, field: str
) -> None:
    way = con.execute(
        """
        WITH RECURSIVE way AS (
            FROM quality.lineage WHERE (table_name, column_name) = (?, ?)
            UNION
            SELECT above.* FROM quality.lineage AS above JOIN way
                ON (above.schema_name, above.table_name, above.column_name)
                    = (way.source_schema, way.source_table, way.source_column)
        )
        SELECT source_schema, source_table, source_column FROM way
        """,
        [table, column],
    ).fetchall()
    assert ("staging", f"stg_{resource}", field) in way
    assert ("interface", ENDPOINTS[resource], field) in way


def test_what_the_platform_does_not_send_has_no_field(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT column_name, source_schema, source_column FROM quality.lineage"
        " WHERE table_name = 'cards' AND column_name IN ('card_id', 'student_id', '_school_id', '_extra')"
        " ORDER BY ALL"
    ).fetchall()
    assert rows == [
        ("_extra", "interface", None),
        ("_school_id", None, None),
        ("card_id", "interface", None),
        ("student_id", "interface", "id"),
        ("student_id", "interface", "rid"),
    ]
