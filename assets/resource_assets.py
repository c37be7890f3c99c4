"""Assets of the platform's resources: one asset a resource, in the order that the interface recommends.

All of a group are one step of one run: a step would cost seconds for each, and inside one step a failed slice
is noted while the others go on. What loaded is recorded partition by partition as it commits.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import dagster as dg
import uvloop

from assets.dagster_private import FailureInWords
from assets.drift_checks import NO_DRIFT, no_drift, no_drift_spec, sources_of, tell_drift
from assets.freshness import NIGHTLY
from assets.partitions import asked_for, read_as
from campus.contracts.fields import fields
from campus.http.errors import PlatformUnavailable
from campus.registry import SCHOOLS, SEMESTERS, V1_SEMESTERS, ResourceSpec
from loading.commit import Loaded, in_words
from loading.load_school import load_school
from loading.load_slice import Loader
from loading.names import Names, names_of
from loading.outage import connected
from loading.partition_keys import partitions_of, semesters_by_school
from loading.pushes.misses import measure_misses
from loading.runtime import Cause, Runtime, cause_of, with_listener
from loading.tables import TABLES
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import DRIFT
from warehouse.load.drift import latest
from warehouse.load.load_log import committed
from warehouse.load.log_writer import batched, standing_rows

LOADED_WHOLE = "loaded_whole"
#: Slices that a check names which was executed by itself.
MOST_TOLD = 50
# On a run that ended as nothing more could be read of the platform.
HALTED_TAG = "campus/halted"
#: After its count, says that slices have failed. `pipelines.nights.failed_runs` looks for it.
SLICES_FAILED = "failed; rows of earlier loads stay."

#: What a load tells Dagster its outcome by: a step of assets, or one of a school's night.
StepContext = dg.AssetExecutionContext | dg.OpExecutionContext
#: Loads partitions of some assets, these keys of these assets; gives what its checks found, and ends with
#: dagster.Failure where a slice has failed.
LoadStep = Callable[[StepContext, Sequence[str], Collection[dg.AssetKey]], Iterator[dg.AssetCheckResult]]


def is_halted(tags: Mapping[str, str]) -> bool:
    """Whether a run has ended as nothing more could be read of the platform."""
    return tags.get(HALTED_TAG) == "true"


def asset_key(name: str) -> dg.AssetKey:
    """The asset of a raw table; dbt's sources have the same key."""
    return dg.AssetKey(["raw", name])


def resource_assets(
    name: str,
    group: str,
    specs: Sequence[ResourceSpec],
    partitions: dg.PartitionsDefinition,
    load_step: LoadStep,
    after: Mapping[str, Sequence[str]] | None = None,
) -> dg.AssetsDefinition:
    """The assets of some resources, loaded together by `load_step` for any schools and semesters. `after`: by
    resource, those that are read before it."""

    @dg.multi_asset(
        name=name,
        specs=[_asset_spec(spec, group, partitions, (after or {}).get(spec.name, ())) for spec in specs],
        check_specs=[check(asset_key(spec.name)) for spec in specs for check in (whole_spec, no_drift_spec)],
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={"campus"},
        pool="platform",
    )
    def load(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
        yield from load_or_check(context, load_step)

    return load


def load_or_check(context: dg.AssetExecutionContext, load_step: LoadStep) -> Iterator[dg.AssetCheckResult]:
    """Load the partitions of a run. A run of checks alone has none: it says what the last loads found."""
    if context.selected_asset_keys:
        yield from load_step(context, context.partition_keys, context.selected_asset_keys)
        return
    lake = context.resources.campus.lake
    stand, drift = standing_rows(lake), latest(lake) if lake.holds(DRIFT) else []
    for check in sorted(context.selected_asset_check_keys):
        asset = check.asset_key
        if check.name == NO_DRIFT:
            yield no_drift(asset, [one for one in drift if _is_of(one.resource, asset)])
        else:
            yield _as_it_stands(asset, (row for row in stand if _is_of(row["resource"], asset)))


def _is_of(resource: str, asset: dg.AssetKey) -> bool:
    """Whether a table of the lake is of an asset: one of raw, or all datasets, or all results of reports."""
    folder, name = asset.path
    return resource == name if folder == "raw" else resource.startswith(f"{folder}.")


def _as_it_stands(asset: dg.AssetKey, rows: Iterable[Mapping[str, Any]]) -> dg.AssetCheckResult:
    """The check `loaded_whole` by the last attempt of each slice. rows: its standings."""
    slices = list(rows)
    troubled = {
        f"{row['resource']} {row['slice']}": row["status"]
        for row in slices
        if row["status"] in ("failed", "warning") and not row["retired"]
    }
    failed = not slices or "failed" in troubled.values()
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOADED_WHOLE,
        passed=bool(slices) and not troubled,
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        description="" if slices else "Nothing of it was loaded yet.",
        metadata={"slices": len(slices), **dict(list(troubled.items())[:MOST_TOLD])},
    )


def load_resources(
    specs: Sequence[ResourceSpec],
    context: StepContext,
    keys: Sequence[str],
    assets: Collection[dg.AssetKey],
) -> Iterator[dg.AssetCheckResult]:
    """Load semesters of schools: those of `specs` that are among the assets."""
    runtime = asking_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    selected = [spec for spec in specs if asset_key(spec.name) in assets]
    with batched(runtime.lake):
        loaded, halts = uvloop.run(_load_all(context, runtime, cause, keys, selected))
    try:
        measure_misses(runtime, cause, loaded)
    except sqlite3.Error as error:
        context.log.warning(f"what pushes have missed was not measured, as the inbox is damaged: {error}")
    began = tell_drift(runtime, cause, sources_of(loaded))
    for spec in selected:
        asset = asset_key(spec.name)
        yield loaded_whole(asset, (one for one in loaded if one.spec.name == spec.name))
        yield no_drift(asset, [one for one in began if one.resource == spec.name])
    raise_failed(context, loaded, halts=halts)


def asking_runtime(context: StepContext) -> Runtime:
    """The runtime of a step that asks the platform, with somebody who listens.

    Raises dagster.Failure where the settings name no platform; no further runs are started then."""
    runtime: Runtime = context.resources.campus
    if runtime.no_platform:
        raise_failed(context, halts=[PlatformUnavailable(runtime.no_platform)])
    return with_listener(runtime, context.log)


def raise_failed(
    context: StepContext,
    loaded: Sequence[Loaded] = (),
    problems: Sequence[str] = (),
    halts: Sequence[PlatformUnavailable] = (),
) -> None:
    """End the run as failed where a slice has, saying which and why. `problems`: what else went wrong.
    `halts`: why schools, or the whole run, were read no further; the run is tagged with the latter, so that
    no further ones are started for the same reason."""
    failed = [one for one in loaded if one.status == "failed"]
    words = [f"{len(failed)} {SLICES_FAILED}\n{in_words(failed)}"] if failed else []
    if any(halt.school_id is None for halt in halts):
        context.instance.add_run_tags(context.run.run_id, {HALTED_TAG: "true"})
    if halts or problems or failed:
        lines = dict.fromkeys([*map(str, halts), *problems, *words])
        raise FailureInWords("\n".join(lines))


def _asset_spec(
    spec: ResourceSpec, group: str, partitions: dg.PartitionsDefinition, after: Sequence[str]
) -> dg.AssetSpec:
    semesters = V1_SEMESTERS if spec.is_v1 else SEMESTERS
    first = SCHOOLS if spec.lists_semesters else semesters
    parent = spec.embedded_in or spec.child_of
    names = [*after, parent] if parent else after or [first.name]
    return raw_asset(spec, group, [asset_key(name) for name in dict.fromkeys(names)], partitions)


def raw_asset(
    spec: ResourceSpec,
    group: str,
    deps: Iterable[dg.AssetKey | dg.AssetDep],
    partitions: dg.PartitionsDefinition | None = None,
    freshness: dg.FreshnessPolicy | None = NIGHTLY,
) -> dg.AssetSpec:
    """The asset of a resource's raw table. `freshness`: how old it may be."""
    return dg.AssetSpec(
        asset_key(spec.name),
        deps=deps,
        description=read_as(TABLES[spec.name].comment, partitions)
        if partitions
        else TABLES[spec.name].comment,
        group_name=group,
        kinds={"deltalake"},
        skippable=True,
        partitions_def=partitions,
        freshness_policy=freshness,
        metadata=_of_resource(spec),
    )


def _of_resource(spec: ResourceSpec) -> dict[str, object]:
    """What the UI shows of a resource's asset."""
    columns = [dg.TableColumn(f.name, str(f.arrow_type), f.description) for f in fields(spec.contract)]
    return {
        "dagster/column_schema": dg.TableSchema(columns),
        "path": spec.path,
        "scope": " or ".join(spec.scopes) or "none",
        "slice": f"one {spec.sliced_by}",
    }


async def _load_all(
    context: StepContext,
    runtime: Runtime,
    cause: Cause,
    keys: Sequence[str],
    selected: Sequence[ResourceSpec],
) -> tuple[list[Loaded], list[PlatformUnavailable]]:
    """The outcome of each slice, and why schools, or all of them, were read no further."""
    loaded: list[Loaded] = []
    halts: list[PlatformUnavailable] = []
    asked = asked_for(runtime.lake, keys, semesters_by_school)
    done = committed(runtime.lake, cause.sync_id, asked)
    scopes = [spec.scopes for spec in selected if spec.scopes]
    async with connected(runtime, scopes) as client:
        loader = Loader(runtime, client, cause, done)
        for school_id, semesters in asked.items():
            try:
                async for one in load_school(loader, school_id, semesters, selected):
                    record(context, one, semesters)
                    loaded.append(one)
            except PlatformUnavailable as halt:
                halts.append(halt)
            if client.health.down:
                break
    return loaded, halts


def record(
    context: StepContext,
    one: Loaded,
    semesters: Sequence[int] = (),
    more: Mapping[str, str | int] | None = None,
) -> None:
    """Tell Dagster the outcome of a slice, as soon as it is committed. `semesters`: those that a slice of a
    whole school counts for; `more`: what else is worth knowing of it."""
    metadata = {**described(one), **(more or {})}
    materialized(context, one, asset_key(one.spec.name), partitions_of(one.slice, semesters), metadata)


def materialized(
    context: StepContext,
    one: Loaded,
    asset: dg.AssetKey,
    partitions: Iterable[str],
    metadata: Mapping[str, str | int],
) -> None:
    """Log the outcome of a slice, and unless it failed, that it made these partitions of an asset."""
    label = f"{one.spec.name} {one.slice}"
    if one.status == "failed":
        context.log.error(f"{label} failed: {one.message}")
        return
    context.log.info(f"{label}: {one.status} {one.message}".rstrip())
    names = _names(context.resources.campus.lake, cause_of(context.run.run_id, context.run.tags).sync_id)
    for partition in partitions:
        shown = {**names.of_partition(partition, is_v1=one.spec.is_v1), **metadata}
        context.log_event(dg.AssetMaterialization(asset, partition=partition, metadata=shown))


@lru_cache(maxsize=1)
def _names(lake: Lake, sync_id: str) -> Names:
    """What schools and semesters are called, which the keys of partitions do not say; read once a night, as
    the discovery has found them."""
    return names_of(lake)


def described(one: Loaded) -> dict[str, str | int]:
    """What Dagster shows of a loaded slice. One that took no request has nothing to say of its traffic."""
    traffic = one.traffic if one.traffic and one.traffic["requests"] else {}
    if one.outcome is None:
        counted = {} if one.alive is None else {"dagster/partition_row_count": one.alive}
        return {"status": one.message, **counted, **traffic}
    tally = one.outcome.counts
    counts = {
        "dagster/partition_row_count": tally.are_alive,
        "received": one.outcome.received,
        "new": tally.new,
        "changed": tally.changed,
        "vanished": tally.vanished,
        "returned": tally.returned,
        "quarantined": one.outcome.quarantined,
        **traffic,
        "rows/s": round(one.outcome.received / one.seconds) if one.seconds else 0,
    }
    return {
        "status": one.status,
        **counts,
    }


def whole_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """What is said of the check `loaded_whole` of an asset."""
    return dg.AssetCheckSpec(
        LOADED_WHOLE,
        asset=asset,
        description="Every slice of the run loaded, nothing failed and nothing is in quarantine. Executed by "
        "itself it loads nothing, and goes by the last load of each slice.",
    )


def loaded_whole(
    asset: dg.AssetKey, loaded: Iterable[Loaded], problems: Sequence[str] = ()
) -> dg.AssetCheckResult:
    """The check that every slice of an asset loaded whole. `problems`: why some could not be asked for."""
    troubled = [one for one in loaded if one.status in ("failed", "warning")]
    failed = problems or any(one.status == "failed" for one in troubled)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOADED_WHOLE,
        passed=not troubled and not problems,
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        metadata={f"{one.spec.name} {one.slice}": one.message for one in troubled},
    )
