"""A cancelled task waits for its work in a thread, which uses what the task closes."""

import asyncio
import threading

import pytest

from loading.slices.loader import in_thread
from tests.kits.waiting import settle


def test_cancelled_task_waits_for_its_thread() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait()
        ended.set()

    async def go() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await settle()
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(go())


def test_run_that_fails_waits_for_the_threads_of_its_tasks() -> None:
    """The end of a run cancels all tasks, also one that stands for a thread."""
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    closed_after_the_work: list[bool] = []

    def work() -> None:
        begun.set()
        may_end.wait()
        ended.set()

    async def load() -> None:
        try:
            await in_thread(work)
        finally:
            closed_after_the_work.append(ended.is_set())

    async def end_the_work_when_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await settle()
            may_end.set()

    async def go() -> None:
        tasks = [asyncio.create_task(task) for task in (load(), end_the_work_when_cancelled())]
        await asyncio.to_thread(begun.wait)
        assert not any(task.done() for task in tasks)
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(go())
    assert closed_after_the_work == [True]


def test_errors_of_the_work_are_raised() -> None:
    def work() -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        asyncio.run(in_thread(work))
