"""Kinds of loads: assets of the platform's resources, which one step loads together.

A step per asset would cost seconds each, and within one step the other slices go on after a failed slice.
Each partition is logged as materialized when it commits.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

import dagster as dg
import uvloop

from assets.shared.dagster_private import CHOSEN_ASSETS, MessageFailure
from assets.shared.partitions import read_partition_keys, with_key_format
from campus.contracts.fields import fields
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event
from campus.registry import RESOURCES, ResourceSpec
from loading.connection.runtime import Runtime, cause_of, with_listener
from loading.names import Names, names_of
from loading.partition_keys import keys_by_school, partitions_of, school_of
from loading.pushes.misses import measure_misses
from loading.slices.commit import Loaded, RunResults, in_words
from loading.slices.loader import Loader, Plan, load_planned
from loading.tables import TABLES
from warehouse.age import STALE
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import DRIFT
from warehouse.load.logs.drift import Difference, SchoolTable, in_lines, latest_drift, record_drift
from warehouse.load.logs.load_log import traffic
from warehouse.load.logs.writer import batched, standing_rows
from warehouse.load.slice_reading import Cause

LOADED_WHOLE = "loaded_whole"
#: The name of the asset of all datasets, and of that of all results of reports.
RECORDS = "records"
P = TypeVar("P")
#: The slices that a check without a load names at most.
MAX_SLICES = 50
# On a run that ended since the platform could not be read any further.
HALTED_TAG = "campus/halted"
#: Follows the number of failed slices in a run's failure. `pipelines.nights.failed_runs` looks for it.
SLICES_FAILED = "failed; their rows stay as they were."

NO_DRIFT = "no_drift"
#: The checks of each asset, by name.
CHECKS = {
    LOADED_WHOLE: "Every slice of the run loaded, nothing failed and nothing is in quarantine. Executed by "
    "itself, it loads nothing and reports the last load of each slice.",
    NO_DRIFT: "This sync found no new difference from the contract, besides fields and values that the "
    "contract does not name and that came with the first load. quality.differences lists all present "
    "differences.",
}
#: For assets that every night makes, even without changes. Attendance has no policy, since holidays have no
#: weeks. The models and campus.duckdb have none, since they are made only after changes.
NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=STALE)

#: The context of a load: a step of assets, or a step of a school's night.
StepContext = dg.AssetExecutionContext | dg.OpExecutionContext


@dataclass(frozen=True)
class Kind(Generic[P]):
    """A kind of load: assets that are loaded together, in a run of their own or in a school's night."""

    #: Of the job, and of the group of assets.
    name: str
    description: str
    partitions: dg.DynamicPartitionsDefinition
    asset_specs: tuple[dg.AssetSpec, ...]
    #: Parses the keys of partitions. Raises UnknownPartition.
    parse: Callable[[Iterable[str]], P]
    #: Plans partitions.
    plan: Callable[[Loader, P], Plan]
    #: The scopes of its requests. None: those of the resources of its assets.
    scopes: tuple[tuple[str, ...], ...] | None = None
    #: Loads from files, and sends no requests to the platform.
    is_local: bool = False

    @cached_property
    def assets(self) -> dg.AssetsDefinition:
        """The assets, each with the checks that it is whole and has not drifted."""

        @dg.multi_asset(
            name=f"load_{self.name}",
            description=self.description,
            specs=self.asset_specs,
            check_specs=[
                dg.AssetCheckSpec(name, asset=spec.key, description=description)
                for spec in self.asset_specs
                for name, description in CHECKS.items()
            ],
            can_subset=len(self.asset_specs) > 1,
            backfill_policy=dg.BackfillPolicy.single_run(),
            required_resource_keys={"campus"},
            pool="platform",
        )
        def load(
            context: dg.AssetExecutionContext,
        ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]:
            # A run of checks alone loads nothing, and reports the last loads.
            if context.selected_asset_keys:
                yield from load_partitions(self, context, context.partition_keys, context.selected_asset_keys)
                if context.job_name == CHOSEN_ASSETS:
                    _log_partitions_without_rows(context)
                yield from _outputs_for_other_steps(context)
            else:
                yield from _last_checks(context)

        return load

    def keys(self, instance: dg.DagsterInstance, schools: Collection[int] | None) -> list[str]:
        """The existing partitions of these schools; None or empty: of all schools."""
        keys = instance.get_dynamic_partitions(self.partitions.name or "")
        return [key for key in keys if not schools or school_of(key) in schools]


def load_partitions(
    kind: Kind[P], context: StepContext, keys: Sequence[str], assets: Collection[dg.AssetKey]
) -> Iterator[dg.AssetCheckResult]:
    """Load partitions of some assets of a kind, and yield the results of their checks.

    Raises dagster.Failure where a slice has failed."""
    runtime: Runtime = context.resources.campus if kind.is_local else platform_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    partitions = read_partition_keys(runtime.lake, keys, kind.parse)
    by_school = keys_by_school(keys)

    def report(loaded: Loaded) -> None:
        of_school = loaded.partitions or by_school[loaded.slice.school_id]
        log_slice(context, loaded, partitions_of(loaded.slice, of_school))

    resources = [spec for spec in RESOURCES.values() if asset_key(spec.name) in assets]
    scopes = kind.scopes or [spec.scopes for spec in resources if spec.scopes]
    with batched(runtime.lake):
        run = uvloop.run(
            load_planned(
                runtime,
                cause,
                kind.plan,
                partitions,
                report,
                schools=by_school,
                resources=resources,
                scopes=None if kind.is_local else scopes,
            )
        )
    try:
        measure_misses(runtime, cause, run.loaded)
    except sqlite3.Error as error:
        context.log.warning(f"what pushes have missed was not measured, as the inbox is damaged: {error}")
    # A file has no columns but those of its contract.
    new_drift = [] if kind.is_local else report_drift(runtime, cause, school_tables_of(run.loaded))
    for asset in sorted(assets):
        loaded = [result for result in run.loaded if _belongs_to(result.spec.name, asset)]
        differences = [difference for difference in new_drift if _belongs_to(difference.resource, asset)]
        yield loaded_whole(asset, loaded, run.problems)
        yield no_drift(asset, differences)
    raise_failed(context, run)


def is_halted(tags: Mapping[str, str]) -> bool:
    """Whether a run ended since the platform could not be read any further."""
    return tags.get(HALTED_TAG) == "true"


def asset_key(name: str) -> dg.AssetKey:
    """The asset of a raw table. Models name the table by the same key."""
    return dg.AssetKey(["raw", name])


def _outputs_for_other_steps(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    """An output of each asset that another step of the run waits for, where a person chose both.

    Dagster skips a step in silence if an output is lacking. Other assets have only events, since an output
    costs more."""
    of_other_steps = set(context.run.asset_selection or ()) - context.assets_def.keys
    graph = context.job_def.asset_layer.asset_graph
    for key in sorted(context.selected_asset_keys):
        if graph.get(key).child_keys & of_other_steps:
            yield dg.MaterializeResult(asset_key=key)


def _log_partitions_without_rows(context: dg.AssetExecutionContext) -> None:
    """Log the partitions that a person chose and that had nothing to load, such as weeks to come. A backfill
    takes what a good run does not materialize for failed."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION}
    events = [entry.dagster_event for entry in context.instance.all_logs(context.run.run_id, of_type=kinds)]
    logged = {(event.asset_key, event.partition) for event in events if event}
    for asset in sorted(context.selected_asset_keys):
        for partition in context.partition_keys:
            if (asset, partition) not in logged:
                metadata = {"status": "nothing to load"}
                context.log_event(dg.AssetMaterialization(asset, partition=partition, metadata=metadata))


def _last_checks(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    lake = context.resources.campus.lake
    standings, drift = standing_rows(lake), latest_drift(lake) if lake.holds(DRIFT) else []
    for check in sorted(context.selected_asset_check_keys):
        asset = check.asset_key
        if check.name == NO_DRIFT:
            differences = [difference for difference in drift if _belongs_to(difference.resource, asset)]
            yield no_drift(asset, differences)
        else:
            rows = [row for row in standings if _belongs_to(row["resource"], asset)]
            yield _last_loaded_whole(asset, rows)


def _belongs_to(resource: str, asset: dg.AssetKey) -> bool:
    return asset_of(resource) == asset


def _last_loaded_whole(asset: dg.AssetKey, rows: Sequence[Mapping[str, Any]]) -> dg.AssetCheckResult:
    """The check `loaded_whole` by the last load of each slice. `rows`: the standings of the slices."""
    incomplete = {
        f"{row['resource']} {row['slice']}": row["status"]
        for row in rows
        if row["status"] in ("failed", "warning") and not row["retired"]
    }
    failed = not rows or "failed" in incomplete.values()
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOADED_WHOLE,
        passed=bool(rows) and not incomplete,
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        description="" if rows else "Nothing of it was loaded yet.",
        metadata={"slices": len(rows), **dict(list(incomplete.items())[:MAX_SLICES])},
    )


def platform_runtime(context: StepContext) -> Runtime:
    """The runtime of a step that sends requests to the platform, with a listener.

    Raises dagster.Failure where the settings name no platform. Further runs are not started then."""
    runtime: Runtime = context.resources.campus
    if runtime.no_platform:
        raise_failed(context, RunResults(halts=[PlatformUnavailable(runtime.no_platform)]))
    return with_listener(runtime, context.log)


def raise_failed(context: StepContext, run: RunResults) -> None:
    """Fail the run if a slice failed, and name the slices and reasons. A halt of all schools tags the run, so
    that no further runs are started for the same reason.

    Raises dagster.Failure."""
    failed = [loaded for loaded in run.loaded if loaded.status == "failed"]
    messages = [f"{len(failed)} {SLICES_FAILED}\n{in_words(failed)}"] if failed else []
    if any(halt.school_id is None for halt in run.halts):
        context.instance.add_run_tags(context.run.run_id, {HALTED_TAG: "true"})
    lines = dict.fromkeys([*map(str, run.halts), *run.problems, *messages])
    if lines:
        raise MessageFailure("\n".join(lines))


def raw_asset(
    spec: ResourceSpec,
    group: str,
    deps: Iterable[dg.AssetKey | dg.AssetDep],
    partitions: dg.PartitionsDefinition | None = None,
    freshness: dg.FreshnessPolicy | None = NIGHTLY,
) -> dg.AssetSpec:
    """The asset of a resource's raw table. `freshness`: its greatest age."""
    comment = TABLES[spec.name].comment
    columns = [dg.TableColumn(f.name, str(f.arrow_type), f.description) for f in fields(spec.contract)]
    return dg.AssetSpec(
        asset_key(spec.name),
        deps=deps,
        description=with_key_format(comment, partitions) if partitions else comment,
        group_name=group,
        kinds={"deltalake"},
        skippable=True,
        partitions_def=partitions,
        freshness_policy=freshness,
        metadata={
            "dagster/column_schema": dg.TableSchema(columns),
            "path": spec.path,
            "scope": " or ".join(spec.scopes) or "none",
            "slice": f"one {spec.sliced_by}",
        },
    )


def log_slice(context: StepContext, loaded: Loaded, partitions: Iterable[str]) -> None:
    """Log the outcome of a slice to Dagster, as soon as the slice is committed. Unless the slice failed, log
    partitions of its asset as materialized."""
    label = f"{loaded.spec.name} {loaded.slice}"
    if loaded.status == "failed":
        context.log.error(f"{label} failed: {loaded.message}")
        return
    context.log.info(f"{label}: {loaded.status} {loaded.message}".rstrip())
    names = _names(context.resources.campus.lake, cause_of(context.run.run_id, context.run.tags).sync_id)
    for partition in partitions:
        metadata = {**names.of_partition(partition, is_v1=loaded.spec.is_v1), **slice_metadata(loaded)}
        context.log_event(
            dg.AssetMaterialization(asset_of(loaded.spec.name), partition=partition, metadata=metadata)
        )


def asset_of(resource: str) -> dg.AssetKey:
    """The asset that contains a lake table: a table of raw, or all datasets, or all results of reports."""
    folder, dot, _ = resource.partition(".")
    return dg.AssetKey([folder, RECORDS]) if dot else asset_key(resource)


@lru_cache(maxsize=1)
def _names(lake: Lake, sync_id: str) -> Names:
    """The names of schools and semesters. Read once a night, after the discovery has loaded them."""
    return names_of(lake)


def slice_metadata(loaded: Loaded) -> dict[str, str | int]:
    """The metadata of a loaded slice in Dagster. A slice without requests has no traffic."""
    counts_of_requests = traffic(loaded.tally) if loaded.tally and loaded.tally.requests else {}
    if loaded.outcome is None:
        row_count = {} if loaded.alive is None else {"dagster/partition_row_count": loaded.alive}
        return {"status": loaded.message, **row_count, **counts_of_requests, **loaded.metadata}
    counts = loaded.outcome.counts
    return {
        "status": loaded.status,
        "dagster/partition_row_count": counts.are_alive,
        "received": loaded.outcome.received,
        "new": counts.new,
        "changed": counts.changed,
        "vanished": counts.vanished,
        "returned": counts.returned,
        "quarantined": loaded.outcome.quarantined,
        **counts_of_requests,
        "rows/s": round(loaded.outcome.received / loaded.seconds) if loaded.seconds else 0,
        **loaded.metadata,
    }


def loaded_whole(
    asset: dg.AssetKey, loaded: Iterable[Loaded], problems: Sequence[str] = ()
) -> dg.AssetCheckResult:
    """The check that every slice of an asset loaded whole. `problems`: why some could not be requested."""
    incomplete = [result for result in loaded if result.status in ("failed", "warning")]
    failed = problems or any(result.status == "failed" for result in incomplete)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOADED_WHOLE,
        passed=not incomplete and not problems,
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        metadata={f"{result.spec.name} {result.slice}": result.message for result in incomplete},
    )


def report_drift(runtime: Runtime, cause: Cause, tables: Iterable[SchoolTable]) -> list[Difference]:
    """Record the drift of tables that a run has loaded. Reports and returns the new differences."""
    new_drift = record_drift(runtime.lake, set(tables), cause.sync_id, cause.started_at)
    for line in in_lines(new_drift):
        runtime.notify(Event("drift", line))
    return new_drift


def school_tables_of(results: Iterable[Loaded]) -> set[SchoolTable]:
    """The tables, by school, to which a run has committed rows."""
    return {(loaded.spec.name, loaded.slice.school_id) for loaded in results if loaded.outcome is not None}


def no_drift(asset: dg.AssetKey, new_drift: Sequence[Difference]) -> dg.AssetCheckResult:
    """The result of the check `no_drift` of an asset."""
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=NO_DRIFT,
        passed=all(difference.is_expected for difference in new_drift),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"new": dg.MetadataValue.text("\n".join(in_lines(new_drift)))} if new_drift else {},
    )
