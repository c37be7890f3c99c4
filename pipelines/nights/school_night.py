"""The job that loads a school at night: one step per load, in sequence. A failed step stops no later step:
the rows in the lake suffice to plan its requests.

The job has steps instead of assets, since the assets have partitions of different kinds. The steps report the
same partitions and checks as the jobs of the assets, which serve backfills."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.loads import ATTENDANCE, INPUTS, LOADS
from assets.shared.dagster_private import log_check
from assets.shared.load_kind import Kind, is_halted, load_partitions
from campus.http.events import Event
from campus.registry import RESOURCES
from loading.attendance.semester import weeks_to_ask
from loading.connection.runtime import FULL_TAG, Runtime
from loading.inputs import has_inputs
from loading.partition_keys import school_of
from pipelines.runs.jobs import SCHOOL_NIGHT
from pipelines.runs.partition_selection import schools_in

#: The loads by their steps. No step needs another step's success, so the UI draws no lines between them, and
#: `campus ui` sorts them by name. The number gives the order.
STEPS = {f"{number}_{load.name}": load for number, load in enumerate(LOADS, 1)}
#: In the metadata of a step: how many partitions it had to load.
PARTITION_COUNT = "partitions"


def school_night() -> dg.JobDefinition:
    """The job that loads the schools in a run's tag, or all schools without the tag."""
    # Dagster orders unconnected steps by priority.
    steps = {name: _step(load, len(LOADS) - place) for place, (name, load) in enumerate(STEPS.items())}

    @dg.job(
        name=SCHOOL_NIGHT,
        description="All that a night loads of a school. The steps run in the order of their numbers; a "
        "failed step stops no later step. To load chosen partitions again, run the job of their assets.",
    )
    def job() -> None:
        for name, step in steps.items():
            step.alias(name)()

    return job


def night_config(
    partitions: Mapping[str, Sequence[str]], assets: Collection[dg.AssetKey] | None = None
) -> dict[str, Any]:
    """The configuration of a run. `partitions`: the keys by load; a load without an entry takes all keys of
    the schools (attendance: all due keys). `assets`: loads only these assets."""
    steps: dict[str, dict[str, Any]] = {name: {} for name in STEPS}
    for name, load in STEPS.items():
        if load.name in partitions:
            steps[name]["partitions"] = list(partitions[load.name])
        if assets is not None:
            chosen = sorted(load.assets.keys & set(assets))
            steps[name]["assets"] = [key.to_user_string() for key in chosen]
    return {"ops": {name: {"config": config} for name, config in steps.items()}}


def _step(load: Kind[Any], priority: int) -> dg.OpDefinition:
    @dg.op(
        # The jobs have the plain names already; in a run the step has its number.
        name=f"night_{load.name}",
        description=load.description,
        pool="platform",
        required_resource_keys={"campus"},
        tags={"dagster/priority": str(priority)},
        config_schema={
            "partitions": dg.Field(
                [str], is_required=False, description="Only these; else all due partitions of the schools."
            ),
            "assets": dg.Field([str], is_required=False, description="Only these; else all."),
        },
    )
    def step(context: dg.OpExecutionContext) -> None:
        assets = _assets(context, load)
        keys = _keys(context, load) if assets else []
        context.add_output_metadata({PARTITION_COUNT: len(keys)})
        if not keys:
            return
        listener = context.resources.campus.listener
        if listener:
            listener(Event("step", load.name, total=_reads(keys, assets)))
        for result in load_partitions(load, context, keys, assets):
            log_check(context, _evaluation(result))
        if listener:
            listener(Event("step", load.name, done=1))

    return step


def _assets(context: dg.OpExecutionContext, load: Kind[Any]) -> set[dg.AssetKey]:
    names = context.op_config.get("assets")
    if names is None:
        return set(load.assets.keys)
    return {dg.AssetKey.from_user_string(name) for name in names}


def _keys(context: dg.OpExecutionContext, load: Kind[Any]) -> Sequence[str]:
    """The partitions that this step loads; none once an earlier step found the platform unavailable."""
    run = context.instance.get_run_by_id(context.run_id)
    if run is not None and is_halted(run.tags):
        context.log.warning("Skipped: an earlier step found the platform unavailable.")
        return []
    runtime: Runtime = context.resources.campus
    tags = context.run.tags
    keys: Sequence[str] | None = context.op_config.get("partitions")
    if keys is None:
        keys = load.keys(context.instance, schools_in(tags) or runtime.school_ids)
        if load.name == ATTENDANCE:
            # Only now, since the earlier steps read which weeks exist.
            keys = weeks_to_ask(runtime, keys, full=tags.get(FULL_TAG) == "true")
    return [] if load.name == INPUTS and not has_inputs(runtime) else keys


def _reads(keys: Sequence[str], assets: Collection[dg.AssetKey]) -> int:
    """The expected number of reads: one per resource of a school or semester, per semester of attendance, and
    per dataset or report."""
    specs = [RESOURCES.get(asset.path[-1]) for asset in assets]
    by_school = sum(spec is not None and spec.sliced_by == "school" for spec in specs)
    by_semester = sum(spec is not None and spec.sliced_by == "semester" for spec in specs)
    if by_school or by_semester:
        return by_school * len({school_of(key) for key in keys}) + by_semester * len(keys)
    return len({key.rpartition(":")[0] for key in keys})


def _evaluation(result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """The result of a check as an event, which a step without assets may log."""
    assert result.asset_key is not None and result.check_name is not None
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        severity=result.severity,
        metadata=result.metadata,
    )
