"""quality.lineage: the sources of each column, down to the interface."""

import duckdb
import pytest

from loading.tables import ENDPOINTS, TABLES
from warehouse.publish.lineage import COMPILED_LINEAGE, compiled_lineage, record_lineage
from warehouse.publish.models.compiled_models import read_project
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
    lineage = compiled_lineage()
    without = {}
    for model in read_project(compiled()).models:
        if model.schema in ("core", "marts"):
            sources = lineage[model.name]
            assert sources.keys() == {column.name for column in model.columns}, model.name
            if constants := {column for column in sources if not sources[column]}:
                without[model.name] = constants
    assert without == WITHOUT_SOURCE


def test_every_source_exists() -> None:
    lineage = compiled_lineage()
    models = {model.name: model for model in read_project(compiled()).models}
    for columns in lineage.values():
        for source in {source for sources in columns.values() for source in sources}:
            schema, table, *column = source.split(".")
            if schema in ("core", "marts", "staging", "seeds") and column:
                name = f"{schema}.{table}"
                existing = lineage.get(name) or {column.name for column in models[name].columns}
                assert column[0] in existing, source


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
    assert compiled_lineage()[table][name] == sources


def test_the_way_ends_at_the_fields_of_the_interface(con: duckdb.DuckDBPyConnection) -> None:
    way = con.execute(
        """
        WITH RECURSIVE way AS (
            FROM quality.lineage WHERE (table_name, column_name) = ('fct_grade', 'level')
            UNION
            SELECT above.* FROM quality.lineage AS above JOIN way
                ON (above.schema_name, above.table_name, above.column_name)
                    = (way.source_schema, way.source_table, way.source_column)
        )
        SELECT source_schema, source_table, source_column FROM way
        """
    ).fetchall()
    assert ("staging", "stg_grades", "level") in way
    assert way[-1] == ("interface", ENDPOINTS["grades"], "level")


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


@pytest.mark.slow
def test_the_stored_lineage_is_that_of_the_models() -> None:
    from pipelines.cli.developer.compile_models import compile_lineage

    assert compile_lineage(read_project(compiled())) == COMPILED_LINEAGE.read_text(encoding="utf-8")
