"""How another process starts simulators: it orders them of a nursery of its own."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

START_TIMEOUT = 30.0  # seconds
STOP_TIMEOUT = 5.0
READY = "listening on "
ORDERING = threading.Lock()


class SimulatorError(RuntimeError):
    """The simulator could not be started, or refused a control request."""


@contextmanager
def started(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """The address of a simulator with these arguments of the command line, while the block lasts. It ends
    when its stdin closes: with the block, or with this process. Raises SimulatorError in its own words."""
    (its_stdin, stdin), (stdout, its_stdout) = os.pipe(), os.pipe()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        os.fdopen(stdout, encoding="utf-8") as told,
        os.fdopen(stdin, "wb") as held,
    ):
        try:
            process = _order(arguments, environment, (its_stdin, its_stdout, errors.fileno()))
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        try:
            line = _first_line(told, process)
            if not line.startswith(READY):
                errors.seek(0)
                problem = errors.read().strip() or "no answer in time"
                raise SimulatorError(f"the simulator did not start: {problem}")
            yield line.removeprefix(READY).strip()
        finally:
            held.close()
            _wait_for_end(told, process)


def _order(arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """The process id of a new simulator. streams: the file descriptors of its stdin, stdout and stderr."""
    order = {"arguments": ["--until-stdin-closes", *arguments], "environment": dict(environment)}
    with ORDERING:
        orders = _nursery()
        try:
            socket.send_fds(orders, [json.dumps(order).encode()], streams)
            return int(orders.recv(64))
        except BaseException as error:
            # An answer that comes later would be taken for that to the next order.
            orders.close()
            _nursery.cache_clear()
            if isinstance(error, OSError | ValueError):
                raise SimulatorError(
                    f"the process that simulators are forked from gives no answer, see its stderr: {error}"
                ) from error
            raise


@cache
def _nursery() -> socket.socket:
    """Where the nursery of this process takes orders. It ends with this process, however that ends."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    import_path = filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "simulator.nursery", str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # Ctrl-C is meant for this process, with which they end.
            process_group=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(import_path)},
        )
    ours.settimeout(START_TIMEOUT)
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _first_line(told: IO[str], process: int) -> str:
    timer = threading.Timer(START_TIMEOUT, _kill, [process])
    timer.start()
    try:
        return told.readline()
    finally:
        timer.cancel()


def _wait_for_end(told: IO[str], process: int) -> None:
    """Wait until a simulator has ended, and with it its stdout."""
    ended, _, _ = select.select([told], [], [], STOP_TIMEOUT)
    if not ended:
        _kill(process)
        told.read()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
