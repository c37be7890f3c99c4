"""What dagster.yaml says of a district, by the settings: who launches runs, how many at a time, and what
becomes of those whose worker has died."""

from urllib.parse import urlsplit

from pipelines.district.queues import BUILD, LOAD, PLATFORM_TAG, QUEUE_TAG
from pipelines.settings import Settings

#: Where the broker is, and where Celery keeps how its tasks ended.
BROKER_URL, RESULT_URL = "CAMPUS_BROKER_URL", "CAMPUS_RESULT_URL"
#: Seconds between two looks at the heartbeats of runs.
LOOK = 10
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


def celery_config(settings: Settings, common: dict[str, object]) -> dict[str, object]:
    """The sections of dagster.yaml that workers change. common: as they are without workers."""
    launcher = {
        "module": "pipelines.district.launcher",
        "class": "WatchedCeleryLauncher",
        "config": {
            "broker": {"env": BROKER_URL},
            "backend": {"env": RESULT_URL} if settings.result_url else "disabled://",
            "default_queue": LOAD,
            "config_source": CELERY,
        },
    }
    return {"run_launcher": launcher} | on_several_machines(settings, common)


def on_several_machines(settings: Settings, common: dict[str, object]) -> dict[str, object]:
    """The sections that change wherever runs go on at several places, whoever launches them."""
    district = settings.options.district
    monitoring, coordinator = common["run_monitoring"], common["run_coordinator"]
    assert isinstance(monitoring, dict) and isinstance(coordinator, dict)
    most = max(district.loads_at_a_time, district.builds_at_a_time)
    by_platform = {
        "key": PLATFORM_TAG,
        "value": {"applyLimitPerUniqueValue": True},
        "limit": district.loads_at_a_time,
    }
    builds = {"key": QUEUE_TAG, "value": BUILD, "limit": district.builds_at_a_time}
    return {
        "run_coordinator": coordinator | {"config": {"platform": _platform(settings)}},
        "concurrency": {
            # The limits by tags are what counts: a pool has one for loads and builds alike.
            "pools": {"default_limit": most, "granularity": "run"},
            "runs": {"max_concurrent_runs": -1, "tag_concurrency_limits": [by_platform, builds]},
        },
        "run_monitoring": monitoring
        | {
            "poll_interval_seconds": LOOK,
            # A run may wait for a worker, where there are fewer than are let go at a time.
            "start_timeout_seconds": 3600,
            # It is run again instead, as another run, so that the one that died stays to be seen.
            "max_resume_run_attempts": 0,
        },
        # One sensor asks for hundreds of runs: four at a time, and the others look meanwhile.
        "sensors": {"use_threads": True, "num_workers": 4, "num_submit_workers": 4},
        # What failed by itself is for the next night, as ever; what was killed is not its fault.
        "run_retries": {"enabled": True, "max_retries": RETRIES, "retry_on_asset_or_op_failure": False},
    }


def _platform(settings: Settings) -> str:
    """What runs are counted by that ask the same platform."""
    return urlsplit(settings.base_url or "").hostname or settings.base_url or "none"
