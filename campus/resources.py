"""The registry: every resource that the platform offers, as data. Assets, lake tables, scopes, the dictionary
and tests derive from it; a new resource is one more entry here and its contract."""

from campus import contracts, contracts_datasets, contracts_reports
from campus.resources_v1 import ATTENDANCE, V1_DATA
from campus.spec import ResourceSpec

__all__ = [
    "ATTENDANCE",
    "BASE_DATA",
    "DATASETS",
    "DATASET_FIELDS",
    "DATASET_METADATA",
    "DATASET_RELATIONS",
    "REPORT_FIELDS",
    "REPORT_METADATA",
    "REPORT_PARAMETERS",
    "REPORT_QUERIES",
    "RESOURCES",
    "SCHOOLS",
    "TERM_TYPES",
    "V1_DATA",
    "ResourceSpec",
]

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

# The prefix of datasets and reports is found by asking (campus/prefixes.py).
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

# Which reports there are, no endpoint tells: settings name them.
REPORT_QUERIES = ResourceSpec(
    "report_queries",
    "/reporting/reports/{report}/queries",
    contracts_reports.ReportQuery,
    ("reporting.read_all",),
    sliced_by="report",
    primary_key=("report", "id"),
)
REPORT_PARAMETERS = ResourceSpec(
    "report_parameters",
    "/reporting/reports/{report}/parameters",
    contracts_reports.ReportParameter,
    REPORT_QUERIES.scopes,
    sliced_by="report",
    primary_key=("report", "name"),
)
REPORT_FIELDS = ResourceSpec(
    "report_fields",
    "/reporting/reports/{report}/queries/{query}/records",
    contracts_reports.ReportField,
    REPORT_QUERIES.scopes,
    sliced_by="report",
    primary_key=("report", "query_id", "params", "name"),
    child_of="report_queries",
)
REPORT_METADATA = (REPORT_QUERIES, REPORT_PARAMETERS, REPORT_FIELDS)

RESOURCES: dict[str, ResourceSpec] = {
    spec.name: spec
    for spec in (SCHOOLS, *BASE_DATA, *DATASET_METADATA, *REPORT_METADATA, *V1_DATA, *ATTENDANCE)
}

# The vocabularies that the specification names; a setting adds more.
TERM_TYPES: tuple[str, ...] = (
    "system.graduates_in",
    "system.academic_year",
    "system.semester_category",
    "course.subject",
    "course.domain",
)
