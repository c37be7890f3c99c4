"""A fork server for simulators: imports all modules once, and forks a process for each simulator.

The imports take ten times as long as a small school, and the tests start a hundred simulators."""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# The imports of a simulator.
import simulator.app
import simulator.server  # noqa: F401
from simulator.cli import simulator as command

#: Bytes to receive for an order, more than a message can have.
LONGEST = 1 << 20


def serve(orders: socket.socket) -> None:
    """Fork a simulator for each order, until the socket closes."""
    # No process is waited for here: the caller sees the end of a simulator by its stdout.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        content, streams, _, _ = socket.recv_fds(orders, LONGEST, 3)
        if not content:
            return
        child = os.fork()
        if not child:
            orders.close()
            _simulate(json.loads(content), streams)
        for stream in streams:
            os.close(stream)
        orders.send(str(child).encode())


def _simulate(order: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Run the simulator's command line in this process. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.environ.clear()
    os.environ |= order["environment"]
    command(order["arguments"], prog_name="python -m simulator")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
