"""Starts simulators from another process, by a fork server."""

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
    """Run a simulator with these command-line arguments within the block, and yield its address.

    The simulator ends when its stdin closes: with the block, or with this process. Raises SimulatorError with
    the simulator's own message."""
    (its_stdin, stdin), (stdout, its_stdout) = os.pipe(), os.pipe()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        os.fdopen(stdout, encoding="utf-8") as output,
        os.fdopen(stdin, "wb") as stdin_file,
    ):
        try:
            process = _order(arguments, environment, (its_stdin, its_stdout, errors.fileno()))
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        try:
            line = _first_line(output, process)
            if not line.startswith(READY):
                errors.seek(0)
                problem = errors.read().strip() or "no answer in time"
                raise SimulatorError(f"the simulator did not start: {problem}")
            yield line.removeprefix(READY).strip()
        finally:
            stdin_file.close()
            _wait_for_end(output, process)


def _order(arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """The process id of a new simulator. streams: the file descriptors of its stdin, stdout and stderr."""
    order = {"arguments": ["--until-stdin-closes", *arguments], "environment": dict(environment)}
    with ORDERING:
        orders = _fork_server()
        try:
            socket.send_fds(orders, [json.dumps(order).encode()], streams)
            return int(orders.recv(64))
        except BaseException as error:
            # A late answer would be taken for the answer to the next order.
            orders.close()
            _fork_server.cache_clear()
            if isinstance(error, OSError | ValueError):
                raise SimulatorError(
                    f"the fork server of the simulators does not answer, see its stderr: {error}"
                ) from error
            raise


@cache
def _fork_server() -> socket.socket:
    """The socket of this process's fork server."""
    import_path = filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(import_path)}
    orders = start_fork_server([sys.executable, "-m", "simulator.fork_server"], environment)
    orders.settimeout(START_TIMEOUT)
    return orders


def start_fork_server(command: Sequence[str | Path], environment: Mapping[str, str]) -> socket.socket:
    """Start a process that takes orders from a socket, whose descriptor is its last argument.

    It ends with this process, even after a kill. Returns this end of the socket."""
    orders, its_orders = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with its_orders:
        process = subprocess.Popen(
            [*command, str(its_orders.fileno())],
            env=dict(environment),
            pass_fds=[its_orders.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # Ctrl-C must reach only this process.
            process_group=0,
        )
    atexit.register(process.wait)
    atexit.register(orders.close)
    return orders


def _first_line(stdout: IO[str], process: int) -> str:
    timer = threading.Timer(START_TIMEOUT, _kill, [process])
    timer.start()
    try:
        return stdout.readline()
    finally:
        timer.cancel()


def _wait_for_end(stdout: IO[str], process: int) -> None:
    """Wait until a simulator has ended, which closes its stdout."""
    ended, _, _ = select.select([stdout], [], [], STOP_TIMEOUT)
    if not ended:
        _kill(process)
        stdout.read()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
