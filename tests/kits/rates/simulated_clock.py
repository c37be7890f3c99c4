"""An event loop whose clock jumps to the next event, so that minutes pass in a moment."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any
from unittest.mock import patch


class _NoWaiting(selectors.SelectSelector):
    """A selector that passes the time instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing will ever happen"
        self.now += timeout
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _NoWaiting()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def run_simulated(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine by a simulated clock, which `time.monotonic` shows, too. Threads cannot be used."""
    loop = _Loop()
    with patch("time.monotonic", loop.time), asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main)
