"""Ticks of the sensor that asks for the loads of a night, and the runs that it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.shared.dagster_private import show_on_timeline
from loading.connection.runtime import SYNC_ID_TAG
from pipelines.automation.nightly import SEPARATOR, loads_after_discovery
from pipelines.nights.school_night import STEPS
from pipelines.runs.jobs import DISCOVERY, SCHOOL_NIGHT
from pipelines.runs.partition_selection import SCHOOLS_TAG
from pipelines.settings.settings import Settings
from tests.kits.worlds.world import World

#: Where the sensor stands that has looked once, before anything was discovered.
LOOKED = f"{SEPARATOR}all"


@dataclass(frozen=True)
class Tick:
    """What one look of the sensor gives."""

    requests: Sequence[dg.RunRequest]
    skipped: str | None
    cursor: str | None

    @property
    def schools(self) -> list[int]:
        """The schools that are asked for."""
        return [int(school) for request in self.requests for school in request.tags[SCHOOLS_TAG].split(",")]

    def partitions(self, job: str) -> list[list[str]]:
        """Which partitions of a load each run is asked for."""
        [step] = [name for name, load in STEPS.items() if load.name == job]
        return [request.run_config["ops"][step]["config"]["partitions"] for request in self.requests]


def tick(settings: Settings, instance: dg.DagsterInstance, cursor: str | None = LOOKED) -> Tick:
    """Let the sensor look, standing at this cursor."""
    sensor = loads_after_discovery(settings, DISCOVERY)
    result = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor))
    return Tick(result.run_requests or [], result.skip_message, result.cursor)


def ended_discovery(
    instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None, *, failed: bool = False
) -> dg.DagsterRun:
    """A discovery that has ended, and has found nothing."""

    @dg.op
    def found() -> None:
        if failed:
            raise dg.Failure("as it happens")

    @dg.job(name=DISCOVERY)
    def job() -> None:
        found()

    run_id = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False).run_id
    show_on_timeline(instance, run_id)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run


def carry_out(world: World, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """Make the run that is asked for, as Dagster's daemon would."""
    _, definitions = world.opened_as_is()
    return definitions.resolve_job_def(SCHOOL_NIGHT).execute_in_process(
        run_config=request.run_config, tags=request.tags, instance=world.instance, raise_on_error=False
    )


def cause_of_tick(outcome: Tick) -> str:
    """The one cause of all that is asked for."""
    [cause] = {request.tags[SYNC_ID_TAG] for request in outcome.requests}
    return cause
