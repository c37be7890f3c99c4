"""The keys and references that the checks of the models declare."""

from typing import Any

import pytest

from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.relations import relations

#: Tables whose rows no other table describes, or that describe a school alone.
WITHOUT_REFERENCE = {
    "bridge_v1_person",
    "dim_attendance_status",
    "dim_school",
    "known_since",
    "last_load",
    "unmatched_v1",
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return relations(compiled())


def select(rows: list[dict[str, Any]], table: str, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(field) for field in fields) for row in rows if row["table_name"] == table]


def test_keys_and_references_are_those_of_the_checks(rows: list[dict[str, Any]]) -> None:
    fields = ("kind", "columns", "condition", "referenced_table", "referenced_columns", "check_name")
    result = select(rows, "fct_grade", *fields)
    assert result[0] == (*("primary key", ["school_id", "grade_id"], None, None, None, "fct_grade_key"),)
    assert (
        *("unique key", ["school_id", "source_id", "student_id"], "source = 'class'", None, None),
        "fct_grade_one_a_student",
    ) in result
    assert (
        *("foreign key", ["school_id", "source_id"], "source = 'class'", "dim_assessment"),
        *(["school_id", "assessment_id"], "fct_grade_source_id_related"),
    ) in result
    assert (
        "foreign key",
        ["school_id"],
        None,
        "dim_school",
        ["school_id"],
        "fct_grade_school_id_related",
    ) in result


def test_a_key_with_nulls_is_no_primary_key(rows: list[dict[str, Any]]) -> None:
    assert select(rows, "attendance_unrecorded", "kind", "columns")[0] == (
        "unique key",
        ["school_id", "semester_id", "week", "teacher_id"],
    )
    assert [kind for kind, *_ in select(rows, "bridge_v1_person", "kind")] == ["primary key", "unique key"]


def test_a_reference_by_the_whole_key_is_one_to_one(rows: list[dict[str, Any]]) -> None:
    references = select(rows, "fct_assessment_item", "columns", "cardinality", "check_name")
    check = "fct_assessment_item_references"
    assert (["school_id", "assessment_item_id"], "one to one", check) in references
    assert (["school_id", "semester_id"], "many to one", check) in references


def test_every_table_of_core_and_marts_has_a_key_and_a_reference(rows: list[dict[str, Any]]) -> None:
    tables = {
        (node["schema"], node["name"])
        for node in compiled()["nodes"].values()
        if node["resource_type"] == "model" and node["schema"] in ("core", "marts")
    }
    with_key = {(row["schema_name"], row["table_name"]) for row in rows if row["kind"] != "foreign key"}
    assert tables - with_key == set()
    referring = {(row["schema_name"], row["table_name"]) for row in rows if row["kind"] == "foreign key"}
    assert {name for _, name in tables - referring} == WITHOUT_REFERENCE, (
        "add `references` to the model's yml"
    )


def test_references_lead_to_keys(rows: list[dict[str, Any]]) -> None:
    keys = {(row["table_name"], *row["columns"]) for row in rows if row["kind"] != "foreign key"}
    targets = {
        (row["referenced_table"], *row["referenced_columns"]) for row in rows if row["kind"] == "foreign key"
    }
    assert targets - keys == {("stg_reflections", "school_id", "reflection_id")}
