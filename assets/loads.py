"""The kinds of loads, in the order of a night and of a sync."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import dagster as dg

from assets.shared.load_kind import NIGHTLY, RECORDS, Kind, asset_key, raw_asset
from assets.shared.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
    with_key_format,
)
from campus import registry
from campus.registry import ResourceSpec
from loading.attendance.loader import PARENTS, plan_attendance
from loading.datasets.load_segments import plan_segments
from loading.inputs import STUDENTS, plan_inputs
from loading.load_school import plan_schools
from loading.partition_keys import segments_by_school, semesters_by_school, weeks_by_school
from loading.reports.load_results import METADATA, plan_results
from loading.reports.tables import results_of

BASE_DATA, V1, ATTENDANCE = "base_data", "v1", "attendance"
DATASETS, REPORTS, INPUTS = "datasets", "reports", "inputs"
#: The asset of all datasets, and of all results of reports.
DATASET_RECORDS, REPORT_RECORDS = dg.AssetKey([DATASETS, RECORDS]), dg.AssetKey([REPORTS, RECORDS])

#: The order that the interface recommends. Resources of a group do not depend on each other.
ORDER = (
    ("semesters",),
    ("terms",),
    ("structures",),
    ("reflections", "students", "teachers"),
    ("admin_classes",),
    ("classes",),
    ("class_members",),
    ("assessments",),
    ("assessment_items",),
    ("scores",),
    ("grades",),
)
AFTER = {name: previous for previous, group in pairwise(ORDER) for name in group}


def _resource_assets(
    group: str,
    specs: Sequence[ResourceSpec],
    partitions: dg.PartitionsDefinition,
    after: Mapping[str, Sequence[str]],
) -> tuple[dg.AssetSpec, ...]:
    """The assets of some resources. `after`: by resource, the resources that are read before it."""
    asset_specs = []
    for spec in specs:
        semesters = registry.V1_SEMESTERS if spec.is_v1 else registry.SEMESTERS
        first = registry.SCHOOLS if spec.lists_semesters else semesters
        parent = spec.embedded_in or spec.child_of or spec.fields_from
        before = after.get(spec.name, ())
        names = [*before, parent] if parent else before or [first.name]
        deps = [asset_key(name) for name in dict.fromkeys(names)]
        asset_specs.append(raw_asset(spec, group, deps, partitions))
    return tuple(asset_specs)


def _attendance_asset(spec: ResourceSpec) -> dg.AssetSpec:
    # Weeks and semesters are different partitions, and only their keys tell which belong together.
    mapping = dg.AllPartitionMapping()
    deps = [dg.AssetDep(asset_key(parent.name), partition_mapping=mapping) for parent in PARENTS]
    return raw_asset(spec, ATTENDANCE, deps, ATTENDANCE_WEEKS, freshness=None)


def _records_asset(
    asset: dg.AssetKey,
    description: str,
    deps: Sequence[ResourceSpec],
    partitions: dg.PartitionsDefinition,
    scope: str,
    slice_text: str,
) -> dg.AssetSpec:
    """One asset for all tables of a kind, because the platform adds and removes them."""
    return dg.AssetSpec(
        asset,
        deps=[asset_key(spec.name) for spec in deps],
        description=with_key_format(description, partitions),
        group_name=asset.path[0],
        kinds={"deltalake"},
        skippable=True,
        freshness_policy=NIGHTLY,
        partitions_def=partitions,
        metadata={"scope": scope, "slice": slice_text},
    )


LOADS: tuple[Kind[Any], ...] = (
    Kind(
        BASE_DATA,
        "Semesters through grades in the recommended order, for any schools and semesters.",
        SCHOOL_SEMESTERS,
        _resource_assets(BASE_DATA, registry.BASE_DATA, SCHOOL_SEMESTERS, AFTER),
        semesters_by_school,
        plan_schools,
    ),
    Kind(
        V1,
        "The v1 interface: users, classes, timetables, transcripts and devices, for any schools and "
        "semesters.",
        V1_SEMESTERS,
        _resource_assets(V1, registry.V1_DATA, V1_SEMESTERS, {}),
        semesters_by_school,
        plan_schools,
    ),
    # A night or a sync reads the due weeks: weeks that were never loaded whole, and the sessions of the
    # trailing window. For students who joined or left a class, it reads the semester again. Weeks that a
    # person chooses, and all weeks of a full load, are read whole. Requests name rows of both kinds above.
    Kind(
        ATTENDANCE,
        "Any teaching weeks of attendance, by the way that takes fewer requests.",
        ATTENDANCE_WEEKS,
        tuple(map(_attendance_asset, registry.ATTENDANCE)),
        weeks_by_school,
        plan_attendance,
    ),
    Kind(
        DATASETS,
        "Any segments of any datasets: the changed rows where the platform can list them, else all rows.",
        DATASET_SEGMENTS,
        (
            _records_asset(
                DATASET_RECORDS,
                "Records of the platform's datasets, segment by segment of their ids.",
                [registry.DATASETS],
                DATASET_SEGMENTS,
                registry.DATASETS.scopes[0],
                "one segment of the ids of a school's dataset",
            ),
        ),
        segments_by_school,
        plan_segments,
        scopes=(registry.DATASETS.scopes,),
    ),
    Kind(
        REPORTS,
        "Any results of the reports that settings name.",
        REPORT_RESULTS,
        (
            _records_asset(
                REPORT_RECORDS,
                "Results of the reports that settings name, each as it is today.",
                METADATA,
                REPORT_RESULTS,
                registry.REPORT_FIELDS.scopes[0],
                "one query of a school's report, with one combination of its matrix",
            ),
            raw_asset(
                registry.REPORT_FIELDS, REPORTS, [asset_key(registry.REPORT_QUERIES.name)], REPORT_RESULTS
            ),
        ),
        results_of,
        plan_results,
        scopes=(registry.REPORT_FIELDS.scopes,),
    ),
    # After base data: its lines name their students.
    Kind(
        INPUTS,
        "The log of talks and measures that a school keeps itself, in the home's folder inputs.",
        SCHOOL_SEMESTERS,
        (
            raw_asset(
                registry.INTERVENTIONS, INPUTS, [asset_key(STUDENTS.name)], SCHOOL_SEMESTERS, freshness=None
            ),
        ),
        semesters_by_school,
        plan_inputs,
        is_local=True,
    ),
)
