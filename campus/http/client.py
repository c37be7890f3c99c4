"""The client of one platform: requests with tokens, retries and a shared pace.

async with Client(config, scopes) as client:
    exchange = client.get("/api/v3/semesters", {"page": 1}, school_id=101, scope=("semester.read",))
    answer = await exchange.decoded(msgspec.json.decode)
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import Self
from urllib.parse import quote

from campus.account import Tally
from campus.capabilities import WHEN_CONTRADICTED, Capabilities
from campus.http.auth import Grant, TokenAuth
from campus.http.config import ClientConfig, ProcessPace, SharedState
from campus.http.events import Event, Listener
from campus.http.exchange import Exchange, Sender
from campus.http.request import Body, Request
from campus.http.retry import Health


class Client:
    """Requests to one platform, all of its schools; an async context manager, for one event loop.

    scopes: for each selected resource its scopes, of which any one suffices, least first.
    capabilities: the findings of earlier runs, to which this run adds.
    """

    def __init__(
        self,
        config: ClientConfig,
        scopes: Iterable[tuple[str, ...]] = (),
        listener: Listener | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.config = config
        self.capabilities = capabilities or Capabilities()
        self._shared = config.shared or SharedState(ProcessPace(config.base_url))
        self._contradicted_before = self.capabilities.confirmation.contradicted
        self._scopes = (*scopes, *((name,) for name in config.extra_scopes))
        self._sender = Sender(config, self._shared.pace, listener)
        self._grants: dict[int | None, Grant] = {}

    async def __aenter__(self) -> Self:
        await self._shared.join(self._sender.notify)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if contradicted := self.capabilities.confirmation.contradicted - self._contradicted_before:
            message = (
                f"{contradicted} empty answers of the platform were wrong: a repeat had rows. After "
                f"the first of them, an empty answer counts once {WHEN_CONTRADICTED} further ones agree. "
                f"Tell the platform's operator."
            )
            self._sender.notify(Event("note", message))
        await self._sender.close()

    def get(
        self,
        path: str,
        params: Mapping[str, str | int],
        *,
        school_id: int | None,
        scope: tuple[str, ...] = (),
        tally: Tally | None = None,
        anonymous: bool = False,
    ) -> Exchange:
        """Prepare a GET of `path` below the base address; `await exchange.decoded(decode)` sends the request.

        path: percent-encoded where a segment comes from data (`segment` does so); params are encoded here.
        scope: the scopes of which any one suffices, least first. tally: counts the attempts, retries and
        bytes. anonymous: without a token.
        """
        request = Request("GET", path, school_id, _query(params))
        auth = None if anonymous else TokenAuth(self._grant(school_id), request, scope)
        return Exchange(self._sender, request, tally or Tally(), auth)

    def write(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int],
        body: Body | None,
        *,
        school_id: int,
        scope: tuple[str, ...],
        repeatable: bool,
        tally: Tally | None = None,
    ) -> Exchange:
        """Prepare a request that changes something on the platform; `Exchange.decoded` sends the request.

        path: percent-encoded. scope: the scopes of which any one suffices, least first. repeatable: the
        request is idempotent, so a fault is retried. Any other request is retried only where the platform
        cannot have carried it out; where it may have, `decoded` raises Unconfirmed. A status of success means
        that the request was carried out, whatever the body. tally: counts the attempts, retries and bytes."""
        request = Request(
            method,
            path,
            school_id,
            _query(params),
            content=b"" if body is None else body.content,
            content_type="" if body is None else body.kind,
            repeatable=repeatable,
            secrets=() if body is None else body.secrets,
        )
        return Exchange(
            self._sender, request, tally or Tally(), TokenAuth(self._grant(school_id), request, scope)
        )

    def with_id_numbers(self) -> Self:
        """The same client, which decodes national identity numbers too: for rows that are compared in memory
        and not stored."""
        client = copy(self)
        client.config = replace(self.config, keep_id_numbers=True)
        return client

    @property
    def page_size(self) -> int:
        """The rows to request a page: those of the settings, or fewer where the platform accepts no more."""
        return min(self.config.per_page, self.capabilities.page_size or self.config.per_page)

    def limit_page_size(self, size: int) -> None:
        """Note a page size that the platform accepted after it rejected a larger one."""
        if size < self.page_size:
            self.capabilities.page_size = size

    @property
    def health(self) -> Health:
        """Whether the platform answers, by the requests of this client."""
        return self._sender.health

    @property
    def clock_skew(self) -> float | None:
        """Seconds that the platform's clock is ahead of ours; None: no answer has had a Date header."""
        return self._sender.clock_skew

    def scopes_of(self, school_id: int | None) -> tuple[list[str], list[str]]:
        """The permission scopes that a school is read with, and those that the platform refused."""
        return self._grant(school_id).permission_scopes()

    def _grant(self, school_id: int | None) -> Grant:
        key = None if self.config.one_token else school_id
        if key not in self._grants:
            self._grants[key] = Grant(self.config, self._sender, self._scopes, key, self._shared)
        return self._grants[key]


def _query(params: Mapping[str, str | int]) -> str:
    # Commas separate the ids of a list, and v1 names its paging parameters with a dollar sign: both are legal
    # in a query as they are (RFC 3986), and shorter.
    pairs = (
        f"{_quoted_name(name)}={quote(value, safe=',') if isinstance(value, str) else value}"
        for name, value in params.items()
    )
    return f"?{'&'.join(pairs)}" if params else ""


@cache
def _quoted_name(name: str) -> str:
    return quote(name, safe="$")


def segment(value: str | int) -> str:
    """A percent-encoded path segment from data: a name in any script, or an id."""
    text = str(value)
    # Bare dots would lead up, out of the path.
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")
