"""A fork server for programs of the project: imports all modules once, and forks a process for each order.

The imports of `campus sync` take two seconds of CPU, and the tests start dozens of programs."""

import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pipelines

#: Bytes to receive for an order, more than a message can have.
LONGEST = 1 << 20


def serve(orders: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork a process for each order. Returns the order and its file descriptors in each process, and None in
    the server once the socket has closed."""
    #: Process ids, and the descriptors of reports, by pidfd.
    programs: dict[int, tuple[int, int]] = {}
    while True:
        ready, _, _ = select.select([orders, *programs], [], [])
        for pidfd in programs.keys() & ready:
            pid, report = programs.pop(pidfd)
            _kill(pid)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            # The caller may have gone.
            with suppress(BrokenPipeError):
                os.write(report, str(status).encode())
            _close(pidfd, report)
        if orders not in ready:
            continue
        content, descriptors, _, _ = socket.recv_fds(orders, LONGEST, 4)
        if not content:
            for pid, _ in programs.values():
                _kill(pid)
            return None
        pid = os.fork()
        if not pid:
            _close(orders.detach(), *programs, *(report for _, report in programs.values()))
            return json.loads(content), descriptors
        _close(*descriptors[:3])
        programs[os.pidfd_open(pid)] = pid, descriptors[3]


def _kill(pid: int) -> None:
    """Kill a program, and what it has started in its process group."""
    os.kill(pid, signal.SIGKILL)
    # It may have ended before it made the group.
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def become(
    order: Mapping[str, Any], program: Callable[[], object], stdin: int, stdout: int, stderr: int, report: int
) -> None:
    """Run the program of an order in this process, as the leader of a session. Does not return."""
    os.setsid()
    if order["stacks"]:
        faulthandler.register(signal.SIGUSR1, file=os.open(order["stacks"], os.O_WRONLY))
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
    os.environ.clear()
    os.environ |= order["environment"]
    time.tzset()
    tempfile.tempdir = None
    if order["umask"] >= 0:
        os.umask(order["umask"])
        # The package restricts the umask when it is imported.
        importlib.reload(pipelines)
    os.write(report, str(os.getpid()).encode())
    _close(stdin, stdout, stderr, report)
    os.chdir(order["cwd"])
    script, *arguments = order["command"]
    sys.argv = [str(Path(sys.executable).with_name(script)), *arguments]
    sys.path[0] = str(Path(sys.executable).parent)
    sys.exit(program())


def main(programs: str, modules: str, descriptor: str) -> None:
    """Serve the socket of this descriptor.

    programs: the functions of programs by name, as {"campus": "pipelines.cli.main:main"}; modules: what they
    import when they run. Both are JSON."""
    functions = {}
    for name, entry in json.loads(programs).items():
        module, _, function = entry.partition(":")
        functions[name] = getattr(importlib.import_module(module), function)
    for module in json.loads(modules):
        importlib.import_module(module)
    # The garbage collector would write to each page that the processes share.
    gc.freeze()
    if received := serve(socket.socket(fileno=int(descriptor))):
        order, descriptors = received
        become(order, functions[order["command"][0]], *descriptors)


if __name__ == "__main__":
    main(*sys.argv[1:])
