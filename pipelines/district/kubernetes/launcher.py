"""The run launcher of a district on Kubernetes: Dagster's Kubernetes launcher with heartbeats.

Only this file uses dagster-k8s."""

from collections.abc import Mapping
from typing import Any, Self, cast

import dagster as dg
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext

from assets.shared.dagster_private import CheckRunHealthResult, WorkerStatus
from pipelines.district.queues import BUILD, QUEUE_TAG
from pipelines.district.run_health import give_up, run_health

LOST = (
    "No process of this run has sent a heartbeat for {seconds:.0f} seconds, and Kubernetes does not say that "
    "a job of the run is active: the job was deleted, or never made. The run is queued again."
)


class WatchedKubernetesLauncher(K8sRunLauncher):
    """Launches each run as a job of Kubernetes whose process sends heartbeats.

    Kubernetes alone notices a lost node after six minutes, and Dagster fails every run when Kubernetes does
    not answer."""

    #: The resources of builds and exports, which need other amounts than loads.
    build_resources: Mapping[str, Any] | None = None

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the process of a run is alive. Raises SQLAlchemyError if Postgres is away."""
        job: CheckRunHealthResult = super().check_run_worker_health(run)
        if job.status == WorkerStatus.FAILED:
            give_up(run)
            return job
        return run_health(run, lambda: job.status == WorkerStatus.RUNNING, LOST)

    def get_container_context_for_run(self, dagster_run: dg.DagsterRun) -> K8sContainerContext:
        """The container of a run, with the resources of its queue."""
        context = super().get_container_context_for_run(dagster_run)
        if self.build_resources is None or dagster_run.tags.get(QUEUE_TAG) != BUILD:
            return context
        return context.merge(K8sContainerContext(resources=self.build_resources))

    @classmethod
    def config_type(cls) -> Any:
        """The configuration that dagster.yaml may have for it."""
        # Dagster's own class has no types here.
        inherited = cast(Any, super()).config_type()
        return {**inherited, "build_resources": dg.Field(dict, is_required=False)}

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Mapping[str, Any]) -> Self:
        """Make the launcher from its section of dagster.yaml."""
        config = dict(config_value)
        build_resources = config.pop("build_resources", None)
        launcher: Self = cast(Any, super()).from_config_value(inst_data, config)
        launcher.build_resources = build_resources
        return launcher
