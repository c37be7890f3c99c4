"""Discovery: finds schools with their semesters, datasets and reports, and with them the partitions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import uvloop
from sqlalchemy.exc import SQLAlchemyError

from assets.shared.load_kind import (
    asset_key,
    log_slice,
    platform_runtime,
    raise_failed,
    raw_asset,
    report_drift,
    school_tables_of,
)
from assets.shared.partitions import PARTITIONS, partitions_table, remove_unknown_partitions
from assets.shared.run_retention import delete_old_runs
from campus.http.events import Event
from campus.registry import (
    ATTENDANCE,
    BASE_DATA,
    DATASET_METADATA,
    DATASETS,
    REPORT_QUERIES,
    SCHOOLS,
    V1_DATA,
    ResourceSpec,
)
from loading.connection.runtime import cause_of
from loading.discovery.results import DiscoveryResults, ExistingPartitions, partition_changes
from loading.discovery.schools import discover
from loading.names import names_of
from loading.partition_keys import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    keys_by_school,
    partitions_of,
)
from loading.reports import plans as report_plans
from loading.slices.commit import RunResults
from warehouse.load.logs.dataset_plans import read_plans
from warehouse.load.logs.drift import in_lines
from warehouse.load.logs.writer import batched, write

# The other resources of a discovery have no partitions, or their partitions are gone with their rows.
PARTITIONED = {spec.name for spec in (*BASE_DATA, *V1_DATA, *ATTENDANCE)}


def _asset_spec(spec: ResourceSpec) -> dg.AssetSpec:
    return raw_asset(spec, "discovery", [asset_key(SCHOOLS.name)] if spec is not SCHOOLS else [])


@dg.multi_asset(
    name="discover",
    specs=[_asset_spec(spec) for spec in (SCHOOLS, *DATASET_METADATA, *report_plans.METADATA)],
    required_resource_keys={"campus"},
    pool="platform",
)
def discovery(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    """Load the schools, their semesters and the metadata of their datasets and reports. Add new partitions,
    and delete partitions that are gone."""
    runtime = platform_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    instance = context.instance
    try:
        delete_old_runs(instance, runtime.keep_runs, context.run.run_id)
    except SQLAlchemyError as error:
        context.log.warning(f"old runs could not be deleted: {error}")
    for note in remove_unknown_partitions(instance):
        if runtime.listener:
            runtime.listener(Event("note", note))
    existing = ExistingPartitions(
        *(keys_by_school(instance.get_dynamic_partitions(kind.name or "")) for kind in PARTITIONS)
    )
    with batched(runtime.lake):
        results = uvloop.run(discover(runtime, cause, existing))
        changes = partition_changes(existing, results)
        # The retired rows are committed before their partitions go: nothing else remembers the partitions.
        if any(change.removed for change in changes.values()):
            write(runtime.lake)
    for kind, change in changes.items():
        instance.add_dynamic_partitions(kind, change.added)
        for key in change.removed:
            instance.delete_dynamic_partition(kind, key)
    for note in results.notes:
        if runtime.listener:
            runtime.listener(Event("note", note))
    datasets = {
        (f"datasets.{plan.table}", plan.school_id)
        for plan in read_plans(runtime.lake)
        if plan.school_id in results.segments
    }
    drift = in_lines(report_drift(runtime, cause, school_tables_of(results.loaded) | datasets))
    for loaded in results.loaded:
        semesters = (results.v1_semesters if loaded.spec.is_v1 else results.semesters).get(
            loaded.slice.school_id, []
        )
        partitions = partitions_of(loaded.slice, semesters) if loaded.spec.name in PARTITIONED else []
        log_slice(context, loaded, partitions)
    new = {kind: len(change.added) for kind, change in changes.items()}
    names = partitions_table(results.semesters, results.v1_semesters, names_of(runtime.lake))
    yield dg.MaterializeResult(
        asset_key=asset_key(SCHOOLS.name), metadata=_school_metadata(results, new) | {"partitions": names}
    )
    segments: dict[str, str | int] = {
        "segments": _total(results.segments),
        "new segments": new[DATASET_SEGMENTS],
    }
    if lines := [*results.notes, *drift]:
        segments["notes"] = "\n".join(lines)
    report_results = {"results": _total(results.report_results), "new results": new[REPORT_RESULTS]}
    planned: dict[ResourceSpec, Mapping[str, str | int]] = {
        DATASETS: segments,
        REPORT_QUERIES: report_results,
    }
    for spec in (*DATASET_METADATA, *report_plans.METADATA):
        rows = sum(
            loaded.outcome.counts.loaded
            for loaded in results.loaded
            if loaded.spec is spec and loaded.outcome is not None
        )
        yield dg.MaterializeResult(
            asset_key=asset_key(spec.name), metadata={"dagster/row_count": rows, **planned.get(spec, {})}
        )
    raise_failed(context, RunResults(problems=results.problems, halts=results.halts))


def _school_metadata(results: DiscoveryResults, new: Mapping[str, int]) -> dict[str, Any]:
    return {
        "schools": len(results.semesters),
        "semesters": _total(results.semesters),
        "new partitions": new[SCHOOL_SEMESTERS],
        "weeks": _total(results.weeks),
        "new weeks": new[ATTENDANCE_WEEKS],
    }


def _total(by_school: Mapping[int, Sequence[Any]]) -> int:
    return sum(map(len, by_school.values()))
