"""All uses of Dagster's private names, which have no public equivalent.
tests/house/test_dagster_private.py names the private parts that an upgrade removes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.errors import DagsterUserCodeProcessError
from dagster._core.execution import context_creation_job, host_mode
from dagster._core.launcher import CheckRunHealthResult as CheckRunHealthResult
from dagster._core.launcher import WorkerStatus as WorkerStatus
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.storage.event_log import SqliteEventLogStorage as SqliteEventLogStorage
from dagster_shared.error import SerializableErrorInfo

if TYPE_CHECKING:
    from dagster._core.workspace.context import WorkspaceProcessContext

#: The type of dg.define_asset_job's result; Dagster exports no name for it.
AssetJob = UnresolvedAssetJobDefinition

#: For dagster.yaml: discards the output of runs. Dagster exports no name for it either.
NO_COMPUTE_LOGS = {
    "module": "dagster._core.storage.noop_compute_log_manager",
    "class": "NoOpComputeLogManager",
}

#: The name of the job of a run of assets that a person has chosen.
CHOSEN_ASSETS = "__ASSET_JOB"

#: Lets dg.multi_asset check assets that it only reads, such as assets of `raw`. Dagster hides the argument.
CHECKS_OF_OTHER_ASSETS: dict[str, Any] = {"allow_arbitrary_check_specs": True}

#: The names of our code in `dagster dev -m pipelines.definitions` and workspace.yaml, and of the repository
#: that Dagster makes of it.
LOCATION, REPOSITORY = "pipelines.definitions", "__repository__"


class MessageFailure(DagsterUserCodeProcessError, dg.Failure):
    """A failure of a step that Dagster shows without a stack trace, which helps nobody to mend a setting or a
    platform."""

    def __init__(self, message: str) -> None:
        shown = SerializableErrorInfo(message, [], "Failure")
        super().__init__(message, user_code_process_error_infos=[shown])  # type: ignore[no-untyped-call]
        self.allow_retries = False


def log_check(context: dg.OpExecutionContext, evaluation: dg.AssetCheckEvaluation) -> None:
    """Log the result of an asset check in a step without assets. Dagster accepts the event, though the types
    of `log_event` do not name it."""
    event: Any = evaluation
    context.log_event(event)


def show_on_timeline(instance: dg.DagsterInstance, run_id: str) -> None:
    """Show a finished in-process run on the UI's timeline, which needs the repository of a run. An in-process
    run has none."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.remote_job_origin is None:
        repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(LOCATION), REPOSITORY)
        instance.run_storage.replace_job_origin(run, RemoteJobOrigin(repository, run.job_name))


def print_warnings_only() -> None:
    """Print only warnings and errors of the runs in this process. By default runs print every event. A level
    in dagster.yaml would hide messages from the UI, too."""

    def loggers(_instance: dg.DagsterInstance | None) -> list[tuple[dg.LoggerDefinition, dict[str, object]]]:
        return [(dg.colored_console_logger, {"name": "dagster", "log_level": "WARNING"})]

    for module in (context_creation_job, host_mode):
        vars(module)["default_system_loggers"] = loggers


def sort_steps_in_ui() -> None:
    """Have this process, a webserver, list the steps of a run in topological order, and independent steps by
    name. Dagster lists a set: the rows of the UI's chart would change with each start."""
    # Slow to import, and only the webserver needs it.
    from dagster._core.remote_representation.external import RemoteExecutionPlan

    RemoteExecutionPlan.get_steps_in_plan = RemoteExecutionPlan.topological_steps  # type: ignore[method-assign]


def run_id_of(arguments: str) -> str:
    """The run that `dagster api execute_run ARGUMENTS` executes."""
    # Only the process of a run needs them.
    from dagster._grpc.types import ExecuteRunArgs
    from dagster_shared.serdes import deserialize_value

    run_id: str = deserialize_value(arguments, ExecuteRunArgs).run_id
    return run_id


@contextmanager
def open_workspace(instance: dg.DagsterInstance, *, read_only: bool) -> "Iterator[WorkspaceProcessContext]":
    """Serve our definitions from a separate process, for Dagster's webserver."""
    # Slow to import, and only the webserver needs them.
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import ModuleTarget

    target = ModuleTarget(LOCATION, attribute=None, working_directory=str(Path.cwd()), location_name=None)
    with WorkspaceProcessContext(
        instance, target, version=dg.__version__, read_only=read_only, code_server_log_level="warning"
    ) as workspace:
        yield workspace
