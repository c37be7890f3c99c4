"""The client of the platform's interface: one GET with all that makes it dependable."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import quote

from campus.budget import budget_for
from campus.config import ClientConfig
from campus.events import Listener, Tally
from campus.exchange import Declined, Exchange
from campus.explain import Question, refusal
from campus.paging import Pagination
from campus.token import Grant, Token, school_header
from campus.transport import Reply, Transport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the parser made of the body, and the pagination headers that came with it (None: none)."""

    value: T
    pagination: Pagination | None


class Client:
    """Reads one platform, all of its schools; an async context manager, for one event loop.

    scopes: what the selected resources need: for each its scopes of which any one suffices, least first.
    """

    def __init__(
        self, config: ClientConfig, scopes: Iterable[tuple[str, ...]] = (), listener: Listener | None = None
    ) -> None:
        self.config = config
        # The greatest page that the platform takes, as far as it is known.
        self.per_page = config.per_page
        self._scopes = tuple(scopes)
        self._transport = Transport(config)
        self._exchange = Exchange(config, self._transport, budget_for(config.base_url), listener)
        self._slots = asyncio.Semaphore(config.concurrency)
        self._grants: dict[int | None, Grant] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int],
        *,
        school_id: int | None,
        scope: tuple[str, ...] = (),
        parse: Callable[[bytes], T],
        executor: Executor | None = None,
        tally: Tally | None = None,
        anonymous: bool = False,
    ) -> Answer[T]:
        """GET `path` below the base address and parse the body.

        path: percent-encoded where a segment comes from data (see `segment`); params are encoded here.
        scope: the scopes of which any one suffices, least first. parse: raises TornBody for a body to ask
        for again and UnexpectedAnswer for one that no asking mends. executor: where to parse what takes long;
        None: in the event loop, which waits. anonymous: without a token.
        Raises a CampusError for what went wrong for good.
        """
        question = Question("GET", path, school_id)
        target = path + _query(params)
        tally = Tally() if tally is None else tally
        if anonymous:
            return await self._get_anonymous(question, target, parse, tally)
        grant = self._grant(school_id)
        token: Token | None = None

        async def send_with_token() -> Reply:
            nonlocal token
            token = await grant.current()
            return await self._transport.get(target, token.headers)

        tries = self.config.max_attempts
        while True:
            try:
                reply, value = await self._settle(question, send_with_token, parse, tally, executor)
            except Declined as declined:
                tries -= 1
                reply = declined.reply
                if token is None or not tries or not await _mended(grant, token, reply.status, scope):
                    said = self._exchange.quote(reply)
                    raise refusal(question, reply.status, said, grant.in_words(scope)) from None
                tally.retries += 1
            else:
                if token is not None:
                    grant.accept(token)
                return Answer(value, Pagination.of(reply.headers))

    @property
    def clock_skew(self) -> float | None:
        """Seconds that the platform's clock is ahead of ours, by a token answer's Date; None: unknown."""
        tokens = (grant.token for grant in self._grants.values())
        return next((token.clock_skew for token in tokens if token is not None), None)

    async def _get_anonymous(
        self, question: Question, target: str, parse: Callable[[bytes], T], tally: Tally
    ) -> Answer[T]:
        async def send() -> Reply:
            return await self._transport.get(target, school_header(question.school_id))

        try:
            reply, value = await self._settle(question, send, parse, tally)
        except Declined as declined:
            reply = declined.reply
            raise refusal(question, reply.status, self._exchange.quote(reply)) from None
        return Answer(value, Pagination.of(reply.headers))

    async def _settle(
        self,
        question: Question,
        send: Callable[[], Awaitable[Reply]],
        parse: Callable[[bytes], T],
        tally: Tally,
        executor: Executor | None = None,
    ) -> tuple[Reply, T]:
        """Settle a business request, each attempt in one of the slots that bound the concurrency."""

        async def send_in_slot() -> Reply:
            async with self._slots:
                return await self._exchange.once(send)

        return await self._exchange.settle(question, send_in_slot, parse, tally, executor)

    def _grant(self, school_id: int | None) -> Grant:
        grant = self._grants.get(school_id)
        if grant is None:
            grant = Grant(self.config, self._exchange, self._scopes, school_id)
            self._grants[school_id] = grant
        return grant


async def _mended(grant: Grant, token: Token, status: int, scope: tuple[str, ...]) -> bool:
    """Whether there is now a token that makes another attempt worthwhile."""
    if status == 401:
        return await grant.replace_refused(token)
    grant.accept(token)
    return status == 403 and await grant.widen(token, scope)


def _query(params: Mapping[str, str | int]) -> str:
    # Commas separate the ids of a list, and v1 names its paging parameters with a dollar sign: both are legal
    # in a query as they are (RFC 3986), and shorter.
    pairs = (f"{quote(name, safe='$')}={quote(str(value), safe=',')}" for name, value in params.items())
    query = "&".join(pairs)
    return f"?{query}" if query else ""


def segment(value: str | int) -> str:
    """One path segment made of data (a name in any script, an id), percent-encoded."""
    text = str(value)
    # Bare dots would lead up, out of the path.
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")
