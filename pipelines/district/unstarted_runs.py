"""The sensor for queued runs that no worker started. Dagster's own monitoring covers only started runs."""

import dagster as dg

from assets.shared.dagster_private import WorkerStatus
from pipelines.district.config import CHECK_SECONDS
from pipelines.district.heartbeats import NO_ANSWER

NAME = "runs_without_a_worker"
STARTING = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])


def runs_without_a_worker() -> dg.SensorDefinition:
    """The sensor that reports a run as failed if its message or worker was lost before the start. Dagster
    then retries the run."""

    @dg.sensor(
        name=NAME,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=CHECK_SECONDS,
        description="Report runs as failed whose message was lost, or whose worker died before the start. "
        "Dagster retries them.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        instance, given_up = context.instance, 0
        try:
            for run in instance.get_runs(STARTING):
                health = instance.run_launcher.check_run_worker_health(run)
                if health.status == WorkerStatus.FAILED:
                    instance.report_run_failed(run, health.msg)
                    given_up += 1
        except NO_ANSWER:
            return dg.SkipReason("Postgres does not answer.")
        return dg.SkipReason(f"{given_up} runs were given up.")

    return sensor
