"""Tags each run with its launcher: a person, schedule, sensor or backfill, as the instance can prove."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Self

import dagster as dg

from assets.shared.load_kind import HALTED_TAG
from pipelines.district.queues import BUILD, PLATFORM_TAG, QUEUE_TAG, RETRY_FAILED_STEPS_TAG, TASK_TAG

LAUNCHER_TAG = "campus/launched_by"
#: Tag of a run: the lock file of its process (see writer_locks); empty: it has none yet.
PROCESS_TAG = "campus/process"
#: Tag of a run that never started. No run follows it, unlike a discovery that ran and failed.
NEVER_STARTED_TAG = "campus/never_started"
#: Start of the tag where a command launched the run. No sensor follows up such a run: the command does.
COMMAND = "campus "
#: Tag of a run that reads a file for the platform: the file needs no other run.
FINAL_TAG = "campus/final"
#: Tags that must not be copied to another try of a run, and their values there.
RESET_TAGS = {
    PROCESS_TAG: "",
    HALTED_TAG: "",
    FINAL_TAG: "",
    TASK_TAG: "",
    NEVER_STARTED_TAG: "",
    RETRY_FAILED_STEPS_TAG: "false",
}
A_PERSON = "a person in the UI"
#: Digits of the largest id of a storage.
MAX_ID_DIGITS = 18


class NamedLaunches(dg.QueuedRunCoordinator):
    """Dagster's queue, which first tags a run with its launcher; the `run_coordinator` of dagster.yaml. Runs
    of commands do not pass here: commands set the tag."""

    #: Value of the tag by which runs against the platform are limited; None: their pool limits them.
    platform: str | None = None

    def submit_run(self, context: Any) -> dg.DagsterRun:
        """Tag and queue a run."""
        run = context.dagster_run
        launcher = {LAUNCHER_TAG: launcher_of(self._instance, run, is_queued_now=True)}
        self._instance.add_run_tags(run.run_id, launcher | own_tags(run.tags) | self._platform_tag(run.tags))
        return super().submit_run(context)

    def _platform_tag(self, tags: Mapping[str, str]) -> dict[str, str]:
        return {PLATFORM_TAG: self.platform} if self.platform and tags.get(QUEUE_TAG) != BUILD else {}

    @classmethod
    def config_type(cls) -> Any:
        """The configuration that dagster.yaml may have for it."""
        inherited: Any = super().config_type()
        return {**inherited, "platform": dg.Field(str, is_required=False)}

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, Any]) -> Self:
        """Make the coordinator from its section of dagster.yaml."""
        coordinator = super().from_config_value(inst_data, config_value)
        coordinator.platform = config_value.get("platform")
        return coordinator


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Values that replace tags which a repeated run copied and which are not true of it, as its process."""
    return {name: value for name, value in RESET_TAGS.items() if name in tags}


def is_of_a_command(tags: Mapping[str, str]) -> bool:
    """Whether a command launched the run."""
    return tags.get(LAUNCHER_TAG, "").startswith(COMMAND)


def launcher_of(instance: dg.DagsterInstance, run: dg.DagsterRun, *, is_queued_now: bool = False) -> str:
    """Who launched a run. Any tag may be forged, so the tick, backfill or run that it names must exist, and
    the tick must name the run. `is_queued_now`: the tick of a schedule does not name the run yet."""
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
    """The tick of the schedule or sensor that requested a run; None: there is none."""
    tick_id, storage = run.tags.get("dagster/tick", ""), instance.schedule_storage
    if storage is None or not tick_id.isdecimal() or len(tick_id) > MAX_ID_DIGITS:
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
