"""Waits for events, so that no test depends on how busy the machine is."""

import asyncio
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds for one wait: it ends a run that hangs, before pytest does, and no other.
PATIENCE = 600.0
SECONDS_BETWEEN_LOOKS = 0.02
#: Turns of an event loop in which every task gets as far as it can.
TURNS = 20


def until(condition: Callable[[], T | None], event: str, log: Callable[[], str] = str) -> T:
    """Wait until a condition holds, and return its value.

    event: completes "waited in vain: ". log: its text follows in the message."""
    ends = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < ends, f"waited in vain: {event}\n{log()}"
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return value


async def until_async(condition: Callable[[], T | None], event: str) -> T:
    """Wait as `until` does, while the other tasks of the event loop go on."""
    ends = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < ends, f"waited in vain: {event}"
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    return value


def until_listening(port: int, server: "subprocess.Popen[Any]") -> None:
    """Wait until a server of this machine accepts connections. Fails at once for a server that has ended."""

    def is_listening() -> bool:
        assert server.poll() is None, f"it does not start: {server.args!r}"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    until(is_listening, f"it listens: {server.args!r}")


async def settle() -> None:
    """Let each task of the event loop go on until it waits for a timer, a thread or another process."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


def pass_time(seconds: float) -> None:
    """Let seconds pass at once for the running event loop: the timers that end by then are due."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
