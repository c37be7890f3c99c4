"""The registry of the v3 interface: schools, base data, and the metadata of datasets and reports."""

from campus.contracts import base_data as contracts
from campus.contracts import datasets as contracts_datasets
from campus.contracts import reports as contracts_reports
from campus.registry.spec import UNDATED, DeletedRows, Expansions, HiddenRows, ResourceSpec, embedded

# The specification names the first scope for all rows of a class; its sample tokens have the second, too.
CLASSES = ("class.read", "klass.read")

# The parameter of every resource that can be read by its changes.
UPDATED_SINCE = "updated_at_egt"

SCHOOLS = ResourceSpec("schools", "/api/v1/schools", contracts.School, ("user.read",), shape="list")

SEMESTERS = ResourceSpec(
    "semesters",
    "/api/v3/system/semesters",
    contracts.Semester,
    ("semester.read",),
    id_filter="id_in",
    lists_semesters=True,
)

ASSESSMENTS = ResourceSpec(
    "assessments",
    "/api/v3/class-assessment/classes/{id}/assessment",
    contracts.Assessment,
    CLASSES,
    mode="by_class",
    sliced_by="semester",
    params={"expand": "items"},
    shape="object_or_list",
    child_of="classes",
    unit_column="class_id",
    counts="item_num",
)

# In the order that the interface recommends.
BASE_DATA: tuple[ResourceSpec, ...] = (
    SEMESTERS,
    ResourceSpec(
        "terms",
        "/api/v3/term/{type}/terms",
        contracts.Term,
        ("term.read",),
        mode="by_term_type",
        unit_column="type",
        sources=(HiddenRows((("archived_at_is_empty", "0"),)),),
    ),
    ResourceSpec(
        "structures",
        "/api/v3/structure/structures",
        contracts.Structure,
        ("structure.read",),
        sources=(HiddenRows((("status", "archived"),)),),
    ),
    ResourceSpec(
        "reflections",
        "/api/v3/reflection/reflections",
        contracts.Reflection,
        ("reflection.read_basic", "reflection.read_all"),
        sources=(DeletedRows(),),
        updated_since=UPDATED_SINCE,
    ),
    ResourceSpec(
        "students",
        "/api/v3/reflection/students",
        contracts.Student,
        ("student.read_basic", "student.read_all"),
        sources=(DeletedRows(),),
        id_filter="id_in",
        updated_since=UPDATED_SINCE,
    ),
    ResourceSpec(
        "teachers",
        "/api/v3/reflection/teachers",
        contracts.Teacher,
        ("teacher.read_basic", "teacher.read_all"),
        sources=(DeletedRows(),),
        id_filter="id_in",
        updated_since=UPDATED_SINCE,
    ),
    ResourceSpec(
        "admin_classes",
        "/api/v3/admin_class/admin_classes",
        contracts.AdminClass,
        ("admin_class.read",),
        sources=(
            Expansions(("students", "teachers"), lists=("students", "teachers")),
            # The specification does not list the values of its status: structures have words, users numbers.
            HiddenRows(tuple(("status", value) for value in ("archived", "disabled", "2", "4"))),
        ),
        id_filter="id_in",
    ),
    ResourceSpec(
        "classes",
        "/api/v3/klass/classes",
        contracts.CourseClass,
        CLASSES,
        mode="by_semester",
        sliced_by="semester",
        sources=(
            DeletedRows(),
            Expansions(
                ("teachers", "admin_class_ids", "grades"),
                lists=("teachers", "students", "admin_class_ids", "grades"),
            ),
        ),
        id_filter="id_in",
        updated_since=UPDATED_SINCE,
        unseen="lists of teachers, students, grades, structures and administrative classes that changed "
        f"while no member did; {UNDATED}",
    ),
    ResourceSpec(
        "class_members",
        "/api/v3/klass/class-selections",
        contracts.ClassMember,
        CLASSES,
        mode="members",
        sliced_by="semester",
        # A person who leaves a class and joins it again has two memberships.
        primary_key=("class_id", "type", "reflection_id", "membership"),
        numbered="membership",
        ordered_by=("created_at", "deleted_at", "updated_at"),
        sources=(DeletedRows(),),
        updated_since=UPDATED_SINCE,
        child_of="classes",
        unit_column="class_id",
        keeps_past=True,
        unseen=UNDATED,
    ),
    ASSESSMENTS,
    embedded(
        ASSESSMENTS,
        "assessment_items",
        contracts.AssessmentItem,
        unit_column="assessment_id",
        unit_via="assessments",
        embedded_as="items",
    ),
    ResourceSpec(
        "scores",
        "/api/v3/class-assessment/items/{id}/scores",
        contracts.Score,
        CLASSES,
        mode="by_item",
        sliced_by="semester",
        child_of="assessment_items",
        unit_column="item_id",
        tracks_changes=True,
        keeps_past=True,
        moves_with=("assessments", "assessment_items", "grades"),
        unseen="changes that move no grade, item or member: remarks, scores that do not count, and scores of "
        "students without a grade",
    ),
    ResourceSpec(
        "grades",
        "/api/v3/class-assessment/class/grades",
        contracts.Grade,
        CLASSES,
        mode="by_class_batch",
        sliced_by="semester",
        child_of="assessments",
        unit_column="source_id",
        unit_via="assessments",
        tracks_changes=True,
        keeps_past=True,
        updated_since=UPDATED_SINCE,
        unseen=f"ranks, names and codes that the platform computed anew; {UNDATED}",
    ),
)

# The prefix of datasets and reports is discovered (campus/fetch/answers.py).
DATASETS = ResourceSpec(
    "datasets", "/uds/datasets", contracts_datasets.Dataset, ("dataset.read_all",), unit="dataset"
)
DATASET_FIELDS, DATASET_RELATIONS = (
    embedded(
        DATASETS,
        name,
        contract,
        ("dataset_id", "name"),
        shape="pages",
        child_of="datasets",
        unit_column="dataset_id",
    )
    for name, contract in (
        ("dataset_fields", contracts_datasets.DatasetField),
        ("dataset_relations", contracts_datasets.DatasetRelation),
    )
)
DATASET_METADATA = (DATASETS, DATASET_FIELDS, DATASET_RELATIONS)

# No endpoint lists the reports: settings name them.
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

# The vocabularies of the specification; a setting adds others.
TERM_TYPES: tuple[str, ...] = (
    "system.graduates_in",
    "system.academic_year",
    "system.semester_category",
    "course.subject",
    "course.domain",
)
