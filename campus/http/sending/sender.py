"""Sending one request once: slot, pace, token, transport."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime

from campus.http.config import ClientConfig
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event, Listener
from campus.http.messages import quoted
from campus.http.request import Request, Response
from campus.http.sending.health import Health
from campus.http.sending.retry import THROTTLED, http_date, requested_pause
from campus.http.sending.transport import Transport
from campus.http.shared import Pace

# Seconds after which a waiting request checks again whether another request has found the platform down.
CHECK_SECONDS = 0.5


class Sender:
    """Sends the requests of one client. They share connections, slots, pace, health, and the secrets that no
    message may quote."""

    def __init__(
        self, config: ClientConfig, transport: Transport, pace: Pace, listener: Listener | None
    ) -> None:
        self.config = config
        self.health = Health()
        #: Seconds that the platform's clock is ahead of ours, by the first Date header; None: there was none.
        self.clock_skew: float | None = None
        self._transport = transport
        self._pace = pace
        self._listener = listener
        self._slots = asyncio.Semaphore(config.concurrency)
        self._queue = asyncio.Lock()
        self._secrets = {config.client_secret}

    def keep_secret(self, text: str) -> None:
        """Never quote this text."""
        self._secrets.add(text)

    def quote(self, response: Response, secrets: Iterable[str] = ()) -> str:
        """The platform's own words in a refusal, short, and without these secrets and those of the client."""
        return quoted(response.body, (*self._secrets, *secrets))

    def notify(self, event: Event) -> None:
        """Pass an event on to the listener, if there is one."""
        if self._listener is not None:
            self._listener(event)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def send(
        self, request: Request, headers: Callable[[], Awaitable[Mapping[str, str]]] | None
    ) -> Response:
        """Send once, when a slot is free and the pace grants the request. The pace learns from the response.

        headers: makes the headers with a token at the last moment; None: the request has its own. Raises what
        `Transport.send` raises."""
        # A token request takes no slot: the request that waits for the token holds one.
        async with nullcontext() if request.for_token else self._slots:
            if headers is not None:
                # Wait for a missing token first: many grants of the pace would be used at once when it comes.
                await headers()
            granted = await self._wait_for_pace()
            response = await self._transport.send(
                request, request.headers if headers is None else {**request.headers, **await headers()}
            )
        if self.clock_skew is None and (date := http_date(response.headers.get("date", ""))):
            self.clock_skew = (date - datetime.now(UTC)).total_seconds()
        throttled = response.status in THROTTLED
        pause = requested_pause(response.headers) if throttled else 0.0
        if pause > self.config.retry_after_cap:
            # This request fails. Others do not wait that long: each is sent and fails by itself.
            pause = 0.0
        self._pace.answered(granted, time.monotonic(), throttled, pause)
        return response

    async def _wait_for_pace(self) -> float:
        """Wait until the pace grants a request; the moment of the grant, in monotonic seconds."""
        now = time.monotonic()
        if not self._queue.locked() and not self._pace.acquire(now):
            return now
        # The queue serves requests in their order.
        async with self._queue:
            while wait := self._pace.acquire(now := time.monotonic()):
                await self._pace.rest(wait)
            return now

    async def rest(self, seconds: float) -> None:
        """Sleep, but no longer than until a request finds the platform down."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and self.health.down is None:
            await asyncio.sleep(min(left, CHECK_SECONDS))

    def give_up(self, message: str, *, outage: bool) -> PlatformUnavailable:
        """Count the platform as down: all requests in flight and all later ones end with this error."""
        self.health.down = self.health.down or PlatformUnavailable(message, outage=outage)
        return self.health.down
