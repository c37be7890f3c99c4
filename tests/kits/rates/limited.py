"""Workers that share the rate of a platform with a limit, by a simulated clock."""

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import httpx
import msgspec

from campus.http.config import ClientConfig
from campus.http.exchange import Sender
from campus.http.request import Request
from pipelines.shared.pace import SharedPace
from pipelines.shared.rate_table import Reading
from pipelines.shared.shares import EXCHANGE_SECONDS, Report, SharedRate
from tests.kits.rates.simulated_clock import run_simulated

Kind = Literal["fixed window", "sliding window", "token bucket", "unlimited"]
#: Seconds of a response.
RESPONSE = 0.02
#: The database's clock minus that of the processes.
CLOCK_OFFSET = 5000.0


@dataclass
class Limited:
    """A platform that accepts `limit` requests a second. `pause`: its Retry-After; 0: it names none.

    `strays`: the share of requests that it refuses below the limit, without a pause. `counted_from`: the
    second of the trial from which the accepted requests of each worker are counted."""

    kind: Kind
    limit: int = 100
    pause: int = 1
    strays: float = 0.0
    counted_from: float = 0.0
    accepted: Counter[int] = field(default_factory=Counter)
    #: By the second, how many were accepted and refused.
    by_second: dict[int, list[int]] = field(default_factory=dict)
    _second: int = 0
    _times: deque[float] = field(default_factory=deque)
    _tokens: float = 0.0
    _refilled: float = 0.0
    _dice: random.Random = field(default_factory=lambda: random.Random(1))

    def answer(self, worker: int) -> httpx.Response:
        """The response to a request that comes now."""
        now = time.monotonic()
        limited = self._is_over(now)
        stray = not limited and self._dice.random() < self.strays
        self.accepted[worker] += now - 1000 >= self.counted_from and not (limited or stray)
        self.by_second.setdefault(int(now), [0, 0])[limited or stray] += 1
        if limited and self.pause:
            return httpx.Response(429, headers={"retry-after": str(self.pause)}, content=b"")
        return httpx.Response(429 if limited or stray else 200, content=b"")

    def between(self, first: float, last: float) -> tuple[float, float]:
        """The accepted requests a second, and the share of refusals, between two seconds of the trial."""
        seconds = sorted(self.by_second)
        own = [self.by_second[second] for second in seconds if first <= second - 1000 < last]
        accepted, refused = sum(second[0] for second in own), sum(second[1] for second in own)
        return accepted / (last - first), refused / (accepted + refused)

    def _is_over(self, now: float) -> bool:
        if self.kind == "unlimited":
            return False
        if self.kind == "token bucket":
            burst = self.limit / 10
            self._tokens = min(burst, self._tokens + (now - self._refilled) * self.limit)
            self._refilled = now
            self._tokens -= (over := self._tokens < 1) is False
            return over
        if self.kind == "fixed window" and int(now) != self._second:
            self._second = int(now)
            self._times.clear()
        while self._times and self._times[0] <= now - 1:
            self._times.popleft()
        if len(self._times) >= self.limit:
            return True
        self._times.append(now)
        return False


@dataclass
class MemoryTable:
    """The shared rate of all processes. `latency`: seconds of a round trip to the database."""

    latency: float = 0.0
    is_gone: bool = False
    reports: list[Report] = field(default_factory=list)
    state: SharedRate | None = None
    _is_locked: bool = False

    def is_away(self, now: float) -> bool:
        """Whether the database is away."""
        return self.is_gone

    async def exchange(self, report: Report, *, urgent: bool) -> Reading | None:
        """Report and read, in the round trips that `RateTable` needs."""
        # Whether the connection is alive, the begin, and the exchange itself.
        await asyncio.sleep(3 * self.latency)
        if self.is_gone:
            return None
        now = time.monotonic() + CLOCK_OFFSET
        self.reports.append(report)
        rate = self.state = self.state or SharedRate.first(now)
        if not self._is_locked and (urgent or now - rate.added_at >= EXCHANGE_SECONDS):
            self._is_locked = True
            reports, self.reports = self.reports, []
            # Others read the new state when the transaction has ended.
            rate = _stored(rate)
            rate.add(reports, now)
            await asyncio.sleep(4 * self.latency)
            self.state, self._is_locked = rate, False
        else:
            await asyncio.sleep(self.latency)
        return Reading(_stored(rate), CLOCK_OFFSET)


def _stored(rate: SharedRate) -> SharedRate:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(rate), type=SharedRate)


class _Engine(httpx.AsyncBaseTransport):
    """Sends the requests of one worker to the platform."""

    def __init__(self, platform: Limited, worker: int) -> None:
        self._platform, self._worker = platform, worker

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(RESPONSE / 2)
        response = self._platform.answer(self._worker)
        await asyncio.sleep(RESPONSE / 2)
        return response


def work(
    platform: Limited,
    table: MemoryTable,
    workers: int,
    seconds: float,
    *,
    concurrency: int | None = None,
    begins: Mapping[int, float] | None = None,
    meanwhile: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send as many requests as the shared rate grants, with `workers` processes.

    begins: when a worker begins to send, where that is not at once."""
    request = Request("GET", "/api/v3/semesters", 101)

    async def send(number: int) -> None:
        config = ClientConfig("http://platform.invalid", "client", "secret")
        pace = SharedPace(table, f"{number:03}")
        sender = Sender(config, pace, None)
        sender._engine = _Engine(platform, number)

        async def again() -> None:
            while True:
                response = await sender.send(request)
                if response.status == 429:
                    await asyncio.sleep(float(response.headers.get("retry-after", 0.5)))

        await asyncio.sleep((begins or {}).get(number, number / workers * 0.3))
        await pace.exchange()
        await asyncio.gather(*(again() for _ in range(concurrency or config.concurrency)))

    async def all_workers() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                others = [meanwhile()] if meanwhile else []
                await asyncio.gather(*(send(number) for number in range(workers)), *others)

    run_simulated(all_workers())


def fairness(platform: Limited) -> float:
    """The fewest accepted requests of a worker as a share of the most."""
    return min(platform.accepted.values()) / max(platform.accepted.values())
