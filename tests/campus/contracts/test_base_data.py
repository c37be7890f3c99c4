"""Contracts against the specification's field lists, copied here by hand so that a forgotten field shows."""

import pyarrow as pa
import pytest

from campus.contracts.fields import DECIMAL, arrow_type, column_names, fields
from campus.registry import ATTENDANCE, V1_DATA
from campus.registry import RESOURCES as REGISTRY

# Those of the v1 interface are in test_v1_contracts.py.
RESOURCES = {name: spec for name, spec in REGISTRY.items() if spec not in (*V1_DATA, *ATTENDANCE)}

TYPES = {
    "int": pa.int64(),
    "text": pa.string(),
    "flag": pa.bool_(),
    "decimal": DECIMAL,
    "time": pa.timestamp("us"),
    "ints": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "people": pa.list_(pa.struct([("id", pa.int64()), ("name", pa.string()), ("usin", pa.string())])),
    "named": pa.list_(pa.struct([("id", pa.int64()), ("name", pa.string())])),
    "tags": pa.list_(pa.struct([("name", pa.string())])),
    "options": pa.list_(pa.struct([("key", pa.string()), ("label", pa.string())])),
}

# Resource -> type -> fields, in the order of the specification within a type.
SPECIFIED: dict[str, dict[str, str]] = {
    "schools": {"int": "id", "text": "name url district"},
    "semesters": {
        "int": "id school_id academic_year_id category_id",
        "text": "name outer_id",
        "time": "start_at end_at",
        "flag": "is_current",
    },
    "terms": {
        "int": "id school_id parent_id weight",
        "text": "name label description type",
        "time": "archived_at",
    },
    "structures": {
        "int": "id school_id parent_id depth seq weight graduates_in_id",
        "text": "name path type outer_id status",
        "time": "created_at updated_at",
    },
    "reflections": {
        "int": "id school_id",
        "text": "name role usin phone outer_id status",
        "ints": "structure_ids",
        "time": "deleted_at",
    },
    "students": {
        "int": "id school_id pupil_id graduates_in_id",
        "text": "name role usin outer_id status",
        "ints": "structure_ids",
        "time": "deleted_at",
    },
    "teachers": {
        "int": "id school_id",
        "text": "name role usin phone outer_id status",
        "ints": "structure_ids",
        "texts": "department_names",
        "time": "deleted_at",
    },
    "admin_classes": {
        "int": "id school_id graduates_in_id place_id student_nums",
        "text": "name outer_id status",
        "ints": "structure_ids teacher_ids",
        "people": "teachers students",
    },
    "classes": {
        "int": "id school_id semester_id subject_id domain_id",
        "text": "csin name class_name",
        "ints": "grade_ids structure_ids admin_class_ids",
        "named": "grades",
        "people": "teachers students",
        "time": "created_at updated_at deleted_at",
    },
    "class_members": {
        "int": "reflection_id class_id membership",
        "text": "type",
        "flag": "class_together",
        "time": "deleted_at created_at updated_at",
    },
    "assessments": {
        "int": "class_id id school_id semester_id scope_id item_num",
        "text": "type name scope_type status",
        "decimal": "full_score",
        "time": "published_at updated_at",
    },
    "assessment_items": {
        "int": "id assessment_id pid sort weight stage_id",
        "text": "type name description scoring_type display_type",
        "decimal": "full_score initial_score",
        "tags": "tags",
        "time": "published_at",
    },
    "scores": {
        "int": "id school_id assessment_id item_id owner_id evaluator_id invalid_type_id rank rank_base",
        "text": "type invalid_reason tag review self_review status",
        "flag": "valid",
        "decimal": "score gained_score",
        "time": "published_at created_at updated_at",
    },
    "grades": {
        "int": "id school_id semester_id source_id stage_id owner_id rank rank_base",
        "text": "source name csin level status pass_status review",
        "decimal": "full_score score real_score suggest_score gained_score gained_score_rate credit gpa",
        "time": "published_at updated_at",
    },
    "datasets": {
        "int": "id",
        "text": "name label description",
        "flag": "is_custom",
        "time": "created_at updated_at last_updated_at",
    },
    "dataset_fields": {
        "int": "dataset_id id position max_length precision scale",
        "text": "name label description type",
        "flag": "primary",
        "texts": "enum",
        "time": "created_at updated_at",
    },
    "dataset_relations": {"int": "dataset_id id", "text": "name label ref_name related_by"},
    # `report`, `query_id` and `params` are ours: what was asked for.
    "report_queries": {"int": "id school_id report_id", "text": "report label"},
    "report_parameters": {
        "text": "report type name label default_value",
        "flag": "required",
        "options": "options",
    },
    "report_fields": {
        "int": "query_id position",
        "text": "report params kind name label table_name column_name",
        "texts": "label_in_path",
        "flag": "is_dynamic",
    },
}

ENUMS: dict[tuple[str, str], str] = {
    ("structures", "type"): "headquarters campus school_level grade subject_group",
    ("structures", "status"): "normal archived",
    ("reflections", "role"): "teacher student staff guardian",
    ("students", "role"): "student",
    ("teachers", "role"): "teacher",
    ("assessment_items", "type"): "dimension sub_dimension item special_item attendance_item",
    ("assessment_items", "scoring_type"): "score star level addition tag review",
    ("assessment_items", "display_type"): "score star level",
    ("scores", "type"): "raw item_score",
    ("grades", "source"): "class moral dorm custom teacher_assessment awarded_credit stage",
    ("grades", "status"): "pending published delayed passed",
    ("grades", "pass_status"): "pending warning passed failed",
    ("dataset_fields", "type"): "integer decimal string text enum date timestamp boolean",
    ("report_parameters", "type"): "input select multi-select date-range",
    ("report_fields", "kind"): "int float decimal string text date timestamp enum attachment",
}
# Enums of the specification whose values are not shown.
OPEN_ENUMS = {
    *((resource, "status") for resource in ("reflections", "students", "teachers", "admin_classes")),
    *(("assessments", field) for field in ("type", "scope_type", "status")),
    ("class_members", "type"),
    ("scores", "status"),
}


@pytest.mark.parametrize("resource", SPECIFIED)
def test_a_contract_has_each_specified_field_with_its_type(resource: str) -> None:
    expected = {name: TYPES[kind] for kind, names in SPECIFIED[resource].items() for name in names.split()}
    assert {f.name: f.arrow_type for f in fields(RESOURCES[resource].contract)} == expected


def test_each_resource_is_specified_here() -> None:
    assert set(RESOURCES) == set(SPECIFIED)


def test_enums_have_the_values_of_the_specification() -> None:
    contracts = {name: fields(spec.contract) for name, spec in RESOURCES.items()}
    shown = {
        (name, f.name): f.known_values for name, all_ in contracts.items() for f in all_ if f.known_values
    }
    assert shown == {field: frozenset(values.split()) for field, values in ENUMS.items()}
    enums = {(name, f.name) for name, all_ in contracts.items() for f in all_ if f.enum}
    assert enums == set(ENUMS) | OPEN_ENUMS


@pytest.mark.parametrize("resource", RESOURCES)
def test_each_field_and_contract_is_described(resource: str) -> None:
    contract = RESOURCES[resource].contract
    assert contract.__doc__
    assert all(f.description for f in fields(contract))


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_row_needs_nothing_but_its_key(resource: str) -> None:
    spec = RESOURCES[resource]
    values = {"id": 1, "type": "student", "reflection_id": 2, "name": "score"}
    row = spec.contract(**{name: values[name] for name in spec.primary_key if name in values})
    assert [getattr(row, name) for name in column_names(spec.contract) if name not in spec.primary_key] == [
        None
    ] * (len(column_names(spec.contract)) - len(spec.primary_key))


def test_what_tells_about_a_person_is_marked() -> None:
    personal = {
        (name, f.name) for name, spec in RESOURCES.items() for f in fields(spec.contract) if f.personal
    }
    people = {
        (resource, field)
        for resource in ("reflections", "students", "teachers")
        for field in ("name", "usin", "outer_id")
    }
    assert personal == people | {
        ("reflections", "phone"),
        ("teachers", "phone"),
        ("scores", "invalid_reason"),
        ("scores", "review"),
        ("scores", "self_review"),
        ("grades", "review"),
        ("terms", "description"),
        ("assessment_items", "description"),
        ("classes", "teachers"),
        ("classes", "students"),
        ("admin_classes", "teachers"),
        ("admin_classes", "students"),
    }


def test_every_field_of_a_resource_has_a_privacy_class() -> None:
    unclassified = [
        (name, field.name)
        for name, spec in RESOURCES.items()
        for field in fields(spec.contract)
        if not field.privacy
    ]
    assert unclassified == [], "state `privacy` in the field's doc()"


def test_types_that_contracts_do_not_use_are_an_error() -> None:
    with pytest.raises(TypeError, match="contracts do not use"):
        arrow_type(object())
