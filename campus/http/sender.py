"""The one way of a request: slot, pace, token, transport; then parsed, retried or replayed."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, TypeVar

from campus.http.config import ClientConfig
from campus.http.envelope import opened
from campus.http.errors import Halt, TornBody, Transient, Unconfirmed, UnexpectedAnswer
from campus.http.events import Event, Listener, Tally
from campus.http.health import Health
from campus.http.messages import quoted
from campus.http.request import Request
from campus.http.retry import THROTTLED, TOO_MANY, backoff, fault_of, http_date, retry_after
from campus.http.shared import Pace
from campus.http.transport import Fault, NoConnection, Reply, TooLarge, Transport, UnknownHost, Unusable

T = TypeVar("T")

# Seconds between two looks, while a request waits, at whether another one has found the platform down.
LOOK = 0.5
CHECK_ADDRESS = "Check CAMPUS_BASE_URL."
ASK_FOR_LESS = (
    "If the platform may send so much, raise platform.max_answer_mb of campus.yaml; else lower "
    "platform.per_page or platform.unpaged_limit."
)
MAY_BE_DONE = "The platform may have carried it out: look before it is sent again."


class Auth(Protocol):
    """The tokens of one request, through all of its attempts."""

    async def headers(self) -> Mapping[str, str]:
        """All headers of the next attempt, with a token that is fresh now."""

    def accept(self) -> None:
        """Note that the platform took the token of the last attempt."""

    async def replaced(self, reply: Reply) -> bool:
        """After a refusal: whether there is now another token to replay the request with."""


class Declined(Exception):
    """A final answer that is no success: a redirect or a 4xx that asking again does not change."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class _Trouble(NamedTuple):
    """Why to ask again; pause: seconds that the platform wants us to wait first (0: it does not say);
    alone: it concerns this request, as far as we know; undone: the platform has not carried it out."""

    words: str
    pause: float = 0.0
    throttled: bool = False
    alone: bool = True
    undone: bool = False


class Sender:
    """Sends the requests of one client: they share its connections, its slots, the platform's pace,
    what they have found of its health, and the secrets that no message may quote."""

    def __init__(
        self, config: ClientConfig, transport: Transport, pace: Pace, listener: Listener | None
    ) -> None:
        self._config = config
        self._transport = transport
        self._pace = pace
        self._listener = listener
        self._slots = asyncio.Semaphore(config.concurrency)
        self._queue = asyncio.Lock()
        self._in_line = 0
        self.health = Health()
        self._secrets = {config.client_secret}

    def keep_secret(self, text: str) -> None:
        """Never quote this text."""
        self._secrets.add(text)

    def quote(self, reply: Reply, secrets: Iterable[str] = ()) -> str:
        """The platform's own words in a refusal, short and without secrets, ours and those of the request."""
        return quoted(reply.body, (*self._secrets, *secrets))

    def notify(self, event: Event) -> None:
        """Pass an event on to the listener, if there is one."""
        if self._listener is not None:
            self._listener(event)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def send(
        self,
        request: Request,
        parse: Callable[[bytes], T],
        tally: Tally,
        auth: Auth | None = None,
        executor: Executor | None = None,
    ) -> tuple[Reply, T]:
        """The first whole answer, parsed: in the `executor` if there is one, else here and now.

        auth: replays a refused request while it finds another token; None: the request needs no token.
        Raises Declined for a refusal that stays, Transient for faults that last, Unconfirmed for a fault of a
        request that is not to be repeated, Halt where nothing of the platform answers, and whatever error the
        parser or the token request raises."""
        attempt, began = 0, time.monotonic()
        while True:
            if self.health.down is not None:
                raise self.health.down.with_traceback(None)
            attempt += 1
            tally.requests += 1
            sent = time.monotonic()
            try:
                reply = await self._attempt(request, auth)
                tally.bytes += len(reply.body)
                reply = _without_envelope(reply)
                trouble = self._trouble(request, reply)
                if trouble is None and not request.for_token:
                    self.health.answered(time.monotonic())
                if trouble is None and 200 <= reply.status < 300:
                    if executor is None:
                        value = parse(reply.body)
                    else:
                        loop = asyncio.get_running_loop()
                        value = await loop.run_in_executor(executor, parse, reply.body)
                    if auth is not None:
                        auth.accept()
                    return reply, value
            except UnknownHost as fault:
                if self.health.last_answer < 0:
                    raise self.halt(f"{request}: {fault}. {CHECK_ADDRESS}", outage=False) from None
                trouble = _Trouble(str(fault), alone=False, undone=True)
            except NoConnection as fault:
                trouble = _Trouble(str(fault), alone=False, undone=True)
            except Fault as fault:
                trouble = _Trouble(str(fault))
            except TooLarge as error:
                if not request.repeatable:
                    raise Unconfirmed(f"{request}: {error}.", MAY_BE_DONE) from None
                raise UnexpectedAnswer(f"{request}: {error}.", ASK_FOR_LESS) from None
            except TornBody as torn:
                trouble = _Trouble(f"a torn or invalid body ({torn})")
            except UnexpectedAnswer as error:
                raise UnexpectedAnswer(f"{request}: {error.message}", error.advice) from None
            except Unusable as error:
                raise self.halt(f"{request}: {error}. {CHECK_ADDRESS}", outage=False) from None
            if trouble is not None:
                self.health.failed(sent)
                if not (request.repeatable or trouble.undone):
                    raise Unconfirmed(f"{request}: {trouble.words}.", MAY_BE_DONE)
                await self._wait(request, trouble, attempt, began)
            elif auth is not None and await auth.replaced(reply):
                # With another token the retries are counted afresh.
                attempt = 0
            else:
                raise Declined(reply)
            tally.retries += 1

    async def _attempt(self, request: Request, auth: Auth | None) -> Reply:
        """Send once, when a slot is free and the pace grants it; the pace learns from the answer."""
        # A token request takes no slot: the request that waits for the token holds one.
        async with nullcontext() if request.for_token else self._slots:
            granted = await self._granted()
            headers = request.headers if auth is None else {**request.headers, **await auth.headers()}
            reply = await self._transport.send(request, headers)
        throttled = reply.status in THROTTLED
        pause = _pause_asked(reply) if throttled else 0.0
        if pause > self._config.retry_after_cap:
            # This request fails; the others find out for themselves rather than wait that long.
            pause = 0.0
        self._pace.answered(granted, time.monotonic(), throttled, pause)
        return reply

    async def _granted(self) -> float:
        """Wait for the pace; the moment of its grant, by the monotonic clock in seconds."""
        now = time.monotonic()
        if not self._queue.locked() and not self._pace.acquire(now):
            return now
        self._in_line += 1
        try:
            # In line, so that whoever asked first is served first.
            async with self._queue:
                while wait := self._pace.acquire(now := time.monotonic()):
                    await self._pace.rest(wait, self._in_line)
                return now
        finally:
            self._in_line -= 1

    async def _wait(self, request: Request, trouble: _Trouble, attempt: int, began: float) -> None:
        """Sleep before the next attempt; Transient or Halt if there is to be none. began: the request."""
        config, health, now = self._config, self.health, time.monotonic()
        if trouble.pause > config.retry_after_cap:
            words = (
                f"{request}: {trouble.words}; the platform asks for a pause of {trouble.pause:.0f} s, "
                f"and we wait {config.retry_after_cap:.0f} s at most."
            )
            if request.for_token or health.gave_up(request.path):
                raise self.halt(words, outage=True)
            raise Transient(words, "Run again later.")
        if health.is_spent(attempt, config.max_attempts, now):
            is_down = health.gave_up(request.path) or request.for_token or not trouble.alone
            if is_down and health.silence(now):
                raise self.halt(
                    f"{config.base_url} answers nothing, for {health.silence(now):.0f} s by now: "
                    f"{request}: {trouble.words}.",
                    outage=True,
                )
            raise Transient(
                f"{request}: {trouble.words}, after {attempt} attempts.",
                "The platform is out of reach or overloaded: run again later. "
                "If it has never answered, check CAMPUS_BASE_URL.",
            )
        pause = trouble.pause or health.paced(
            backoff(attempt, config.backoff_base, config.backoff_cap),
            patience=config.patience,
            shortest=config.backoff_base,
            last=attempt == config.max_attempts - 1,
            began=began,
            now=now,
        )
        follows = f"attempt {attempt + 1} of {config.max_attempts} follows."
        self.notify(
            Event(
                kind="throttled" if trouble.throttled else "retry",
                message=f"{request}: {trouble.words}; {follows}",
            )
        )
        await self._rest(pause)

    async def _rest(self, seconds: float) -> None:
        """Sleep, or as long as nobody finds the platform down."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and self.health.down is None:
            await asyncio.sleep(min(left, LOOK))

    def halt(self, message: str, *, outage: bool) -> Halt:
        """Why nothing more can be asked; whatever is in flight or follows ends with it."""
        self.health.down = self.health.down or Halt(message, outage=outage)
        return self.health.down

    def _trouble(self, request: Request, reply: Reply) -> _Trouble | None:
        """Why the request is to be sent again; None: the answer is final."""
        words = fault_of(reply.status, reply.headers, reply.body)
        if words is None:
            return None
        said = self.quote(reply, request.secrets)
        return _Trouble(
            f"{words} ({said})" if said else words,
            _pause_asked(reply),
            throttled=reply.status in THROTTLED,
            undone=reply.status == TOO_MANY,
        )


def _without_envelope(reply: Reply) -> Reply:
    """The answer itself, with the status that an envelope names; 204, "no content", is null."""
    status, content = opened(reply.status, b"null" if reply.status == 204 else reply.body)
    if status == reply.status and content is reply.body:
        return reply
    return replace(reply, status=status, body=content)


def _pause_asked(reply: Reply) -> float:
    # Measured by the platform's own clock where it sends it, since ours may be wrong.
    now = http_date(reply.headers.get("date", "")) or datetime.now(UTC)
    return retry_after(reply.headers.get("retry-after"), now) or 0.0
