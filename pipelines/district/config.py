"""What dagster.yaml says of a district, by the settings: who launches runs, how many at a time, and what
becomes of those whose worker has died."""

from urllib.parse import urlsplit

from pipelines.district.queues import BUILD, LOAD, PLATFORM_TAG, QUEUE_TAG
from pipelines.settings import Settings

#: Where the broker is, and where Celery keeps how its tasks ended.
BROKER_URL, RESULT_URL = "CAMPUS_BROKER_URL", "CAMPUS_RESULT_URL"
#: Seconds between two looks at the heartbeats of runs.
LOOK = 15
#: Tries of a run whose worker has died, after the first.
RETRIES = 3
CELERY: dict[str, object] = {
    # A worker takes the next run when it has ended the one before, and each run has a process of its own.
    "worker_concurrency": 1,
    "worker_prefetch_multiplier": 1,
    "worker_max_tasks_per_child": 1,
    # A broker that is away is waited for: by a worker for ever, by the daemon for two minutes with each run.
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_heartbeat": 30,
    "task_publish_retry_policy": {
        "max_retries": 30,
        "interval_start": 0.5,
        "interval_step": 0.5,
        "interval_max": 5,
    },
    # A run is at the broker only once it says so.
    "broker_transport_options": {"confirm_publish": True},
    # A broker that comes back does not end the run that a worker is at.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "result_expires": 86_400,
    # What runs say goes to the log of the worker as it is.
    "worker_redirect_stdouts": False,
}


def district_config(settings: Settings, common: dict[str, object]) -> dict[str, object]:
    """The sections of dagster.yaml that workers change. common: as they are without workers."""
    district = settings.options.district
    monitoring, coordinator = common["run_monitoring"], common["run_coordinator"]
    assert isinstance(monitoring, dict) and isinstance(coordinator, dict)
    return {
        "run_launcher": {
            "module": "pipelines.district.launcher",
            "class": "WatchedCeleryLauncher",
            "config": {
                "broker": {"env": BROKER_URL},
                "backend": {"env": RESULT_URL} if settings.result_url else "disabled://",
                "default_queue": LOAD,
                "config_source": CELERY,
            },
        },
        "run_coordinator": coordinator | {"config": {"platform": _platform(settings)}},
        "concurrency": {
            # Pools are of a machine's processes; what follows is of all machines.
            "pools": {
                "default_limit": max(district.loads_at_a_time, district.builds_at_a_time),
                "granularity": "run",
            },
            "runs": {
                "max_concurrent_runs": -1,
                "tag_concurrency_limits": [
                    {
                        "key": PLATFORM_TAG,
                        "value": {"applyLimitPerUniqueValue": True},
                        "limit": district.loads_at_a_time,
                    },
                    {"key": QUEUE_TAG, "value": BUILD, "limit": district.builds_at_a_time},
                ],
            },
        },
        "run_monitoring": monitoring
        | {
            "poll_interval_seconds": LOOK,
            # A run may wait at the broker for a worker, where there are fewer than are let go at a time.
            "start_timeout_seconds": 3600,
            # It is run again instead, as another run, so that the one that died stays to be seen.
            "max_resume_run_attempts": 0,
        },
        # What failed by itself is for the next night, as ever; what was killed is not its fault.
        "run_retries": {"enabled": True, "max_retries": RETRIES, "retry_on_asset_or_op_failure": False},
    }


def _platform(settings: Settings) -> str:
    """What runs are counted by that ask the same platform."""
    return urlsplit(settings.base_url or "").hostname or settings.base_url or "none"
