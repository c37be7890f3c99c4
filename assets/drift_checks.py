"""What is said about drift: to who listens to a run, and as a check of each asset."""

from collections.abc import Iterable, Sequence

import dagster as dg

from campus.http.events import Event
from loading.commit import Loaded
from loading.runtime import Cause, Runtime
from warehouse.load.drift import Difference, Source, in_lines, record_drift

NO_DRIFT = "no_drift"


def tell_drift(runtime: Runtime, cause: Cause, sources: Iterable[Source]) -> list[Difference]:
    """Settle what these resources of these schools departed by in this run, and tell what is new."""
    began = record_drift(runtime.lake, set(sources), cause.sync_id, cause.started_at)
    for line in in_lines(began):
        if runtime.listener:
            runtime.listener(Event("drift", line))
    return began


def sources_of(loaded: Iterable[Loaded]) -> set[Source]:
    """The resources and schools of which a run has read something."""
    return {(one.spec.name, one.slice.school_id) for one in loaded if one.outcome is not None}


def no_drift_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """What is said of the check `no_drift` of an asset."""
    return dg.AssetCheckSpec(
        NO_DRIFT,
        asset=asset,
        description="What the platform sends departs from the contract in no way that it did not at the last "
        "sync. All that stands is in quality.differences.",
    )


def no_drift(asset: dg.AssetKey, began: Sequence[Difference]) -> dg.AssetCheckResult:
    """The check that nothing of an asset drifted. `began`: what of it did."""
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=NO_DRIFT,
        passed=not began,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"new": dg.MetadataValue.text("\n".join(in_lines(began)))} if began else {},
    )
