"""Work in threads that a cancelled task waits for."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. A task that is cancelled meanwhile ends once `work` has: it uses the stage,
    which the task closes."""
    # No task, as `asyncio.to_thread` would need: the end of a run cancels all tasks.
    running = asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            # Another cancellation waits, too.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise
