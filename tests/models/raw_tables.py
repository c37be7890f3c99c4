"""The `raw` schema as the models find it, made from plain rows: a dict a row, columns left out are null."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

Rows = Sequence[Mapping[str, Any]]

_PERSON_REF = "struct(id bigint, name varchar, usin varchar)[]"
_DECIMAL = "decimal(38, 18)"

# Column names and types as published; the four columns of every table are added below.
RAW_TABLES = {
    "schools": "id bigint, name varchar, url varchar, district varchar",
    "semesters": (
        "id bigint, school_id bigint, academic_year_id bigint, category_id bigint, name varchar,"
        " start_at timestamp, end_at timestamp, is_current boolean, outer_id varchar"
    ),
    "terms": (
        "id bigint, school_id bigint, parent_id bigint, name varchar, label varchar, description varchar,"
        " type varchar, weight bigint, archived_at timestamp"
    ),
    "structures": (
        "id bigint, school_id bigint, parent_id bigint, depth bigint, seq bigint, weight bigint,"
        " name varchar, path varchar, type varchar, graduates_in_id bigint, outer_id varchar, status varchar,"
        " created_at timestamp, updated_at timestamp"
    ),
    "reflections": (
        "id bigint, school_id bigint, name varchar, role varchar, usin varchar, phone varchar,"
        " structure_ids bigint[], outer_id varchar, status varchar, deleted_at timestamp"
    ),
    "students": (
        "id bigint, school_id bigint, name varchar, role varchar, usin varchar, structure_ids bigint[],"
        " pupil_id bigint, graduates_in_id bigint, outer_id varchar, status varchar, deleted_at timestamp"
    ),
    "teachers": (
        "id bigint, school_id bigint, name varchar, role varchar, usin varchar, phone varchar,"
        " structure_ids bigint[], outer_id varchar, department_names varchar[], status varchar,"
        " deleted_at timestamp"
    ),
    "admin_classes": (
        "id bigint, school_id bigint, name varchar, graduates_in_id bigint, structure_ids bigint[],"
        " place_id bigint, teacher_ids bigint[], student_nums bigint, outer_id varchar, status varchar"
    ),
    "classes": (
        "id bigint, school_id bigint, semester_id bigint, csin varchar, name varchar, class_name varchar,"
        " grade_ids bigint[], subject_id bigint, domain_id bigint, structure_ids bigint[],"
        f" admin_class_ids bigint[], teachers {_PERSON_REF}, students {_PERSON_REF},"
        " created_at timestamp, updated_at timestamp, deleted_at timestamp"
    ),
    "class_members": (
        "class_id bigint, type varchar, reflection_id bigint, class_together boolean, deleted_at timestamp,"
        " created_at timestamp, updated_at timestamp"
    ),
    "assessments": (
        "class_id bigint, id bigint, school_id bigint, semester_id bigint, type varchar, name varchar,"
        f" scope_type varchar, scope_id bigint, status varchar, full_score {_DECIMAL}, item_num bigint,"
        " published_at timestamp, updated_at timestamp"
    ),
    "assessment_items": (
        "id bigint, assessment_id bigint, pid bigint, type varchar, name varchar, description varchar,"
        f" sort bigint, full_score {_DECIMAL}, initial_score {_DECIMAL}, weight bigint, stage_id bigint,"
        " scoring_type varchar, display_type varchar, tags struct(name varchar)[], published_at timestamp"
    ),
    "scores": (
        "id bigint, school_id bigint, assessment_id bigint, item_id bigint, type varchar, owner_id bigint,"
        " evaluator_id bigint, valid boolean, invalid_type_id bigint, invalid_reason varchar,"
        f" score {_DECIMAL}, gained_score {_DECIMAL}, tag varchar, review varchar, self_review varchar,"
        " rank bigint, rank_base bigint, status varchar, published_at timestamp, created_at timestamp,"
        " updated_at timestamp"
    ),
    "grades": (
        "id bigint, school_id bigint, semester_id bigint, source_id bigint, source varchar, stage_id bigint,"
        f" owner_id bigint, name varchar, csin varchar, full_score {_DECIMAL}, score {_DECIMAL},"
        f" real_score {_DECIMAL}, suggest_score {_DECIMAL}, gained_score {_DECIMAL},"
        f" gained_score_rate {_DECIMAL}, level varchar, credit {_DECIMAL}, gpa {_DECIMAL}, rank bigint,"
        " rank_base bigint, status varchar, pass_status varchar, published_at timestamp, review varchar,"
        " updated_at timestamp"
    ),
}


def create_raw(path: Path, rows: Mapping[str, Rows]) -> None:
    """Makes a DuckDB file with all raw tables, empty but for `rows` (table -> rows).

    Text is cast to the column's type, so that lists, structs and exact decimals are written the way DuckDB
    prints them. `_school_id` is 1 and `_synced_at` one fixed time where a row does not say otherwise."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema raw")
        for table, columns in RAW_TABLES.items():
            connection.execute(
                f"create table raw.{table} ({columns}, _school_id bigint, _synced_at timestamp,"
                " _deleted_at timestamp, _extra json)"
            )
            for row in rows.get(table, ()):
                _insert(connection, table, {"_school_id": 1, "_synced_at": "2026-03-01 02:00:00", **row})


def _insert(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    connection.execute(f"insert into raw.{table} ({names}) values ({marks})", list(row.values()))
