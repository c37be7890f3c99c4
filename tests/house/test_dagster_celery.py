"""What is taken of dagster-celery and Celery is still there after an upgrade."""

import inspect
from types import SimpleNamespace
from typing import Any

from celery import Celery
from celery.concurrency.prefork import TaskPool
from celery.worker.consumer import Consumer
from celery.worker.request import Request, create_request_cls
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_QUEUE_TAG, DAGSTER_CELERY_TASK_ID_TAG
from dagster_celery.tasks import create_execute_job_task

from pipelines.district.queues import QUEUE_TAG, TASK_TAG

LOOK = "; see pipelines/district/launcher.py and worker.py"


def test_tags_have_the_names_that_we_give_them() -> None:
    assert (QUEUE_TAG, TASK_TAG) == (DAGSTER_CELERY_QUEUE_TAG, DAGSTER_CELERY_TASK_ID_TAG), LOOK


def test_a_launcher_is_asked_for_the_health_of_runs_and_has_its_application() -> None:
    assert {"launch_run", "terminate", "check_run_worker_health", "get_run_worker_debug_info"} <= {
        name for name, _ in inspect.getmembers(CeleryRunLauncher)
    }, LOOK
    launcher = CeleryRunLauncher(default_queue="load", broker="memory://", backend="disabled://")
    task = create_execute_job_task(launcher.celery)
    assert list(inspect.signature(task.run).parameters) == ["execute_job_args_packed"], LOOK


def test_celery_leaves_alone_what_a_request_does_when_it_is_accepted() -> None:
    """Of the class that a task names it makes one of its own, with other methods."""

    class Own(Request):
        def on_accepted(self, pid: Any, time_accepted: Any) -> None: ...

    task = SimpleNamespace(time_limit=1, soft_time_limit=1, acks_late=False)
    pool = SimpleNamespace(apply_async=None)
    made = create_request_cls(Own, task, pool, "", None, trace=print)
    assert made.on_accepted is Own.on_accepted, LOOK


def test_queues_that_a_worker_has_left_are_left_by_its_next_connection_too() -> None:
    with Celery(broker="memory://", set_as_current=False) as app, app.connection() as connection:

        def next_connection() -> set[str]:
            return {queue.name for queue in app.amqp.TaskConsumer(connection).queues}

        app.amqp.queues.select(["load", "build"])
        worker = SimpleNamespace(app=app, task_consumer=app.amqp.TaskConsumer(connection))
        for left, remaining in (("load", {"build"}), ("build", set[str]())):
            Consumer.cancel_task_queue(worker, left)
            assert next_connection() == remaining, LOOK
        Consumer.add_task_queue(worker, "load")
        assert worker.task_consumer.consuming_from("load") and next_connection() == {"load"}, LOOK


def test_a_pool_says_which_processes_it_has_and_makes_new_ones_when_asked() -> None:
    assert "'processes'" in inspect.getsource(TaskPool._get_info), LOOK
    assert "self.maintain_pool = " in inspect.getsource(TaskPool.on_start), LOOK
