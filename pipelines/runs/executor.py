"""The executor of each run that Dagster launches: in one process, which holds a lock while it lives.

However the process dies, the system releases the lock. So a command recognizes the runs of a dead process,
also where their assets write nothing in the lake, as exports do."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from pipelines.runs.launchers import PROCESS_TAG
from pipelines.runs.writer_locks import process_lock
from pipelines.settings.settings import Settings


class LockedProcess(dg.Executor):
    """Executes the steps of a run as another executor does. The run's tag names the lock of this process."""

    def __init__(self, executor: dg.Executor, settings: Settings) -> None:
        self._executor, self._settings = executor, settings

    @property
    def retries(self) -> Any:
        """How failed steps are retried."""
        return self._executor.retries

    @property
    def step_dependency_config(self) -> Any:
        """Whether a step needs the success of the steps before it."""
        return self._executor.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Execute the steps. The tag comes before the resources, which may wait for a command for an hour."""
        with process_lock(self._settings) as name:
            plan_context.instance.add_run_tags(plan_context.run_id, {PROCESS_TAG: name})
            yield from self._executor.execute(plan_context, execution_plan)


def run_executor(settings: Settings) -> dg.ExecutorDefinition:
    """Dagster's executor in one process, which holds a lock in the home."""
    in_process = dg.in_process_executor
    create = in_process.executor_creation_fn
    assert create is not None
    # Any: Dagster's type lacks the schema of another definition, which it takes.
    schema: Any = in_process.config_schema
    return dg.ExecutorDefinition(
        in_process.name,
        config_schema=schema,
        executor_creation_fn=lambda context: LockedProcess(create(context), settings),
    )
