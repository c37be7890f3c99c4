"""The broker's queues, and the run tags that queues and limits go by."""

#: The default queue, for loads.
LOAD = "load"
#: The queue of runs that need memory and the published file instead of the platform.
BUILD = "build"
#: On a run: its queue and its Celery task, under dagster-celery's names.
QUEUE_TAG, TASK_TAG = "dagster-celery/queue", "dagster-celery/task_id"
#: On a run: whether Dagster retries the run after a failed step.
RETRY_FAILED_STEPS_TAG = "dagster/retry_on_asset_or_op_failure"
#: On a run that reads a platform: the platform's host.
PLATFORM_TAG = "campus/platform"
#: The tags of build jobs.
FOR_BUILDS = {QUEUE_TAG: BUILD}
