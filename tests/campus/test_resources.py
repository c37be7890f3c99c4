"""The registry: what is asked, where, with which scope, and how the resources hang together."""

import pytest

from campus.contract import column_names
from campus.resources import BASE_DATA, DATASET_METADATA, RESOURCES, SCHOOLS, TERM_TYPES

# Path and scopes as the specification lists them (of two scopes, the one that grants less first).
SPECIFIED = {
    "schools": ("/api/v1/schools", "user.read"),
    "semesters": ("/api/v3/system/semesters", "semester.read"),
    "terms": ("/api/v3/term/{type}/terms", "term.read"),
    "structures": ("/api/v3/structure/structures", "structure.read"),
    "reflections": ("/api/v3/reflection/reflections", "reflection.read_basic reflection.read_all"),
    "students": ("/api/v3/reflection/students", "student.read_basic student.read_all"),
    "teachers": ("/api/v3/reflection/teachers", "teacher.read_basic teacher.read_all"),
    "admin_classes": ("/api/v3/admin_class/admin_classes", "admin_class.read"),
    "classes": ("/api/v3/klass/classes", "class.read"),
    "class_members": ("/api/v3/klass/class-selections", "class.read"),
    "assessments": ("/api/v3/class-assessment/classes/{id}/assessment", "class.read"),
    "assessment_items": ("/api/v3/class-assessment/classes/{id}/assessment", "class.read"),
    "scores": ("/api/v3/class-assessment/items/{id}/scores", "class.read"),
    "grades": ("/api/v3/class-assessment/class/grades", "class.read"),
    # Written as /v3/...; whether /api stands before it is not shown.
    "datasets": ("/uds/datasets", "dataset.read_all"),
    "dataset_fields": ("/uds/datasets", "dataset.read_all"),
    "dataset_relations": ("/uds/datasets", "dataset.read_all"),
}
WITH_TRASHED = {"reflections", "students", "teachers", "classes", "class_members"}


def test_paths_and_scopes_are_those_of_the_specification() -> None:
    found = {name: (spec.path, " ".join(spec.scopes)) for name, spec in RESOURCES.items()}
    assert found == SPECIFIED


def test_resources_come_in_the_recommended_order() -> None:
    assert [spec.name for spec in (SCHOOLS, *BASE_DATA, *DATASET_METADATA)] == list(SPECIFIED)


def test_deleted_rows_are_asked_for_just_where_the_parameter_is_listed() -> None:
    assert {name for name, spec in RESOURCES.items() if spec.with_trashed} == WITH_TRASHED


@pytest.mark.parametrize("name", RESOURCES)
def test_keys_and_unit_columns_are_columns_and_parents_come_before(name: str) -> None:
    spec = RESOURCES[name]
    columns = column_names(spec.contract)
    assert set(spec.primary_key) <= set(columns)
    assert spec.unit_column is None or spec.unit_column in columns
    names = list(RESOURCES)
    assert all(
        names.index(parent) < names.index(name) for parent in (spec.child_of, spec.embedded_in) if parent
    )


def test_the_named_vocabularies_are_asked_for() -> None:
    assert set(TERM_TYPES) == {
        "system.graduates_in",
        "system.academic_year",
        "system.semester_category",
        "course.subject",
        "course.domain",
    }
