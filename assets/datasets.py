"""The records of datasets: one asset, whose partitions are the segments of every dataset of every school."""

from collections.abc import Collection, Iterator, Sequence

import dagster as dg
import uvloop

from assets.shared.drift_checks import no_drift, report_drift, school_tables_of
from assets.shared.freshness import NIGHTLY
from assets.shared.partitions import DATASET_SEGMENTS, read_partition_keys, with_key_format
from assets.shared.resource_assets import (
    StepContext,
    load_assets,
    loaded_whole,
    log_slice,
    platform_runtime,
    raise_failed,
)
from campus.registry import DATASETS
from loading.connection.runtime import cause_of
from loading.datasets.load_segments import load_segments
from loading.datasets.loader import LoadedSegment
from loading.partition_keys import segment_key, segments_by_school
from warehouse.load.logs.writer import batched

RECORDS = dg.AssetKey(["datasets", "records"])


def load_datasets(
    context: StepContext, keys: Sequence[str], _assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load segments of datasets."""
    runtime = platform_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)

    def log_segment(segment: LoadedSegment) -> None:
        loaded = segment.loaded
        partition = segment_key(loaded.slice.school_id, segment.table, segment.segment)
        log_slice(context, loaded, RECORDS, [partition], segment.metadata)

    with batched(runtime.lake):
        segments = read_partition_keys(runtime.lake, keys, segments_by_school)
        run = uvloop.run(load_segments(runtime, cause, segments, log_segment))
    yield loaded_whole(RECORDS, run.loaded, run.problems)
    yield no_drift(RECORDS, report_drift(runtime, cause, school_tables_of(run.loaded)))
    raise_failed(context, run)


dataset_records = load_assets(
    "load_datasets",
    [
        dg.AssetSpec(
            RECORDS,
            deps=[dg.AssetKey(["raw", DATASETS.name])],
            description=with_key_format(
                "Records of the platform's datasets, segment by segment of their ids.", DATASET_SEGMENTS
            ),
            group_name="datasets",
            kinds={"deltalake"},
            skippable=True,
            freshness_policy=NIGHTLY,
            partitions_def=DATASET_SEGMENTS,
            metadata={"scope": DATASETS.scopes[0], "slice": "one segment of the ids of a school's dataset"},
        )
    ],
    load_datasets,
    "Load the segments of the run.",
)
