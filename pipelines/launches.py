"""Who has launched a run: a tag that each has, whatever launched it."""

from collections.abc import Mapping
from typing import Any, Self

import dagster as dg

from assets.resource_assets import HALTED_TAG
from pipelines.district.queues import AGAIN_TAG, BUILD, PLATFORM_TAG, QUEUE_TAG, TASK_TAG
from pipelines.interrupted import PROCESS_TAG

LAUNCHER_TAG = "campus/launched_by"
#: How the tag begins where a command has launched the run. Nothing follows such a run by itself: the command
#: does what does.
COMMAND = "campus "
#: On a run that reads a file for the platform: the file needs no other run.
FINAL_TAG = "campus/final"
#: What is true of one run alone, and what another try of it says instead.
OF_ONE_RUN = {PROCESS_TAG: "", HALTED_TAG: "", FINAL_TAG: "", TASK_TAG: "", AGAIN_TAG: "false"}
A_PERSON = "a person in the UI"


class NamedLaunches(dg.QueuedRunCoordinator):
    """Dagster's queue, which first notes who has launched a run; what dagster.yaml names as
    `run_coordinator`. Runs of commands do not pass here: they say so themselves.

    `platform`: what runs are counted by that ask it; None: by their pool alone."""

    platform: str | None = None

    def submit_run(self, context: Any) -> dg.DagsterRun:
        """Queue a run."""
        run = context.dagster_run
        # Only a web server makes its request contexts of a request; the daemon has none.
        by_request = context.workspace.source is not None
        tags = launch_tags(run.tags, by_request=by_request) | self._counted(run.tags)
        self._instance.add_run_tags(run.run_id, tags)
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


def launch_tags(tags: Mapping[str, str], *, by_request: bool) -> dict[str, str]:
    """The tags of a run that is launched now, by those that it has. by_request: a web server launches it for
    somebody, who may have set any tag. One that is executed again has the tags of the one before, whose
    process and end are not its own."""
    launcher = _launcher(tags, by_request=by_request)
    return {LAUNCHER_TAG: launcher} | {name: none for name, none in OF_ONE_RUN.items() if name in tags}


def is_of_a_command(tags: Mapping[str, str]) -> bool:
    """Whether a command has launched the run."""
    return tags.get(LAUNCHER_TAG, "").startswith(COMMAND)


def _launcher(tags: Mapping[str, str], *, by_request: bool) -> str:
    if "dagster/parent_run_id" in tags:
        return f"{A_PERSON}, as another try of {tags['dagster/parent_run_id'][:8]}"
    # The tags of a backfill are a person's, too; the daemon adds its name to them.
    if "dagster/backfill" in tags:
        return f"{A_PERSON}, by the backfill {tags['dagster/backfill']}"
    if by_request:
        return A_PERSON
    if "dagster/schedule_name" in tags:
        return f"the schedule {tags['dagster/schedule_name']}"
    if "dagster/sensor_name" in tags:
        return f"the sensor {tags['dagster/sensor_name']}"
    return A_PERSON
