"""Reading one collection page by page: the paging says what to ask next, the client asks."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from campus.fetch.answer import Answer, fetch
from campus.http.client import Client
from campus.http.errors import CampusError, NotFound, Refused, Transient
from campus.http.events import Tally
from campus.paging import (
    V1_NAMES,
    V3_NAMES,
    Outcome,
    PageNames,
    PageNumbers,
    PageRequest,
    PageSeen,
    Paging,
    Unpaged,
)

P = TypeVar("P")


@dataclass(frozen=True)
class Collection:
    """Where a collection is. `scopes`: alternatives, any of which suffices, least first. `anonymous`: it is
    asked for without a token."""

    path: str
    params: Mapping[str, str]
    school_id: int | None
    scopes: tuple[str, ...]
    anonymous: bool = False


async def read_collection(
    client: Client,
    collection: Collection,
    paging: Paging,
    *,
    parse: Callable[[bytes], P],
    keys: Callable[[P], Sequence[Hashable]],
    tally: Tally,
) -> tuple[list[P], Outcome]:
    """Ask until the paging is done; the requests that it names at once run side by side.

    parse: as `Client.get` takes it. keys: one for each row of a parsed page, in their order; a row that
    could not be decoded has one too. tally: counts the requests and pages.
    Returns the parsed pages that count, in the order of asking, and how the reading ended.
    Raises CampusError where the platform refuses every way to ask."""
    pages: dict[PageRequest, P] = {}

    async def ask(request: PageRequest) -> None:
        try:
            answer = await _get(client, collection, dict(request.params), parse, tally)
        except NotFound:
            # A page past the end may answer 404; a list that is not there answers so to its first page.
            if not _is_further(request) or not paging.refused(request):
                raise
            return
        except (Refused, Transient) as error:
            # Perhaps the page size is too large, or everything at once too much: the paging has other ways.
            if (isinstance(error, Transient) and not _is_whole(request)) or not paging.refused(request):
                raise
            return
        tally.pages += 1
        pages[request] = answer.value
        paging.receive(request, PageSeen(keys(answer.value), answer.pagination))

    while not paging.done:
        requests = paging.pending()
        if len(requests) == 1:
            await ask(requests[0])
        else:
            await together(ask(request) for request in requests)
    outcome = paging.outcome
    return [pages[request] for request in sorted(outcome.kept, key=lambda one: one.ordinal)], outcome


async def read_list(
    client: Client,
    collection: Collection,
    paging: PageNumbers,
    kind: str,
    *,
    parse: Callable[[bytes], P],
    keys: Callable[[P], Sequence[Hashable]],
    tally: Tally,
) -> tuple[list[P], Outcome]:
    """Read a list by pages, or in one answer where the platform refuses the parameters of pages: one may
    that takes only the parameters which the interface lists for a path.

    kind: the path as the registry has it, since what one list shows of this holds for all of its kind. The
    rest, the result and the errors are those of `read_collection`."""
    if not client.capabilities.rejects(kind, paging.names.page):
        try:
            found = await read_collection(client, collection, paging, parse=parse, keys=keys, tally=tally)
        except Refused:
            if not await _rejects_only_pages(client, collection, paging.names, parse, tally):
                raise
            client.capabilities.reject(kind, paging.names.page)
        else:
            # The next lists need not find out the greatest page size again.
            client.limit_page_size(paging.size)
            return found
    return await read_unpaged(
        client, collection, kind, paging.names, grave=paging.grave, parse=parse, keys=keys, tally=tally
    )


async def read_unpaged(
    client: Client,
    collection: Collection,
    kind: str,
    names: PageNames,
    *,
    grave: bool,
    parse: Callable[[bytes], P],
    keys: Callable[[P], Sequence[Hashable]],
    tally: Tally,
) -> tuple[list[P], Outcome]:
    """Read a list that comes in one answer, and remember where the platform refuses the parameters of pages.

    kind: as of `read_list`; names, grave: as of `Unpaged`. The rest, the result and the errors are those of
    `read_collection`."""
    capabilities = client.capabilities
    paging = Unpaged(
        names, capabilities.doubt, grave=grave, knows_pages=not capabilities.rejects(kind, names.page)
    )
    found = await read_collection(client, collection, paging, parse=parse, keys=keys, tally=tally)
    if not paging.knows_pages:
        capabilities.reject(kind, names.page)
    return found


async def _rejects_only_pages(
    client: Client, collection: Collection, names: PageNames, parse: Callable[[bytes], P], tally: Tally
) -> bool:
    """Whether the platform refuses to be asked for page 1, of any size, and answers without the parameter."""

    async def takes(**params: str) -> bool:
        try:
            await _get(client, collection, params, parse, tally)
        except CampusError:
            return False
        return True

    return not await takes(**{names.page: "1"}) and await takes()


async def _get(
    client: Client,
    collection: Collection,
    params: Mapping[str, str | int],
    parse: Callable[[bytes], P],
    tally: Tally,
) -> Answer[P]:
    """One answer of a collection, asked for with these parameters besides its own."""
    return await fetch(
        client,
        collection.path,
        {**collection.params, **params},
        school_id=collection.school_id,
        scope=collection.scopes,
        decode=parse,
        tally=tally,
        anonymous=collection.anonymous,
    )


async def together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run jobs side by side. The first error cancels the others and is raised alone once they have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def _is_further(request: PageRequest) -> bool:
    """Whether a request is for a numbered page after the first one."""
    return any(name in (V3_NAMES.page, V1_NAMES.page) and int(value) > 1 for name, value in request.params)


def _is_whole(request: PageRequest) -> bool:
    """Whether a request is for everything at once."""
    return "paginated" in dict(request.params)
