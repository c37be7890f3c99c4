"""A simulation of discrete events: processes that sleep, and servers with queues.

A process is a generator. It yields seconds to sleep, or `server.take()` to wait for a slot of a server, which
it gives back with `server.free()`.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import count

Process = Generator["float | Take", None, None]


@dataclass(frozen=True)
class Take:
    """The wait for a slot of a server."""

    server: Server


@dataclass
class Simulation:
    """The clock, and the processes that wait for their time."""

    now: float = 0.0
    _due: list[tuple[float, int, Process]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def start(self, process: Process, after: float = 0.0) -> None:
        """Begin a process `after` seconds from now."""
        # The number keeps processes of the same time in their order.
        heapq.heappush(self._due, (self.now + after, next(self._numbers), process))

    def run(self) -> float:
        """Run until no process is left; returns the time."""
        while self._due:
            self.now, _, process = heapq.heappop(self._due)
            wait = next(process, None)
            if isinstance(wait, Take):
                wait.server.enqueue(process)
            elif wait is not None:
                self.start(process, wait)
        return self.now


@dataclass
class Server:
    """Slots that processes take in the order of their arrival."""

    simulation: Simulation
    slots: int = 1
    arrivals: int = 0
    _busy: int = 0
    _waiting: deque[Process] = field(default_factory=deque)
    _changed_at: float = 0.0
    _busy_seconds: float = 0.0
    _present_seconds: float = 0.0

    def take(self) -> Take:
        """The wait for a slot."""
        return Take(self)

    def use(self, seconds: float) -> Process:
        """Take a slot for some seconds (`yield from`)."""
        yield self.take()
        yield seconds
        self.free()

    def enqueue(self, process: Process) -> None:
        """Let a process continue once a slot is free."""
        self._count()
        self.arrivals += 1
        if self._busy < self.slots:
            self._busy += 1
            self.simulation.start(process)
        else:
            self._waiting.append(process)

    def free(self) -> None:
        """Give a slot back."""
        self._count()
        if self._waiting:
            self.simulation.start(self._waiting.popleft())
        else:
            self._busy -= 1

    @property
    def utilisation(self) -> float:
        """The share of the slots that was taken, from the beginning until now."""
        self._count()
        return self._busy_seconds / (self.slots * self.simulation.now)

    @property
    def mean_present(self) -> float:
        """The mean number of processes that waited for a slot or had one."""
        self._count()
        return self._present_seconds / self.simulation.now

    def _count(self) -> None:
        passed = self.simulation.now - self._changed_at
        self._busy_seconds += passed * self._busy
        self._present_seconds += passed * (self._busy + len(self._waiting))
        self._changed_at = self.simulation.now
