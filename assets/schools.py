"""Discovery: finds schools with their semesters, datasets and reports, and with them the partitions."""

from collections.abc import Iterator, Mapping
from itertools import chain

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
from loading.discovery.schools import discover, partition_changes
from loading.names import names_of
from loading.partition_keys import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
    keys_by_school,
    partitions_of,
)
from loading.reports.load_results import METADATA
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
    specs=[_asset_spec(spec) for spec in (SCHOOLS, *DATASET_METADATA, *METADATA)],
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
        runtime.notify(Event("note", note))
    existing = {
        kind.name or "": keys_by_school(instance.get_dynamic_partitions(kind.name or ""))
        for kind in PARTITIONS
    }
    with batched(runtime.lake):
        results = uvloop.run(discover(runtime, cause, existing))
        run, partitions, changes = results.run, results.partitions, partition_changes(results)
        # The retired rows are committed before their partitions go: nothing else remembers the partitions.
        if any(change.removed for change in changes.values()):
            write(runtime.lake)
    for kind, change in changes.items():
        instance.add_dynamic_partitions(kind, change.added)
        for key in change.removed:
            instance.delete_dynamic_partition(kind, key)
    for note in run.notes:
        runtime.notify(Event("note", note))
    datasets = {
        (f"datasets.{plan.table}", plan.school_id)
        for plan in read_plans(runtime.lake)
        if plan.school_id in partitions[DATASET_SEGMENTS]
    }
    drift = in_lines(report_drift(runtime, cause, school_tables_of(run.loaded) | datasets))
    for loaded in run.loaded:
        semesters = partitions[V1_SEMESTERS if loaded.spec.is_v1 else SCHOOL_SEMESTERS]
        keys = partitions_of(loaded.slice, semesters.get(loaded.slice.school_id, ()))
        log_slice(context, loaded, keys if loaded.spec.name in PARTITIONED else ())
    new = {kind: len(change.added) for kind, change in changes.items()}
    total = {kind: sum(map(len, by_school.values())) for kind, by_school in partitions.items()}
    names = partitions_table(
        chain.from_iterable(partitions[SCHOOL_SEMESTERS].values()),
        chain.from_iterable(partitions[V1_SEMESTERS].values()),
        names_of(runtime.lake),
    )
    schools = {
        "schools": len(partitions[SCHOOL_SEMESTERS]),
        "semesters": total[SCHOOL_SEMESTERS],
        "new partitions": new[SCHOOL_SEMESTERS],
        "weeks": total[ATTENDANCE_WEEKS],
        "new weeks": new[ATTENDANCE_WEEKS],
    }
    yield dg.MaterializeResult(asset_key=asset_key(SCHOOLS.name), metadata={**schools, "partitions": names})
    segments: dict[str, str | int] = {
        "segments": total[DATASET_SEGMENTS],
        "new segments": new[DATASET_SEGMENTS],
    }
    if lines := [*run.notes, *drift]:
        segments["notes"] = "\n".join(lines)
    report_results = {"results": total[REPORT_RESULTS], "new results": new[REPORT_RESULTS]}
    planned: dict[ResourceSpec, Mapping[str, str | int]] = {
        DATASETS: segments,
        REPORT_QUERIES: report_results,
    }
    for spec in (*DATASET_METADATA, *METADATA):
        rows = sum(
            loaded.outcome.counts.loaded
            for loaded in run.loaded
            if loaded.spec is spec and loaded.outcome is not None
        )
        yield dg.MaterializeResult(
            asset_key=asset_key(spec.name), metadata={"dagster/row_count": rows, **planned.get(spec, {})}
        )
    raise_failed(context, RunResults(problems=run.problems, halts=run.halts))
