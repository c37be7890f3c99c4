"""Which queue of the broker a run waits in, and of which platform it asks anything."""

#: Of loads, and of whatever names no other queue.
LOAD = "load"
#: Of what needs memory and the published file instead of the platform.
BUILD = "build"
#: On a run: its queue, and the task by which a worker got it. dagster-celery reads them under these names.
QUEUE_TAG, TASK_TAG = "dagster-celery/queue", "dagster-celery/task_id"
#: On a run: whether Dagster tries it again where a step of it has failed.
AGAIN_TAG = "dagster/retry_on_asset_or_op_failure"
#: On a run that asks a platform: its host.
PLATFORM_TAG = "campus/platform"
#: What a job of builds says of its runs.
FOR_BUILDS = {QUEUE_TAG: BUILD}
