"""One request until it is settled: paced by the host's budget, asked again as long as that may help."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from campus.budget import Budget
from campus.config import ClientConfig
from campus.errors import Refused, TornBody, Transient, UnexpectedAnswer
from campus.events import Event, Listener, Tally
from campus.explain import Question, quoted
from campus.retry import THROTTLED, backoff, fault_of, http_date, retry_after
from campus.transport import Fault, Reply, Transport, Unusable

T = TypeVar("T")


class Declined(Exception):
    """A final answer that is no success: a redirect or a 4xx that asking again does not change."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class Exchange:
    """What all requests to one platform share: transport, budget, retries, and the secrets to keep quiet."""

    def __init__(
        self, config: ClientConfig, transport: Transport, budget: Budget, listener: Listener | None
    ) -> None:
        self.transport = transport
        self._config = config
        self._budget = budget
        self._listener = listener
        self._queue = asyncio.Lock()
        self._secrets = {config.client_secret}

    def keep_secret(self, text: str) -> None:
        """Never quote this text."""
        self._secrets.add(text)

    def quote(self, reply: Reply) -> str:
        """The platform's own words in a refusal, short and without secrets."""
        return quoted(reply.body, self._secrets)

    def tell(self, event: Event) -> None:
        """Pass an event on to the listener, if there is one."""
        if self._listener is not None:
            self._listener(event)

    async def once(self, send: Callable[[], Awaitable[Reply]]) -> Reply:
        """Send when the budget grants it, and let the budget learn from the answer."""
        granted = await self._granted()
        reply = await send()
        pause = self._pause_asked(reply) if reply.status in THROTTLED else None
        too_long = pause is not None and pause > self._config.retry_after_cap
        self._budget.answered(
            granted, time.monotonic(), reply.status in THROTTLED, 0.0 if pause is None or too_long else pause
        )
        return reply

    async def _granted(self) -> float:
        now = time.monotonic()
        if not self._queue.locked() and not self._budget.acquire(now):
            return now
        # In line, so that whoever asked first is served first.
        async with self._queue:
            while wait := self._budget.acquire(now := time.monotonic()):
                await asyncio.sleep(wait)
            return now

    async def settle(
        self,
        question: Question,
        send: Callable[[], Awaitable[Reply]],
        parse: Callable[[bytes], T],
        tally: Tally,
    ) -> tuple[Reply, T]:
        """The first whole answer, parsed. Raises Declined, Transient, or what the parser makes of it."""
        attempt = 0
        while True:
            attempt += 1
            tally.requests += 1
            pause = None
            try:
                reply = await send()
                tally.bytes += len(reply.body)
                trouble = fault_of(reply.status, reply.headers, reply.body)
                if trouble is None:
                    return reply, _parsed(reply, parse)
                tally.throttled += reply.status in THROTTLED
                pause = self._pause_asked(reply)
                said = self.quote(reply)
                trouble = f"{trouble} ({said})" if said else trouble
            except Fault as fault:
                trouble = str(fault)
            except TornBody as torn:
                trouble = f"a torn or invalid body ({torn})"
            except UnexpectedAnswer as error:
                raise UnexpectedAnswer(f"{question}: {error.message}", error.advice) from None
            except Unusable as error:
                raise Refused(f"{question}: {error}.", "Check CAMPUS_BASE_URL.") from None
            await self._wait(question, trouble, attempt, pause)
            tally.retries += 1

    async def _wait(self, question: Question, trouble: str, attempt: int, asked: float | None) -> None:
        """Sleep before the next attempt; Transient if there is to be none."""
        config = self._config
        if asked is not None and asked > config.retry_after_cap:
            raise Transient(
                f"{question}: {trouble}; the platform asks for a pause of {asked:.0f} s, "
                f"and we wait {config.retry_after_cap:.0f} s at most.",
                "Run again later.",
            )
        if attempt >= config.max_attempts:
            raise Transient(
                f"{question}: {trouble}, after {attempt} attempts.",
                "The platform is out of reach or overloaded: run again later. "
                "If it has never answered, check CAMPUS_BASE_URL.",
            )
        pause = backoff(attempt, config.backoff_base, config.backoff_cap) if asked is None else asked
        self.tell(
            Event(
                kind="throttled" if asked is not None else "retry",
                message=f"{question}: {trouble}; attempt {attempt + 1} of {config.max_attempts} follows.",
                school_id=question.school_id,
                attempt=attempt,
                seconds=pause,
            )
        )
        await asyncio.sleep(pause)

    def _pause_asked(self, reply: Reply) -> float | None:
        # Measured by the platform's own clock where it tells it, since ours may be wrong.
        now = http_date(reply.headers.get("date", "")) or datetime.now(UTC)
        return retry_after(reply.headers.get("retry-after"), now)


def _parsed(reply: Reply, parse: Callable[[bytes], T]) -> T:
    if 200 <= reply.status < 300:
        return parse(reply.body)
    raise Declined(reply)
