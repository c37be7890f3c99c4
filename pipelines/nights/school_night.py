"""The run of a school's night: each load is a step, one after the other. None needs another one's success:
what the lake holds is good enough to ask with, so a failure is noted and passed by.

It is a job of steps and not of assets, since those have partitions of different kinds. Its steps tell of the
same partitions and checks as the jobs of the assets, which are there for backfills."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.dagster_private import tell_check
from assets.resource_assets import is_halted
from campus.http.events import Event
from campus.registry import RESOURCES
from loading.attendance.membership_changes import weeks_to_ask
from loading.partition_keys import school_of
from loading.runtime import FULL_TAG, Runtime
from pipelines.due import schools_in
from pipelines.nights.loads import ATTENDANCE, LOADS, Load

SCHOOL_NIGHT = "school_night"
#: The loads by their steps. The number is the order: no step needs another one's success, so that the UI
#: draws no line between them, and sorts them by their names.
STEPS = {f"{number}_{load.job}": load for number, load in enumerate(LOADS, 1)}
#: In the metadata of a step: how many partitions it was to load.
ASKED = "partitions"


def school_night() -> dg.JobDefinition:
    """The job that loads the schools that a run's tag names; without it all."""
    # Dagster takes steps that do not wait for each other by their priority.
    steps = {name: _step(load, len(LOADS) - place) for place, (name, load) in enumerate(STEPS.items())}

    @dg.job(
        name=SCHOOL_NIGHT,
        executor_def=dg.in_process_executor,
        description="All that a night loads of a school. The steps run one after the other, in the order of "
        "their numbers; one that fails holds no other up. To load chosen partitions again, take the job of "
        "their assets.",
    )
    def job() -> None:
        for name, step in steps.items():
            step.alias(name)()

    return job


def night_config(
    partitions: Mapping[str, Sequence[str]], assets: Collection[dg.AssetKey] | None = None
) -> dict[str, Any]:
    """The configuration of a run. `partitions`: by load, where not all of the schools are loaded (of
    attendance, all that is due); `assets`: only these."""
    steps: dict[str, dict[str, Any]] = {name: {} for name in STEPS}
    for name, load in STEPS.items():
        if load.job in partitions:
            steps[name]["partitions"] = list(partitions[load.job])
        if assets is not None:
            chosen = sorted(load.assets.keys & set(assets))
            steps[name]["assets"] = [key.to_user_string() for key in chosen]
    return {"ops": {name: {"config": config} for name, config in steps.items()}}


def _step(load: Load, priority: int) -> dg.OpDefinition:
    @dg.op(
        # No definition may have the name of another one, be it a job's; in a run it has its number.
        name=f"night_{load.job}",
        description=load.description,
        pool="platform",
        required_resource_keys={"campus"},
        tags={"dagster/priority": str(priority)},
        config_schema={
            "partitions": dg.Field(
                [str], is_required=False, description="Only these; else all that are due of the schools."
            ),
            "assets": dg.Field([str], is_required=False, description="Only these; else all."),
        },
    )
    def step(context: dg.OpExecutionContext) -> None:
        assets = _assets(context, load)
        keys = _keys(context, load) if assets else []
        context.add_output_metadata({ASKED: len(keys)})
        if not keys:
            return
        listener = context.resources.campus.listener
        if listener:
            listener(Event("step", load.job, total=_reads(keys, assets)))
        for found in load.step(context, keys, assets):
            tell_check(context, _evaluation(found))
        if listener:
            listener(Event("step", load.job, done=1))

    return step


def _assets(context: dg.OpExecutionContext, load: Load) -> set[dg.AssetKey]:
    named = context.op_config.get("assets")
    if named is None:
        return set(load.assets.keys)
    return {dg.AssetKey.from_user_string(name) for name in named}


def _keys(context: dg.OpExecutionContext, load: Load) -> Sequence[str]:
    """The partitions that this run loads; none once a step before has found that the platform is down."""
    run = context.instance.get_run_by_id(context.run_id)
    if run is not None and is_halted(run.tags):
        context.log.warning("Not asked for, as nothing more can be read of the platform.")
        return []
    runtime: Runtime = context.resources.campus
    tags = context.run.tags
    keys: Sequence[str] | None = context.op_config.get("partitions")
    if keys is None:
        keys = load.keys(context.instance, schools_in(tags) or runtime.school_ids)
        if load.job == ATTENDANCE:
            # Only now, since the steps before have read which weeks there are.
            keys = weeks_to_ask(runtime.lake, runtime.attendance, keys, full=tags.get(FULL_TAG) == "true")
    return keys


def _reads(keys: Sequence[str], assets: Collection[dg.AssetKey]) -> int:
    """How many reads a load is expected to report: one a resource of a school or a semester, one a semester
    of attendance, one a dataset or report."""
    specs = [RESOURCES.get(asset.path[-1]) for asset in assets]
    by_school = sum(spec is not None and spec.sliced_by == "school" for spec in specs)
    by_semester = sum(spec is not None and spec.sliced_by == "semester" for spec in specs)
    if by_school or by_semester:
        return by_school * len({school_of(key) for key in keys}) + by_semester * len(keys)
    return len({key.rpartition(":")[0] for key in keys})


def _evaluation(found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """What a check found, as a step tells it that no assets were planned for."""
    assert found.asset_key is not None and found.check_name is not None
    return dg.AssetCheckEvaluation(
        asset_key=found.asset_key,
        check_name=found.check_name,
        passed=found.passed,
        severity=found.severity,
        metadata=found.metadata,
    )
