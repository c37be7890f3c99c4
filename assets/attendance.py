"""Attendance: sessions and records, whose partitions are the teaching weeks of semesters.

A night or a sync reads the due weeks: weeks that were never loaded whole, and the sessions of the trailing
window. For students who joined or left a class, it reads the semester again. Weeks that a person chooses, and
all weeks of a full load, are read whole.
"""

from collections.abc import Collection, Iterator, Sequence

import dagster as dg
import uvloop

from assets.shared.drift_checks import no_drift, report_drift, school_tables_of
from assets.shared.partitions import ATTENDANCE_WEEKS, read_partition_keys
from assets.shared.resource_assets import (
    StepContext,
    asset_key,
    load_assets,
    loaded_whole,
    log_resource,
    platform_runtime,
    raise_failed,
    raw_asset,
)
from campus.http.errors import PlatformUnavailable
from campus.registry import ATTENDANCE, ResourceSpec
from loading.attendance.school import PARENTS, SchoolLoader
from loading.connection.outage import connected
from loading.connection.runtime import Runtime, cause_of
from loading.partition_keys import weeks_by_school
from loading.run_results import RunResults
from warehouse.load.logs.load_log import committed
from warehouse.load.logs.writer import batched
from warehouse.load.slice_reading import Cause


def _asset_spec(spec: ResourceSpec) -> dg.AssetSpec:
    # Weeks and semesters are different partitions, and only their keys tell which belong together.
    mapping = dg.AllPartitionMapping()
    deps = [dg.AssetDep(asset_key(parent.name), partition_mapping=mapping) for parent in PARENTS]
    return raw_asset(spec, "attendance", deps, ATTENDANCE_WEEKS, freshness=None)


def load_attendance(
    context: StepContext, keys: Sequence[str], assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load teaching weeks into both tables, whose rows come in the same answers."""
    runtime = platform_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    with batched(runtime.lake):
        run = uvloop.run(_load_all(context, runtime, cause, keys))
    new_drift = report_drift(runtime, cause, school_tables_of(run.loaded))
    for spec in ATTENDANCE:
        asset = asset_key(spec.name)
        if asset in assets:
            yield loaded_whole(asset, (loaded for loaded in run.loaded if loaded.spec is spec))
            yield no_drift(
                asset, [difference for difference in new_drift if difference.resource == spec.name]
            )
    raise_failed(context, run)


async def _load_all(context: StepContext, runtime: Runtime, cause: Cause, keys: Sequence[str]) -> RunResults:
    run = RunResults()
    weeks_of = read_partition_keys(runtime.lake, keys, weeks_by_school)
    done = committed(runtime.lake, cause.sync_id, weeks_of)
    async with connected(runtime, [spec.scopes for spec in ATTENDANCE]) as client:
        for school_id, semesters in weeks_of.items():
            school = SchoolLoader(runtime, client, cause, school_id, done)
            try:
                for semester_id, weeks in semesters.items():
                    async for loaded, metadata in school.load(semester_id, weeks):
                        log_resource(context, loaded, metadata=metadata)
                        run.loaded.append(loaded)
            except PlatformUnavailable as halt:
                run.halts.append(halt)
            if client.health.down:
                break
    return run


attendance = load_assets(
    "load_attendance",
    [_asset_spec(spec) for spec in ATTENDANCE],
    load_attendance,
    "Load the weeks of the run.",
)
