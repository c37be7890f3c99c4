"""All that the project takes of Dagster without its promise to keep it: no public name does the same.
tests/house/test_dagster_private.py says in words what an upgrade has taken away."""

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

#: What dg.define_asset_job gives; Dagster exports no name for it.
AssetJob = UnresolvedAssetJobDefinition

#: What dagster.yaml names to keep nothing of what runs print. Dagster exports no name for it either.
NO_COMPUTE_LOGS = {
    "module": "dagster._core.storage.noop_compute_log_manager",
    "class": "NoOpComputeLogManager",
}

#: Lets dg.multi_asset have checks of assets that it only reads, such as those of `raw`. Dagster hides it.
CHECKS_OF_OTHER_ASSETS: dict[str, Any] = {"allow_arbitrary_check_specs": True}

#: What `dagster dev -m pipelines.definitions` and workspace.yaml call our code, and what Dagster calls the
#: repository that it makes of it.
LOCATION, REPOSITORY = "pipelines.definitions", "__repository__"


class FailureInWords(DagsterUserCodeProcessError, dg.Failure):
    """A failure of a step that Dagster shows by its words alone. A stack trace helps nobody who mends a
    setting or a platform."""

    def __init__(self, words: str) -> None:
        shown = SerializableErrorInfo(words, [], "Failure")
        super().__init__(words, user_code_process_error_infos=[shown])  # type: ignore[no-untyped-call]
        self.allow_retries = False


def tell_check(context: dg.OpExecutionContext, found: dg.AssetCheckEvaluation) -> None:
    """Tell what a check of an asset found, in a step that is of no asset. Dagster takes it, and leaves it out
    of the types that `log_event` names."""
    event: Any = found
    context.log_event(event)


def show_on_timeline(instance: dg.DagsterInstance, run_id: str) -> None:
    """Have the UI's timeline show a run that has ended and was executed in process. The timeline goes by the
    repository of a run, which such a one has none of."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.remote_job_origin is None:
        repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(LOCATION), REPOSITORY)
        instance.run_storage.replace_job_origin(run, RemoteJobOrigin(repository, run.job_name))


def print_warnings_only() -> None:
    """Have the runs of this process print warnings and errors alone. Otherwise they print each of their
    events, which the UI shows; a level in dagster.yaml would keep messages from the UI, too."""

    def loggers(_instance: dg.DagsterInstance | None) -> list[tuple[dg.LoggerDefinition, dict[str, object]]]:
        return [(dg.colored_console_logger, {"name": "dagster", "log_level": "WARNING"})]

    for module in (context_creation_job, host_mode):
        vars(module)["default_system_loggers"] = loggers


@contextmanager
def open_workspace(instance: dg.DagsterInstance, *, read_only: bool) -> "Iterator[WorkspaceProcessContext]":
    """Serve our definitions from a process of their own, as Dagster's webserver has them."""
    # Nothing but the webserver needs them.
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import ModuleTarget

    target = ModuleTarget(LOCATION, attribute=None, working_directory=str(Path.cwd()), location_name=None)
    with WorkspaceProcessContext(
        instance, target, version=dg.__version__, read_only=read_only, code_server_log_level="warning"
    ) as workspace:
        yield workspace
