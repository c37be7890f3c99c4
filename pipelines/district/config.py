"""The sections of dagster.yaml for a district: the run launcher, the limits, and the retries of runs whose
worker has died."""

from urllib.parse import urlsplit

from pipelines.district.queues import BUILD, LOAD, PLATFORM_TAG, QUEUE_TAG
from pipelines.settings.environment import BROKER_URL, RESULT_URL
from pipelines.settings.settings import Settings

#: Seconds between two checks of the heartbeats of runs.
CHECK_SECONDS = 10
#: Retries of a run whose worker has died.
RETRIES = 3
CELERY: dict[str, object] = {
    # A worker executes one run at a time, each in a new process.
    "worker_concurrency": 1,
    "worker_prefetch_multiplier": 1,
    "worker_max_tasks_per_child": 1,
    # A worker waits for the broker for ever. The daemon tries for two minutes to queue a run.
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_heartbeat": 30,
    "task_publish_retry_policy": {
        "max_retries": 30,
        "interval_start": 0.5,
        "interval_step": 0.5,
        "interval_max": 5,
    },
    # A run counts as queued only after the broker's confirmation.
    "broker_transport_options": {"confirm_publish": True},
    # A lost connection to the broker does not end the worker's run.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "result_expires": 86_400,
    # The output of runs goes to the worker's log unchanged.
    "worker_redirect_stdouts": False,
}


def celery_config(settings: Settings, common: dict[str, object]) -> dict[str, object]:
    """The sections of dagster.yaml that workers change. `common`: the sections without workers."""
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
    return {"run_launcher": launcher} | multi_machine_config(settings, common)


def multi_machine_config(settings: Settings, common: dict[str, object]) -> dict[str, object]:
    """The sections that change when several machines execute runs, by any launcher."""
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
        # Runs that read the same host share a limit.
        "run_coordinator": coordinator
        | {"config": {"platform": urlsplit(settings.base_url or "").hostname or settings.base_url or "none"}},
        "concurrency": {
            # A pool cannot tell loads from builds, so the tag limits below decide.
            "pools": {"default_limit": most, "granularity": "run"},
            "runs": {"max_concurrent_runs": -1, "tag_concurrency_limits": [by_platform, builds]},
        },
        "run_monitoring": monitoring
        | {
            "poll_interval_seconds": CHECK_SECONDS,
            # A run waits for a worker if the limits allow more runs than there are workers.
            "start_timeout_seconds": 3600,
            # A dead run is retried as a new run instead, so that the UI still shows the dead run.
            "max_resume_run_attempts": 0,
        },
        # One sensor requests hundreds of runs: four submit at a time, and the other sensors go on.
        "sensors": {"use_threads": True, "num_workers": 4, "num_submit_workers": 4},
        # A failed run waits for the next night; only a killed run is retried.
        "run_retries": {"enabled": True, "max_retries": RETRIES, "retry_on_asset_or_op_failure": False},
    }
