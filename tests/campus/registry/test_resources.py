"""The registry: what is asked, where, with which scope, and how the resources hang together."""

from typing import get_args

import pytest

from campus.contracts.fields import column_names, fields
from campus.plan.modes import MODES
from campus.registry import (
    ATTENDANCE,
    BASE_DATA,
    DATASET_METADATA,
    REPORT_METADATA,
    RESOURCES,
    SCHOOLS,
    TERM_TYPES,
    V1_DATA,
)
from campus.registry.spec import DeletedRows, Expansions, RequestMode

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
    "classes": ("/api/v3/klass/classes", "class.read klass.read"),
    "class_members": ("/api/v3/klass/class-selections", "class.read klass.read"),
    "assessments": ("/api/v3/class-assessment/classes/{id}/assessment", "class.read klass.read"),
    "assessment_items": ("/api/v3/class-assessment/classes/{id}/assessment", "class.read klass.read"),
    "scores": ("/api/v3/class-assessment/items/{id}/scores", "class.read klass.read"),
    "grades": ("/api/v3/class-assessment/class/grades", "class.read klass.read"),
    # Written as /v3/...; whether /api stands before it is not shown.
    "datasets": ("/uds/datasets", "dataset.read_all"),
    "dataset_fields": ("/uds/datasets", "dataset.read_all"),
    "dataset_relations": ("/uds/datasets", "dataset.read_all"),
    "report_queries": ("/reporting/reports/{report}/queries", "reporting.read_all"),
    "report_parameters": ("/reporting/reports/{report}/parameters", "reporting.read_all"),
    "report_fields": ("/reporting/reports/{report}/queries/{query}/records", "reporting.read_all"),
    # Which scope a path of v1 needs is not shown; these are of the sample tokens, and v3's for the same.
    "v1_semesters": ("/api/v1/semesters", "class.read klass.read user.read semester.read"),
    "v1_admin_classes": ("/api/v1/admin-classes", "class.read klass.read user.read admin_class.read"),
    "user_fields": ("/api/v1/reflection-fields", "user.read reflection.read_basic reflection.read_all"),
    "v1_users": ("/api/v1/reflections", "user.read reflection.read_basic reflection.read_all"),
    "attendance_settings": ("/api/v1/classroompad/attendance-settings", "class.read klass.read user.read"),
    "devices": ("/api/v1/classroompad/devices/{id}", "class.read klass.read user.read"),
    "cards": ("/api/v1/studentcard/cards/{id}", "user.read reflection.read_basic reflection.read_all"),
    "app_updates": ("/api/v1/classroompad/check-updates", ""),
    "transcripts": (
        "/api/v1/students/{id}/transcripts",
        "class.read klass.read user.read student.read_basic student.read_all",
    ),
    "transcript_semesters": (
        "/api/v1/students/{id}/transcripts",
        "class.read klass.read user.read student.read_basic student.read_all",
    ),
    "transcript_courses": (
        "/api/v1/students/{id}/transcripts",
        "class.read klass.read user.read student.read_basic student.read_all",
    ),
    "v1_classes": ("/api/v1/classes", "class.read klass.read user.read"),
    "v1_class_students": (
        "/api/v1/classes/{id}/students",
        "class.read klass.read user.read student.read_basic student.read_all",
    ),
    "timetable_days": ("/api/v1/timetable/structure", "class.read klass.read user.read"),
    "timetable_lessons": ("/api/v1/timetable/structure", "class.read klass.read user.read"),
    "attendance_sessions": ("/api/v1/classes/{id}/attendances", "class.read klass.read user.read"),
    "attendance_records": ("/api/v1/classes/{id}/attendances", "class.read klass.read user.read"),
}
WITH_TRASHED = {"reflections", "students", "teachers", "classes", "class_members"}


def test_paths_and_scopes_are_those_of_the_specification() -> None:
    actual = {name: (spec.path, " ".join(spec.scopes)) for name, spec in RESOURCES.items()}
    assert actual == SPECIFIED


def test_resources_come_in_the_recommended_order() -> None:
    registry = (SCHOOLS, *BASE_DATA, *DATASET_METADATA, *REPORT_METADATA, *V1_DATA, *ATTENDANCE)
    assert [spec.name for spec in registry] == list(SPECIFIED)


def test_deleted_rows_are_asked_for_just_where_the_parameter_is_listed() -> None:
    assert {name for name, spec in RESOURCES.items() if spec.source(DeletedRows)} == WITH_TRASHED


def test_lists_of_other_rows_are_expandable() -> None:
    for spec in BASE_DATA:
        lists = {column.name for column in fields(spec.contract) if column.nested is not None}
        # The tags of an item are its own.
        source = spec.source(Expansions) or Expansions((), ())
        assert lists - {"tags"} <= set(source.lists)
        assert set(source.optional) <= set(source.lists)


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


def test_each_mode_of_asking_has_its_record() -> None:
    assert set(MODES) == set(get_args(RequestMode))


def test_a_row_that_names_its_unit_by_another_resource_finds_the_unit_there() -> None:
    via = {name: spec.unit_via for name, spec in RESOURCES.items() if spec.unit_via}
    assert via == {"assessment_items": "assessments", "grades": "assessments"}
    assert all(RESOURCES[resource].unit_column == "class_id" for resource in via.values())
