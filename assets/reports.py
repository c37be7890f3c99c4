"""The results of reports: one asset, whose partitions are the queries of every report of every school, each
with every combination of its matrix."""

import json
from collections.abc import Collection, Iterator, Sequence

import dagster as dg
import uvloop

from assets.shared.drift_checks import no_drift, report_drift, school_tables_of
from assets.shared.freshness import NIGHTLY
from assets.shared.partitions import REPORT_RESULTS, read_partition_keys, with_key_format
from assets.shared.resource_assets import (
    StepContext,
    asset_key,
    load_assets,
    loaded_whole,
    log_slice,
    platform_runtime,
    raise_failed,
    raw_asset,
    slice_metadata,
)
from campus.registry import REPORT_FIELDS, REPORT_QUERIES
from campus.reports.parameters import ReportRequest
from loading.connection.runtime import cause_of
from loading.reports.load_results import load_results
from loading.reports.plans import METADATA
from loading.reports.tables import Result, results_of
from loading.slices.commit import Loaded
from warehouse.load.logs.writer import batched

RECORDS = dg.AssetKey(["reports", "records"])
FIELDS = asset_key(REPORT_FIELDS.name)


def load_reports(
    context: StepContext, keys: Sequence[str], assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load results of reports into both tables, whose rows come in the same answers."""
    runtime = platform_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)

    def log_result(result: Result, request: ReportRequest, slices: Sequence[Loaded]) -> None:
        params = json.dumps(request.params, ensure_ascii=False)
        described = {"label": request.query.label or "", "parameters": params}
        for loaded in slices:
            is_fields = loaded.spec is REPORT_FIELDS
            metadata = slice_metadata(loaded) | ({} if is_fields else described)
            log_slice(context, loaded, FIELDS if is_fields else RECORDS, [result.key], metadata)

    with batched(runtime.lake):
        results = read_partition_keys(runtime.lake, keys, results_of)
        run = uvloop.run(load_results(runtime, cause, results, log_result))
    new_drift = report_drift(runtime, cause, school_tables_of(run.loaded))
    for asset in sorted(assets):
        is_fields = asset == FIELDS
        slices = (loaded for loaded in run.loaded if (loaded.spec is REPORT_FIELDS) == is_fields)
        yield loaded_whole(asset, slices, run.problems)
        differences = [
            difference for difference in new_drift if (difference.resource == REPORT_FIELDS.name) == is_fields
        ]
        yield no_drift(asset, differences)
    raise_failed(context, run)


report_records = load_assets(
    "load_reports",
    [
        dg.AssetSpec(
            RECORDS,
            deps=[asset_key(spec.name) for spec in METADATA],
            description=with_key_format(
                "Results of the reports that settings name, each as it is today.", REPORT_RESULTS
            ),
            group_name="reports",
            kinds={"deltalake"},
            skippable=True,
            freshness_policy=NIGHTLY,
            partitions_def=REPORT_RESULTS,
            metadata={
                "scope": REPORT_FIELDS.scopes[0],
                "slice": "one query of a school's report, with one combination of its matrix",
            },
        ),
        raw_asset(REPORT_FIELDS, "reports", [asset_key(REPORT_QUERIES.name)], REPORT_RESULTS),
    ],
    load_reports,
    "Load the results of the run.",
)
