"""One request with all of its attempts, until a usable response has come."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from campus.account import Tally
from campus.http.envelope import open_envelope
from campus.http.errors import ASK_OPERATOR, TOO_DEEP, TornBody, Transient, Unconfirmed, UnexpectedAnswer
from campus.http.events import Event
from campus.http.request import Request, Response
from campus.http.sending.retry import THROTTLED, TOO_MANY, backoff, fault_of, requested_pause
from campus.http.sending.sender import Sender
from campus.http.sending.transport import BrokenAnswer, Fault, NoConnection, TooLarge, UnknownHost, Unusable

T = TypeVar("T")

CHECK_ADDRESS = "Check CAMPUS_BASE_URL."
OTHER_PROGRAM = "If another program answers at that address, correct CAMPUS_BASE_URL."
ASK_FOR_LESS = (
    "If the platform may send so much, raise platform.max_answer_mb of campus.yaml; else lower "
    "platform.per_page or platform.unpaged_limit."
)
MAY_BE_DONE = "The platform may have carried it out: check before sending it again."


class Auth(Protocol):
    """The tokens of one request, through all of its attempts."""

    async def headers(self) -> Mapping[str, str]:
        """All headers of the next attempt, with a fresh token."""

    def accept(self) -> None:
        """Note that the platform took the token of the last attempt."""

    async def replaced(self, response: Response) -> bool:
        """After a refusal: whether there is now another token to replay the request with."""


class Declined(Exception):
    """A final response that is not a success: a redirect, or a 4xx that a retry does not change."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


class Problem(NamedTuple):
    """Why a request has to be sent again."""

    words: str
    #: Seconds that the platform asks us to wait first; 0: it names none.
    pause: float = 0.0
    throttled: bool = False
    #: The problem may concern this request alone.
    is_alone: bool = True
    #: The platform has certainly not carried the request out.
    is_undone: bool = False
    #: No answer came.
    is_silent: bool = False


class Exchange:
    """One request and its attempts.

    tally: counts the attempts, retries and bytes. auth: provides tokens, and replays a refused request while
    it finds another token; None: the request needs no token. explain: makes the error for a final refusal.
    """

    def __init__(
        self,
        sender: Sender,
        request: Request,
        tally: Tally,
        auth: Auth | None = None,
        explain: Callable[[Response], Exception] = Declined,
    ) -> None:
        self.request = request
        self._sender = sender
        self._tally = tally
        self._auth = auth
        self._explain = explain
        self._attempt = 0
        self._began = self._sent = time.monotonic()

    async def response(self) -> Response:
        """The next response with status 2xx, without an envelope around its body.

        Raises what `explain` makes of a final refusal, and the errors of the token request. Raises Transient
        for faults that last, Unconfirmed for a fault of a request that must not be repeated, UnexpectedAnswer
        for a body that is too large, and PlatformUnavailable where nothing of the platform answers.
        """
        while True:
            self._sender.health.check()
            self._attempt += 1
            self._tally.requests += 1
            self._sent = time.monotonic()
            try:
                response = await self._sender.send(
                    self.request, None if self._auth is None else self._auth.headers
                )
            except TooLarge as error:
                if not self.request.repeatable:
                    raise Unconfirmed(f"{self.request}: {error}.", MAY_BE_DONE) from None
                raise UnexpectedAnswer(f"{self.request}: {error}.", ASK_FOR_LESS) from None
            except Unusable as error:
                raise self._unusable(error) from None
            except Fault as fault:
                if isinstance(fault, UnknownHost) and not self._sender.health.has_answered:
                    raise self._unusable(fault) from None
                unconnected = isinstance(fault, NoConnection)
                is_silent = not isinstance(fault, BrokenAnswer)
                await self._back_off(
                    Problem(str(fault), is_alone=not unconnected, is_undone=unconnected, is_silent=is_silent)
                )
                continue
            self._tally.bytes += len(response.body)
            response = _without_envelope(response)
            problem = self._problem(response)
            if problem is not None:
                await self._back_off(problem)
                continue
            if not self.request.for_token:
                self._sender.health.answered(time.monotonic())
            if 200 <= response.status < 300:
                if self._auth is not None:
                    self._auth.accept()
                return response
            if self._auth is None or not await self._auth.replaced(response):
                raise self._explain(response) from None
            # With another token the attempts are counted afresh.
            self._attempt = 0
            self._tally.retries += 1

    async def retry(self, reason: str) -> None:
        """Reject the last response for its body, and wait before the next attempt."""
        await self._back_off(Problem(reason))

    def _unusable(self, error: Exception) -> Exception:
        return self._sender.give_up(f"{self.request}: {error}. {CHECK_ADDRESS}", outage=False)

    def _problem(self, response: Response) -> Problem | None:
        """Why the request has to be sent again; None: the response is final."""
        words = fault_of(response.status, response.headers, response.body)
        if words is None:
            return None
        said = self._sender.quote(response, self.request.secrets)
        return Problem(
            f"{words} ({said})" if said else words,
            requested_pause(response.headers),
            throttled=response.status in THROTTLED,
            is_undone=response.status == TOO_MANY,
        )

    async def _back_off(self, problem: Problem) -> None:
        """Wait before the next attempt.

        Raises Unconfirmed, Transient or PlatformUnavailable where no attempt may follow."""
        self._sender.health.failed(self._sent)
        if not (self.request.repeatable or problem.is_undone):
            raise Unconfirmed(f"{self.request}: {problem.words}.", MAY_BE_DONE)
        config, health, now = self._sender.config, self._sender.health, time.monotonic()
        if problem.pause > config.retry_after_cap:
            words = (
                f"{self.request}: {problem.words}; the platform asks for a pause of {problem.pause:.0f} s, "
                f"and we wait {config.retry_after_cap:.0f} s at most."
            )
            if self.request.for_token or health.gave_up(self.request.path):
                raise self._sender.give_up(words, outage=True)
            raise Transient(words, "Run again later.")
        if health.is_spent(self._attempt, config.max_attempts, now):
            is_down = health.gave_up(self.request.path) or self.request.for_token or not problem.is_alone
            if is_down and health.silence(now):
                advice = f" {CHECK_ADDRESS if problem.is_silent else OTHER_PROGRAM}"
                if health.has_answered or problem.throttled:
                    advice = ""
                why = f"{health.silence(now):.0f} s: {self.request}: {problem.words}.{advice}"
                raise self._sender.give_up(
                    f"{config.base_url} has not responded for {why}"
                    if problem.is_silent
                    else f"{config.base_url} has sent no usable answer for {why}",
                    outage=True,
                )
            raise Transient(
                f"{self.request}: {problem.words}, after {self._attempt} attempts.",
                "The platform is out of reach or overloaded: run again later. "
                "If it has never answered, check CAMPUS_BASE_URL.",
            )
        pause = problem.pause or health.paced(
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
                kind="throttled" if problem.throttled else "retry",
                message=f"{self.request}: {problem.words}; {follows}",
            )
        )
        await self._sender.rest(pause)
        self._tally.retries += 1


async def decoded_response(
    exchange: Exchange, decode: Callable[[bytes], T], executor: Executor | None = None
) -> tuple[Response, T]:
    """The first response whose body is not torn, and its decoded body.

    decode: raises TornBody for a body that a retry may mend. executor: decodes; None: the event loop does.
    Raises what `decode` and `Exchange.response` raise."""
    while True:
        response = await exchange.response()
        try:
            if executor is None:
                return response, decode(response.body)
            return response, await asyncio.get_running_loop().run_in_executor(executor, decode, response.body)
        except TornBody as torn:
            await exchange.retry(f"a torn or invalid body ({torn})")
        except UnexpectedAnswer as error:
            raise UnexpectedAnswer(f"{exchange.request}: {error.message}", error.advice) from None
        except RecursionError:
            raise UnexpectedAnswer(f"{exchange.request}: {TOO_DEEP}", ASK_OPERATOR) from None


def _without_envelope(response: Response) -> Response:
    """The answer itself, with the status that an envelope names; 204, "no content", is null."""
    status, content = open_envelope(response.status, b"null" if response.status == 204 else response.body)
    if status == response.status and content is response.body:
        return response
    return replace(response, status=status, body=content)
