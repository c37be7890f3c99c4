"""Reports new drift to the listener of a run, and as a check of each asset."""

from collections.abc import Iterable, Sequence

import dagster as dg

from campus.http.events import Event
from loading.connection.runtime import Runtime
from loading.slices.commit import Loaded
from warehouse.load.logs.drift import Difference, SchoolTable, in_lines, record_drift
from warehouse.load.slice_reading import Cause

NO_DRIFT = "no_drift"


def report_drift(runtime: Runtime, cause: Cause, tables: Iterable[SchoolTable]) -> list[Difference]:
    """Record the drift of tables that a run has loaded. Reports and returns the new differences."""
    new_drift = record_drift(runtime.lake, set(tables), cause.sync_id, cause.started_at)
    for line in in_lines(new_drift):
        if runtime.listener:
            runtime.listener(Event("drift", line))
    return new_drift


def school_tables_of(results: Iterable[Loaded]) -> set[SchoolTable]:
    """The tables, by school, to which a run has committed rows."""
    return {(loaded.spec.name, loaded.slice.school_id) for loaded in results if loaded.outcome is not None}


def no_drift_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """The spec of the check `no_drift` of an asset."""
    return dg.AssetCheckSpec(
        NO_DRIFT,
        asset=asset,
        description="This sync found no new difference from the contract, besides fields and values that the "
        "contract does not name and that came with the first load. quality.differences lists all present "
        "differences.",
    )


def no_drift(asset: dg.AssetKey, new_drift: Sequence[Difference]) -> dg.AssetCheckResult:
    """The result of the check `no_drift` of an asset."""
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=NO_DRIFT,
        passed=all(difference.is_expected for difference in new_drift),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"new": dg.MetadataValue.text("\n".join(in_lines(new_drift)))} if new_drift else {},
    )
