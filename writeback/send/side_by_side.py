"""Runs writes concurrently. At Ctrl-C, each write still returns its outcome."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run them at once; their results, in order. An interrupt reaches each of them as CancelledError: it
    returns what is known by then, and this returns all."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    except asyncio.CancelledError:
        await asyncio.wait(tasks)
    return [task.result() for task in tasks]
