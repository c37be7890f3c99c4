"""The files that a school keeps itself: its log of talks and measures."""

from collections.abc import Collection, Iterator, Sequence

import dagster as dg

from assets.shared.drift_checks import no_drift
from assets.shared.partitions import SCHOOL_SEMESTERS, read_partition_keys
from assets.shared.resource_assets import (
    StepContext,
    asset_key,
    load_assets,
    loaded_whole,
    log_resource,
    raise_failed,
    raw_asset,
)
from campus.registry import INTERVENTIONS
from loading.connection.runtime import Runtime, cause_of
from loading.inputs import STUDENTS, load_inputs, misplaced_files
from loading.partition_keys import semesters_by_school
from loading.run_results import RunResults
from warehouse.load.logs.writer import batched

KEY = asset_key(INTERVENTIONS.name)


def load_school_inputs(
    context: StepContext, keys: Sequence[str], _assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load the files of schools. A school without a file has nothing to load."""
    runtime: Runtime = context.resources.campus
    cause = cause_of(context.run.run_id, context.run.tags)
    run = RunResults(problems=misplaced_files(runtime.home))
    with batched(runtime.lake):
        for school_id, semesters in read_partition_keys(runtime.lake, keys, semesters_by_school).items():
            loaded = load_inputs(runtime, cause, school_id)
            if loaded is not None:
                log_resource(context, loaded, semesters)
                run.loaded.append(loaded)
    yield loaded_whole(KEY, run.loaded, run.problems)
    # A file has no columns but those of its contract.
    yield no_drift(KEY, [])
    raise_failed(context, run)


inputs = load_assets(
    "load_inputs",
    [raw_asset(INTERVENTIONS, "inputs", [asset_key(STUDENTS.name)], SCHOOL_SEMESTERS, freshness=None)],
    load_school_inputs,
    "Load the files of the run's schools.",
)
