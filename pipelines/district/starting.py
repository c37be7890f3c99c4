"""Runs that a worker was to begin and none has: Dagster's own look at runs only sees to those that have
begun."""

import dagster as dg

from assets.dagster_private import WorkerStatus
from pipelines.district.config import LOOK
from pipelines.district.heartbeats import NO_ANSWER

NAME = "runs_without_a_worker"
STARTING = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])


def runs_without_a_worker() -> dg.SensorDefinition:
    """The sensor that reports runs as failed whose message or worker was lost before they began, so that they
    are tried again."""

    @dg.sensor(
        name=NAME,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=LOOK,
        description="Report runs as failed that were handed to a worker which died before it began, or whose "
        "message was lost. They are tried again.",
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
