"""The process that the simulators of another one are forked from, with all imported that they need.

To import it takes ten times as long as to make a small school, and the tests start a hundred simulators.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# What a simulator imports by itself as it starts.
import simulator.app
import simulator.server  # noqa: F401
from simulator.cli import simulator as command

#: Bytes of an order: more than what can be sent as one message.
LONGEST = 1 << 20


def serve(orders: socket.socket) -> None:
    """Fork one simulator for each order, until nobody gives any more."""
    # Nobody waits for them here: who ordered a simulator sees by its stdout that it has ended.
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
    """Be a simulator as its command line starts one. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.environ.clear()
    os.environ |= order["environment"]
    command(order["arguments"], prog_name="python -m simulator")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
