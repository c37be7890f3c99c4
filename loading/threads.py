"""Work in threads that a cancelled task waits for."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. A task that is cancelled meanwhile ends once `work` has: it uses the stage,
    which the task closes."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            # Another cancellation waits, too.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise
