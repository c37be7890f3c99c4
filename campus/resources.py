"""The registry: every resource that the platform offers, as data. Assets, lake tables, scopes, the dictionary
and tests derive from it; a new resource is one more entry here and its contract."""

from dataclasses import dataclass, field
from typing import Literal

from campus import contracts, contracts_datasets
from campus.contract import Contract

# How a resource is asked for; `campus.read` has one function for each.
Asked = Literal["once", "by_term_type", "by_semester", "members", "by_class", "by_item", "by_class_batch"]
Slicing = Literal["school", "semester"]


@dataclass(frozen=True)
class ResourceSpec:
    """One resource: where it is, what its rows are, and how it is read.

    `scopes`: alternatives, any of which suffices, least first. `sliced_by`: what one slice of its lake table
    is. `with_trashed`: deleted rows are asked for too. `child_of`: the resource whose rows the questions are
    made from. `unit_column`: the column that ties a row to the class, item or type it was asked for with.
    `embedded_in`: the resource whose answer the rows come inside."""

    name: str
    path: str
    contract: type[Contract]
    scopes: tuple[str, ...]
    asked: Asked = "once"
    sliced_by: Slicing = "school"
    primary_key: tuple[str, ...] = ("id",)
    params: dict[str, str] = field(default_factory=dict, hash=False)
    with_trashed: bool = False
    paged: bool = True
    child_of: str | None = None
    unit_column: str | None = None
    embedded_in: str | None = None
    tracks_changes: bool = False


SCHOOLS = ResourceSpec("schools", "/api/v1/schools", contracts.School, ("user.read",), paged=False)

# In the order that the interface recommends.
BASE_DATA: tuple[ResourceSpec, ...] = (
    ResourceSpec("semesters", "/api/v3/system/semesters", contracts.Semester, ("semester.read",)),
    ResourceSpec(
        "terms",
        "/api/v3/term/{type}/terms",
        contracts.Term,
        ("term.read",),
        asked="by_term_type",
        unit_column="type",
    ),
    ResourceSpec("structures", "/api/v3/structure/structures", contracts.Structure, ("structure.read",)),
    ResourceSpec(
        "reflections",
        "/api/v3/reflection/reflections",
        contracts.Reflection,
        ("reflection.read_basic", "reflection.read_all"),
        with_trashed=True,
    ),
    ResourceSpec(
        "students",
        "/api/v3/reflection/students",
        contracts.Student,
        ("student.read_basic", "student.read_all"),
        with_trashed=True,
    ),
    ResourceSpec(
        "teachers",
        "/api/v3/reflection/teachers",
        contracts.Teacher,
        ("teacher.read_basic", "teacher.read_all"),
        with_trashed=True,
    ),
    ResourceSpec(
        "admin_classes", "/api/v3/admin_class/admin_classes", contracts.AdminClass, ("admin_class.read",)
    ),
    ResourceSpec(
        "classes",
        "/api/v3/klass/classes",
        contracts.CourseClass,
        ("class.read",),
        asked="by_semester",
        sliced_by="semester",
        params={"expand": "teachers,admin_class_ids"},
        with_trashed=True,
    ),
    ResourceSpec(
        "class_members",
        "/api/v3/klass/class-selections",
        contracts.ClassMember,
        ("class.read",),
        asked="members",
        sliced_by="semester",
        primary_key=("class_id", "type", "reflection_id"),
        with_trashed=True,
        child_of="classes",
        unit_column="class_id",
    ),
    ResourceSpec(
        "assessments",
        "/api/v3/class-assessment/classes/{id}/assessment",
        contracts.Assessment,
        ("class.read",),
        asked="by_class",
        sliced_by="semester",
        params={"expand": "items"},
        paged=False,
        child_of="classes",
        unit_column="class_id",
    ),
    ResourceSpec(
        "assessment_items",
        "/api/v3/class-assessment/classes/{id}/assessment",
        contracts.AssessmentItem,
        ("class.read",),
        asked="by_class",
        sliced_by="semester",
        params={"expand": "items"},
        paged=False,
        child_of="classes",
        unit_column="assessment_id",
        embedded_in="assessments",
    ),
    ResourceSpec(
        "scores",
        "/api/v3/class-assessment/items/{id}/scores",
        contracts.Score,
        ("class.read",),
        asked="by_item",
        sliced_by="semester",
        child_of="assessment_items",
        unit_column="item_id",
        tracks_changes=True,
    ),
    ResourceSpec(
        "grades",
        "/api/v3/class-assessment/class/grades",
        contracts.Grade,
        ("class.read",),
        asked="by_class_batch",
        sliced_by="semester",
        child_of="assessments",
        unit_column="source_id",
        tracks_changes=True,
    ),
)

# The prefix is found by asking (campus/datasets/metadata.py).
DATASETS = ResourceSpec("datasets", "/uds/datasets", contracts_datasets.Dataset, ("dataset.read_all",))
DATASET_FIELDS = ResourceSpec(
    "dataset_fields",
    DATASETS.path,
    contracts_datasets.DatasetField,
    DATASETS.scopes,
    primary_key=("dataset_id", "name"),
    child_of="datasets",
    unit_column="dataset_id",
    embedded_in="datasets",
)
DATASET_RELATIONS = ResourceSpec(
    "dataset_relations",
    DATASETS.path,
    contracts_datasets.DatasetRelation,
    DATASETS.scopes,
    primary_key=("dataset_id", "name"),
    child_of="datasets",
    unit_column="dataset_id",
    embedded_in="datasets",
)
DATASET_METADATA = (DATASETS, DATASET_FIELDS, DATASET_RELATIONS)

RESOURCES: dict[str, ResourceSpec] = {spec.name: spec for spec in (SCHOOLS, *BASE_DATA, *DATASET_METADATA)}

# The vocabularies that the specification names; a setting adds more.
TERM_TYPES: tuple[str, ...] = (
    "system.graduates_in",
    "system.academic_year",
    "system.semester_category",
    "course.subject",
    "course.domain",
)
