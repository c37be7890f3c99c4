"""The client of the platform's interface: one request with all that makes it dependable."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import quote

from campus.http.auth import Grant, TokenAuth, school_header
from campus.http.config import ClientConfig
from campus.http.emptiness import CAUGHT, doubt_for
from campus.http.events import Event, Listener, Tally
from campus.http.health import Health
from campus.http.messages import refusal
from campus.http.pagination import Pagination
from campus.http.request import Body, Request
from campus.http.sender import Declined, Sender
from campus.http.shared import OwnProcess
from campus.http.transport import Transport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the parser made of the body, and the pagination headers that came with it (None: none)."""

    value: T
    pagination: Pagination | None
    status: int = 200


class Client:
    """Asks one platform, all of its schools; an async context manager, for one event loop.

    scopes: what the selected resources need: for each its scopes of which any one suffices, least first.
    """

    def __init__(
        self, config: ClientConfig, scopes: Iterable[tuple[str, ...]] = (), listener: Listener | None = None
    ) -> None:
        self.config = config
        self._shared = config.shared or OwnProcess(config.base_url)
        self._per_page = config.per_page
        # Parameters that the platform refuses: the path as the registry has it, the name, and the value,
        # which is "" where it refuses every value.
        self.unwelcome: set[tuple[str, str, str]] = set()
        self.doubt = doubt_for(config.base_url)
        self._lies_before = self.doubt.lies
        self._scopes = (*scopes, *((name,) for name in config.extra_scopes))
        self._sender = Sender(config, Transport(config), self._shared.pace, listener)
        self._grants: dict[int | None, Grant] = {}

    async def __aenter__(self) -> Self:
        await self._shared.join(self._sender.notify)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if lies := self.doubt.lies - self._lies_before:
            message = (
                f"{lies} answers of the platform said that there is nothing where there is something. Each "
                f"was asked for again; from the first one on, nothing is believed only where {CAUGHT} more "
                f"answers agree. Tell the platform's operator."
            )
            self._sender.notify(Event("note", message))
        await self._sender.close()

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
        scope: the scopes of which any one suffices, least first. parse: raises TornBody for a body to be
        asked for again, and UnexpectedAnswer for one that would come again. executor: where to parse what
        takes long; None: in the event loop, which waits. tally: counts the attempts, retries and bytes.
        anonymous: without a token.
        Raises Transient, Unauthorized, Forbidden, NotFound, Refused or UnexpectedAnswer, and Halt where
        nothing more can be read (see errors).
        """
        request = Request("GET", path, school_id, _query(params), school_header(school_id))
        grant = None if anonymous else self._grant(school_id)
        return await self._ask(request, parse, tally or Tally(), grant, scope, executor)

    async def write(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int],
        body: Body | None,
        *,
        school_id: int,
        scope: tuple[str, ...],
        parse: Callable[[bytes], T],
        repeatable: bool,
        tally: Tally | None = None,
    ) -> Answer[T]:
        """Send what changes something on the platform; see `get` for what they share.

        repeatable: to carry it out twice is as once, so that it is sent again like a question. Else it is
        sent again only where the platform cannot have carried it out, and Unconfirmed is raised where it may
        have. parse: must take whatever follows a status of success, an empty body too: it has happened."""
        request = Request(
            method,
            path,
            school_id,
            _query(params),
            {} if body is None else {"content-type": body.kind},
            b"" if body is None else body.content,
            repeatable=repeatable,
            secrets=() if body is None else body.secrets,
        )
        return await self._ask(request, parse, tally or Tally(), self._grant(school_id), scope, None)

    async def _ask(
        self,
        request: Request,
        parse: Callable[[bytes], T],
        tally: Tally,
        grant: Grant | None,
        scope: tuple[str, ...],
        executor: Executor | None,
    ) -> Answer[T]:
        auth = None
        if grant is not None:
            auth = TokenAuth(grant, scope, self.config.max_attempts, request.school_id)
        try:
            reply, value = await self._sender.send(request, parse, tally, auth, executor)
        except Declined as declined:
            said = self._sender.quote(declined.reply, request.secrets)
            concerned = self.config.extra_scopes if request.writes else scope
            needed = "" if grant is None else grant.in_words(concerned)
            raise refusal(request, declined.reply.status, said, needed) from None
        return Answer(value, Pagination.of(reply.headers), reply.status)

    def with_id_numbers(self) -> Self:
        """The same client, whose answers are decoded with national identity numbers: for what is compared in
        memory, and not stored."""
        client = copy(self)
        client.config = replace(self.config, keep_id_numbers=True)
        return client

    @property
    def per_page(self) -> int:
        """The greatest page that the platform takes, as far as it is known."""
        return min(self._per_page, self._shared.per_page or self._per_page)

    @per_page.setter
    def per_page(self, size: int) -> None:
        if size < self.per_page:
            self._per_page = self._shared.per_page = size

    @property
    def health(self) -> Health:
        """Whether the platform answers, as far as the requests of this client have shown."""
        return self._sender.health

    @property
    def clock_skew(self) -> float | None:
        """Seconds that the platform's clock is ahead of ours, by a token answer's Date; None: unknown."""
        tokens = (grant.token for grant in self._grants.values())
        return next((token.clock_skew for token in tokens if token is not None), None)

    def scopes_of(self, school_id: int | None) -> tuple[list[str], list[str]]:
        """The permission scopes that a school is read with, and those that the platform refused."""
        return self._grant(school_id).scopes

    def _grant(self, school_id: int | None) -> Grant:
        whose = None if self.config.one_token else school_id
        grant = self._grants.get(whose)
        if grant is None:
            grant = Grant(self.config, self._sender, self._scopes, whose, self._shared)
            self._grants[whose] = grant
        return grant


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
