"""One request with all of its attempts, and the sender of the requests of one client."""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

import httpx

from campus.account import Tally
from campus.http.config import ClientConfig, Pace
from campus.http.engine import (
    ENGINE_ERRORS,
    AnswerTooLarge,
    BrokenAnswer,
    NoConnection,
    TransportFault,
    UnknownHost,
    Unusable,
    engine_fault,
    open_engine,
    read_body,
)
from campus.http.envelope import open_envelope
from campus.http.errors import (
    ASK_OPERATOR,
    TOO_DEEP,
    PlatformUnavailable,
    TornBody,
    Transient,
    Unconfirmed,
    UnexpectedAnswer,
    answered,
    quoted,
    refusal,
)
from campus.http.events import Event, Listener
from campus.http.request import Answer, Pagination, Request, Response
from campus.http.retry import THROTTLED, TOO_MANY, Health, backoff, fault_of, http_date, requested_pause

T = TypeVar("T")

USER_AGENT = "campus-warehouse"
#: Seconds to wait for a token, which a platform makes at once. Nothing is read without a token, so a platform
#: that accepts connections and never answers ends a run in one minute, not in two.
TOKEN_TIMEOUT = 30.0
#: Seconds after which a waiting request checks again whether another request has found the platform down.
CHECK_SECONDS = 0.5
CHECK_ADDRESS = "Check CAMPUS_BASE_URL."
OTHER_PROGRAM = "If another program answers at that address, correct CAMPUS_BASE_URL."
ASK_FOR_LESS = (
    "If the platform may send so much, raise platform.max_answer_mb of campus.yaml; else lower "
    "platform.per_page or platform.unpaged_limit."
)
MAY_BE_DONE = "The platform may have carried it out: check before sending it again."


class Auth(Protocol):
    """The tokens of one request, through all of its attempts."""

    async def token(self) -> str:
        """A token for the next attempt that is fresh now."""

    def accept(self) -> None:
        """Note that the platform accepted the token of the last attempt."""

    async def replaced(self, response: Response) -> bool:
        """After a refusal: whether there is now another token to replay the request with."""

    def needed_scopes(self) -> str:
        """The scopes that the request needs, for the message of a refusal."""


class Declined(Exception):
    """A token request was refused: a redirect, or a 4xx that a retry does not change.

    quote: the platform's own words. str() is the end of a sentence: the status and the quote."""

    def __init__(self, response: Response, quote: str) -> None:
        super().__init__(answered(response.status, quote))
        self.response = response
        self.quote = quote


class Sender:
    """Sends the requests of one client. They share connections, slots, pace, health, and the secrets that no
    message may quote."""

    def __init__(self, config: ClientConfig, pace: Pace, listener: Listener | None) -> None:
        self.config = config
        self.health = Health()
        #: Seconds that the platform's clock is ahead of ours, by the first Date header; None: there was none.
        self.clock_skew: float | None = None
        self._pace = pace
        self._listener = listener
        self._slots = asyncio.Semaphore(config.concurrency)
        self._queue = asyncio.Lock()
        self._secrets = {config.client_secret}
        timeout = httpx.Timeout(config.read_timeout, connect=config.connect_timeout).as_dict()
        self._timeout = timeout
        self._token_timeout = {**timeout, "read": min(config.read_timeout, TOKEN_TIMEOUT)}
        self._url = httpx.URL()
        # httpx takes as long to build headers as to send them. They have tokens, so they end with the client.
        self._headers = lru_cache(maxsize=256)(_headers)
        # No client of httpx: its redirects and cookies are not needed, and cost as much as everything else.
        self._engine: httpx.AsyncBaseTransport | None = None

    async def send(self, request: Request, auth: Auth | None = None) -> Response:
        """Send once, when a slot is free and the pace grants the request. The pace learns from the response.

        auth: makes the token at the last moment; None: the request needs none. Raises TransportFault,
        AnswerTooLarge, Unusable, and the errors of the token request."""
        # A token request takes no slot: the request that waits for the token holds one.
        async with nullcontext() if request.for_token else self._slots:
            if auth is not None:
                # Wait for a missing token first: many grants of the pace would be used at once when it comes.
                await auth.token()
            granted = await self._wait_for_pace()
            token = "" if auth is None else await auth.token()
            try:
                if self._engine is None:
                    self._url = httpx.URL(self.config.base_url)
                    self._engine = open_engine(self._url)
                answer = await self._engine.handle_async_request(self._httpx_request(request, token))
                headers = dict(answer.headers.items())
                body = await read_body(answer, headers, self.config.max_answer_bytes)
            except ENGINE_ERRORS as error:
                raise engine_fault(error) from None
        response = Response(answer.status_code, headers, body)
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
            while seconds := self._pace.acquire(now := time.monotonic()):
                await self._pace.wait(seconds)
            return now

    def _httpx_request(self, request: Request, token: str) -> httpx.Request:
        school_id = None if request.for_token else request.school_id
        # The extension `target` saves parsing an address for each request, and `stream` adding headers.
        return httpx.Request(
            request.method,
            self._url,
            headers=self._headers(token, school_id, request.content_type),
            stream=httpx.ByteStream(request.content),
            extensions={
                "target": self._url.raw_path.rstrip(b"/") + (request.path + request.query).encode(),
                "timeout": self._token_timeout if request.for_token else self._timeout,
            },
        )

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

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until a request finds the platform down."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and self.health.down is None:
            await asyncio.sleep(min(left, CHECK_SECONDS))

    def give_up(self, message: str, *, outage: bool) -> PlatformUnavailable:
        """Count the platform as down: all requests in flight and all later ones end with this error."""
        self.health.down = self.health.down or PlatformUnavailable(message, outage=outage)
        return self.health.down

    async def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            await self._engine.aclose()


class RetryReason(NamedTuple):
    """Why a request has to be sent again."""

    description: str
    #: Seconds that the platform asks us to wait first; 0: it names none.
    pause: float = 0.0
    throttled: bool = False
    #: The cause may concern this request alone.
    is_alone: bool = True
    #: The platform has certainly not carried the request out.
    is_undone: bool = False
    #: No answer came.
    is_silent: bool = False


class Exchange:
    """One request and its attempts.

    tally: counts the attempts, retries and bytes. auth: provides tokens, and replays a refused request while
    it finds another token; None: the request needs no token.
    """

    def __init__(self, sender: Sender, request: Request, tally: Tally, auth: Auth | None = None) -> None:
        self.request = request
        self._sender = sender
        self._tally = tally
        self._auth = auth
        self._attempt = 0
        self._began = self._sent = time.monotonic()

    async def decoded(self, decode: Callable[[bytes], T], executor: Executor | None = None) -> Answer[T]:
        """Return the first response with status 2xx and a whole body, and its decoded content.

        decode: raises TornBody for a body that a retry may mend. executor: decodes, else the event loop does.
        Raises what `decode` raises, the error of a final refusal (Declined for a token request), and the
        errors of the token request. Raises Transient for faults that last, Unconfirmed for a fault of a
        request that must not be repeated, UnexpectedAnswer for a body that is too large, and
        PlatformUnavailable where nothing of the platform answers.
        """
        while True:
            self._sender.health.check()
            self._attempt += 1
            self._tally.requests += 1
            self._sent = time.monotonic()
            reason: RetryReason | None
            try:
                response = await self._sender.send(self.request, self._auth)
            except (TransportFault, AnswerTooLarge, Unusable) as error:
                reason = self._reason_of_fault(error)
            else:
                self._tally.bytes += len(response.body)
                response = _without_envelope(response)
                reason = self._reason_of_response(response)
                if reason is None and not await self._is_success(response):
                    continue
            if reason is None:
                try:
                    if executor is None:
                        value = decode(response.body)
                    else:
                        loop = asyncio.get_running_loop()
                        value = await loop.run_in_executor(executor, decode, response.body)
                    return Answer(value, response.status, Pagination.of(response.headers))
                except TornBody as torn:
                    reason = RetryReason(f"a torn or invalid body ({torn})")
                except UnexpectedAnswer as error:
                    raise UnexpectedAnswer(f"{self.request}: {error.message}", error.advice) from None
                except RecursionError:
                    raise UnexpectedAnswer(f"{self.request}: {TOO_DEEP}", ASK_OPERATOR) from None
            await self._back_off(reason)

    def _reason_of_fault(self, error: Exception) -> RetryReason:
        """Why the request has to be sent again. Raises the error of a request that no attempt may follow."""
        if isinstance(error, AnswerTooLarge):
            if not self.request.repeatable:
                raise Unconfirmed(f"{self.request}: {error}.", MAY_BE_DONE) from None
            raise UnexpectedAnswer(f"{self.request}: {error}.", ASK_FOR_LESS) from None
        is_unknown = isinstance(error, UnknownHost) and not self._sender.health.has_answered
        if is_unknown or isinstance(error, Unusable):
            raise self._sender.give_up(f"{self.request}: {error}. {CHECK_ADDRESS}", outage=False) from None
        is_unconnected = isinstance(error, NoConnection)
        return RetryReason(
            str(error),
            is_alone=not is_unconnected,
            is_undone=is_unconnected,
            is_silent=not isinstance(error, BrokenAnswer),
        )

    def _reason_of_response(self, response: Response) -> RetryReason | None:
        """Why the request has to be sent again; None: the response is final."""
        fault = fault_of(response.status, response.headers, response.body)
        if fault is None:
            return None
        quote = self._sender.quote(response, self.request.secrets)
        return RetryReason(
            f"{fault} ({quote})" if quote else fault,
            requested_pause(response.headers),
            throttled=response.status in THROTTLED,
            is_undone=response.status == TOO_MANY,
        )

    async def _is_success(self, response: Response) -> bool:
        """Whether a final response is a success; False: the request is to be replayed with another token.

        Raises the error of a refusal."""
        if not self.request.for_token:
            self._sender.health.answered(time.monotonic())
        if 200 <= response.status < 300:
            if self._auth is not None:
                self._auth.accept()
            return True
        if self._auth is None or not await self._auth.replaced(response):
            quote = self._sender.quote(response, self.request.secrets)
            if self.request.for_token:
                raise Declined(response, quote)
            scopes = "" if self._auth is None else self._auth.needed_scopes()
            raise refusal(self.request, response.status, quote, scopes)
        # With another token the attempts are counted afresh.
        self._attempt = 0
        self._tally.retries += 1
        return False

    async def _back_off(self, reason: RetryReason) -> None:
        """Wait before the next attempt.

        Raises Unconfirmed, Transient or PlatformUnavailable where no attempt may follow."""
        self._sender.health.failed(self._sent)
        if not (self.request.repeatable or reason.is_undone):
            raise Unconfirmed(f"{self.request}: {reason.description}.", MAY_BE_DONE)
        config, health, now = self._sender.config, self._sender.health, time.monotonic()
        if reason.pause > config.retry_after_cap:
            raise self._pause_too_long(reason)
        if health.is_spent(self._attempt, config.max_attempts, now):
            raise self._exhausted(reason, now)
        pause = reason.pause or health.paced(
            backoff(self._attempt, config.backoff_base, config.backoff_cap),
            patience=config.patience,
            shortest=config.backoff_base,
            last=self._attempt == config.max_attempts - 1,
            began=self._began,
            now=now,
        )
        follows = f"attempt {self._attempt + 1} of {config.max_attempts} follows."
        self._sender.notify(
            Event(
                kind="throttled" if reason.throttled else "retry",
                message=f"{self.request}: {reason.description}; {follows}",
            )
        )
        await self._sender.sleep(pause)
        self._tally.retries += 1

    def _pause_too_long(self, reason: RetryReason) -> Exception:
        message = (
            f"{self.request}: {reason.description}; the platform asks for a pause of {reason.pause:.0f} s, "
            f"and we wait {self._sender.config.retry_after_cap:.0f} s at most."
        )
        if self.request.for_token or self._sender.health.gave_up(self.request.path):
            return self._sender.give_up(message, outage=True)
        return Transient(message, "Run again later.")

    def _exhausted(self, reason: RetryReason, now: float) -> Exception:
        """The error after the last attempt."""
        health, address = self._sender.health, self._sender.config.base_url
        is_down = health.gave_up(self.request.path) or self.request.for_token or not reason.is_alone
        silence = health.silence(now)
        if not (is_down and silence):
            return Transient(
                f"{self.request}: {reason.description}, after {self._attempt} attempts.",
                "The platform is out of reach or overloaded: run again later. "
                "If it has never answered, check CAMPUS_BASE_URL.",
            )
        failure = "has not responded for" if reason.is_silent else "has sent no usable answer for"
        message = f"{address} {failure} {silence:.0f} s: {self.request}: {reason.description}."
        if not (health.has_answered or reason.throttled):
            message += f" {CHECK_ADDRESS if reason.is_silent else OTHER_PROGRAM}"
        return self._sender.give_up(message, outage=True)


def _headers(token: str, school_id: int | None, content_type: str) -> httpx.Headers:
    """The headers of a request."""
    optional = {
        "authorization": token and f"Bearer {token}",
        "x-school-id": "" if school_id is None else str(school_id),
        "content-type": content_type,
    }
    return httpx.Headers(
        {
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
            "connection": "keep-alive",
            "user-agent": USER_AGENT,
            **{name: value for name, value in optional.items() if value},
        }
    )


def _without_envelope(response: Response) -> Response:
    """The answer itself, with the status that an envelope names; 204, "no content", is null."""
    status, content = open_envelope(response.status, b"null" if response.status == 204 else response.body)
    if status == response.status and content is response.body:
        return response
    return replace(response, status=status, body=content)
