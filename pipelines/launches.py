"""Who has launched a run: a tag that each has, by what the instance knows of it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Self

import dagster as dg

from assets.resource_assets import HALTED_TAG
from pipelines.district.queues import AGAIN_TAG, BUILD, PLATFORM_TAG, QUEUE_TAG, TASK_TAG
from pipelines.interrupted import NEVER_STARTED_TAG, PROCESS_TAG

LAUNCHER_TAG = "campus/launched_by"
#: How the tag begins where a command has launched the run. Nothing follows such a run by itself: the command
#: does what does.
COMMAND = "campus "
#: On a run that reads a file for the platform: the file needs no other run.
FINAL_TAG = "campus/final"
#: What is true of one run alone, and what another try of it says instead.
OF_ONE_RUN = {
    PROCESS_TAG: "",
    HALTED_TAG: "",
    FINAL_TAG: "",
    TASK_TAG: "",
    NEVER_STARTED_TAG: "",
    AGAIN_TAG: "false",
}
A_PERSON = "a person in the UI"
#: Digits of the greatest id that a storage has.
LONGEST_ID = 18


class NamedLaunches(dg.QueuedRunCoordinator):
    """Dagster's queue, which first notes who has launched a run; what dagster.yaml names as
    `run_coordinator`. Runs of commands do not pass here: they say so themselves.

    `platform`: what runs are counted by that ask it; None: by their pool alone."""

    platform: str | None = None

    def submit_run(self, context: Any) -> dg.DagsterRun:
        """Queue a run."""
        run = context.dagster_run
        launcher = {LAUNCHER_TAG: launcher_of(self._instance, run, is_queued_now=True)}
        self._instance.add_run_tags(run.run_id, launcher | own_tags(run.tags) | self._counted(run.tags))
        return super().submit_run(context)

    def _counted(self, tags: Mapping[str, str]) -> dict[str, str]:
        return {PLATFORM_TAG: self.platform} if self.platform and tags.get(QUEUE_TAG) != BUILD else {}

    @classmethod
    def config_type(cls) -> Any:
        """What dagster.yaml may say of it."""
        inherited: Any = super().config_type()
        return {**inherited, "platform": dg.Field(str, is_required=False)}

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, Any]) -> Self:
        """As Dagster makes it of dagster.yaml."""
        made = super().from_config_value(inst_data, config_value)
        made.platform = config_value.get("platform")
        return made


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """What replaces the tags that a run brings of another one: a run that is executed again has those of the
    run before, whose process and end are not its own."""
    return {name: none for name, none in OF_ONE_RUN.items() if name in tags}


def is_of_a_command(tags: Mapping[str, str]) -> bool:
    """Whether a command has launched the run."""
    return tags.get(LAUNCHER_TAG, "").startswith(COMMAND)


def launcher_of(instance: dg.DagsterInstance, run: dg.DagsterRun, *, is_queued_now: bool = False) -> str:
    """Who has launched a run. A request may set any tag, so a tag only says where to look: the tick, backfill
    or run that it names must exist, and the tick must name the run. is_queued_now: the tick of a schedule
    does not name the run yet."""
    parent_id = run.tags.get("dagster/parent_run_id")
    parent = instance.get_run_by_id(parent_id) if parent_id else None
    if parent is not None:
        by_dagster = parent.tags.get("dagster/auto_retry_run_id") == run.run_id
        return f"{'Dagster' if by_dagster else A_PERSON}, as another try of {parent.run_id[:8]}"
    backfill_id = run.tags.get("dagster/backfill")
    if backfill_id and instance.get_backfill(backfill_id) is not None:
        return f"{A_PERSON}, by the backfill {backfill_id}"
    tick = _tick_of(instance, run, is_queued_now=is_queued_now)
    return A_PERSON if tick is None else f"the {tick.instigator_type.name.lower()} {tick.instigator_name}"


def _tick_of(instance: dg.DagsterInstance, run: dg.DagsterRun, *, is_queued_now: bool) -> Any:
    """The tick of the schedule or sensor that asked for a run; None: there is none."""
    tick_id, storage = run.tags.get("dagster/tick", ""), instance.schedule_storage
    if storage is None or not tick_id.isdecimal() or len(tick_id) > LONGEST_ID:
        return None
    for tick in storage.get_ticks_by_ids([int(tick_id)]):
        if run.run_id in (*tick.run_ids, *(tick.tick_data.reserved_run_ids or ())):
            return tick
        # A sensor reserves the ids of its runs; a schedule's tick gets them once they are in the queue.
        is_open = tick.instigator_type.name == "SCHEDULE" and tick.status.name == "STARTED"
        time = datetime.fromtimestamp(tick.timestamp, UTC).isoformat()
        if is_queued_now and is_open and run.tags.get(".dagster/scheduled_execution_time") == time:
            return tick
    return None
