"""One request until it is settled: paced by the host's budget, asked again as long as that may help."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

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


class _Trouble(NamedTuple):
    """Why to ask again; pause: seconds that the platform wants us to wait first (0: it does not say)."""

    words: str
    pause: float = 0.0
    throttled: bool = False


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
        refused = reply.status in THROTTLED
        pause = _pause_asked(reply) if refused else 0.0
        if pause > self._config.retry_after_cap:
            # Whoever asked fails; the others find out for themselves rather than wait that long.
            pause = 0.0
        self._budget.answered(granted, time.monotonic(), refused, pause)
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
        executor: Executor | None = None,
    ) -> tuple[Reply, T]:
        """The first whole answer, parsed: in the `executor` if there is one, else here and now.

        Raises Declined, Transient, or what the parser makes of it."""
        attempt = 0
        while True:
            attempt += 1
            tally.requests += 1
            try:
                reply = await send()
                tally.bytes += len(reply.body)
                fault_in_words = fault_of(reply.status, reply.headers, reply.body)
                if fault_in_words is None:
                    return reply, await _parsed(reply, parse, executor)
                trouble = self._trouble(fault_in_words, reply)
                tally.throttled += trouble.throttled
            except Fault as fault:
                trouble = _Trouble(str(fault))
            except TornBody as torn:
                trouble = _Trouble(f"a torn or invalid body ({torn})")
            except UnexpectedAnswer as error:
                raise UnexpectedAnswer(f"{question}: {error.message}", error.advice) from None
            except Unusable as error:
                raise Refused(f"{question}: {error}.", "Check CAMPUS_BASE_URL.") from None
            await self._wait(question, trouble, attempt)
            tally.retries += 1

    async def _wait(self, question: Question, trouble: _Trouble, attempt: int) -> None:
        """Sleep before the next attempt; Transient if there is to be none."""
        config = self._config
        if trouble.pause > config.retry_after_cap:
            raise Transient(
                f"{question}: {trouble.words}; the platform asks for a pause of {trouble.pause:.0f} s, "
                f"and we wait {config.retry_after_cap:.0f} s at most.",
                "Run again later.",
            )
        if attempt >= config.max_attempts:
            raise Transient(
                f"{question}: {trouble.words}, after {attempt} attempts.",
                "The platform is out of reach or overloaded: run again later. "
                "If it has never answered, check CAMPUS_BASE_URL.",
            )
        pause = trouble.pause or backoff(attempt, config.backoff_base, config.backoff_cap)
        follows = f"attempt {attempt + 1} of {config.max_attempts} follows."
        self.tell(
            Event(
                kind="throttled" if trouble.throttled else "retry",
                message=f"{question}: {trouble.words}; {follows}",
                school_id=question.school_id,
                attempt=attempt,
                seconds=pause,
            )
        )
        await asyncio.sleep(pause)

    def _trouble(self, words: str, reply: Reply) -> _Trouble:
        said = self.quote(reply)
        return _Trouble(
            f"{words} ({said})" if said else words, _pause_asked(reply), reply.status in THROTTLED
        )


def _pause_asked(reply: Reply) -> float:
    # Measured by the platform's own clock where it tells it, since ours may be wrong.
    now = http_date(reply.headers.get("date", "")) or datetime.now(UTC)
    return retry_after(reply.headers.get("retry-after"), now) or 0.0


async def _parsed(reply: Reply, parse: Callable[[bytes], T], executor: Executor | None) -> T:
    if not 200 <= reply.status < 300:
        raise Declined(reply)
    body = b"null" if reply.status == 204 else reply.body
    if executor is None:
        return parse(body)
    return await asyncio.get_running_loop().run_in_executor(executor, parse, body)
