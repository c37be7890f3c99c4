"""The registry: every resource of the platform, and the files that a school keeps itself, as data.

Assets, lake tables, scopes, the dictionary and tests derive from the registry. A new resource needs an entry
in the registry and a contract."""

from campus.registry.inputs import INPUTS, INTERVENTIONS
from campus.registry.spec import ResourceSpec
from campus.registry.v1 import ATTENDANCE, V1_DATA, V1_SEMESTERS
from campus.registry.v3 import (
    BASE_DATA,
    DATASET_FIELDS,
    DATASET_METADATA,
    DATASET_RELATIONS,
    DATASETS,
    REPORT_FIELDS,
    REPORT_METADATA,
    REPORT_PARAMETERS,
    REPORT_QUERIES,
    SCHOOLS,
    SEMESTERS,
    TERM_TYPES,
)

__all__ = [
    "ATTENDANCE",
    "BASE_DATA",
    "DATASETS",
    "DATASET_FIELDS",
    "DATASET_METADATA",
    "DATASET_RELATIONS",
    "INPUTS",
    "INTERVENTIONS",
    "REPORT_FIELDS",
    "REPORT_METADATA",
    "REPORT_PARAMETERS",
    "REPORT_QUERIES",
    "RESOURCES",
    "SCHOOLS",
    "SEMESTERS",
    "TERM_TYPES",
    "V1_DATA",
    "V1_SEMESTERS",
    "ResourceSpec",
]

RESOURCES: dict[str, ResourceSpec] = {
    spec.name: spec
    for spec in (SCHOOLS, *BASE_DATA, *DATASET_METADATA, *REPORT_METADATA, *V1_DATA, *ATTENDANCE)
}
