"""Fetching a collection page by page: a paging names the requests, one loop sends them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from campus.account import Tally
from campus.fetch.answer import Answer, fetch
from campus.http.client import Client
from campus.http.errors import CampusError, NotFound, Refused, Transient
from campus.paging import (
    SMALLER_SIZES,
    SMALLEST_SIZES,
    V3_NAMES,
    Outcome,
    PageAnswer,
    PageNames,
    PageRequest,
    PageSeen,
    Paging,
    page_by_number,
    page_once,
)

P = TypeVar("P")


@dataclass(frozen=True)
class Collection(Generic[P]):
    """A list of the platform, and how to request and decode its pages."""

    path: str
    params: Mapping[str, str]
    school_id: int | None
    # Alternatives, any of which suffices, least first.
    scopes: tuple[str, ...]
    # Decodes the body of a page, as `fetch` takes it.
    decode: Callable[[bytes], P]
    # The keys of the rows of a page, in their order. A row that cannot be decoded has a key too.
    keys: Callable[[P], Sequence[Hashable]]
    # Requested without a token.
    anonymous: bool = False


async def drive(
    paging: Paging, fetch_page: Callable[[PageRequest], Coroutine[Any, Any, PageSeen]]
) -> Outcome:
    """Drive a paging to its end: start its requests side by side, and send it each answer as it comes.

    fetch_page: sends one request; after a NotFound, Refused or Transient the paging decides what follows.
    Cancels the requests in flight when the paging returns or a request fails.
    Raises the error of a request after which the paging has no other way to ask, and any other error of
    `fetch_page`."""
    in_flight: dict[asyncio.Task[PageSeen], PageRequest] = {}
    finished: asyncio.Queue[asyncio.Task[PageSeen]] = asyncio.Queue()
    try:
        requests = next(paging)
        while True:
            if len(requests) == 1 and (requests[0].alone or not in_flight):
                await _cancel(in_flight)
                # A single request needs no task of its own.
                request = requests[0]
                page: Awaitable[PageSeen] = fetch_page(request)
            else:
                for request in requests:
                    task = asyncio.create_task(fetch_page(request))
                    task.add_done_callback(finished.put_nowait)
                    in_flight[task] = request
                assert in_flight, "the paging waits for no request"
                task = await finished.get()
                while task not in in_flight:
                    # It was cancelled.
                    task = await finished.get()
                request, page = in_flight.pop(task), task
            try:
                answer = PageAnswer(request, await page)
            except (NotFound, Refused, Transient) as error:
                answer = PageAnswer(request, error)
            requests = paging.send(answer)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    finally:
        await _cancel(in_flight)


async def _cancel(in_flight: dict[asyncio.Task[PageSeen], PageRequest]) -> None:
    """Cancel the requests in flight and forget them, once they have ended."""
    if in_flight:
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
        in_flight.clear()


async def read_collection(
    client: Client, collection: Collection[P], paging: Paging, *, tally: Tally
) -> tuple[list[P], Outcome]:
    """Read a collection with a paging, whose requests run side by side.

    tally: counts the requests and pages.
    Returns the decoded pages whose rows count, in the order of their requests, and how the reading ended.
    Raises CampusError where the platform rejects every way to ask."""
    pages: dict[PageRequest, P] = {}
    get = _getter(client, collection, tally)

    async def fetch_page(request: PageRequest) -> PageSeen:
        answer = await get({**collection.params, **dict(request.params)})
        tally.pages += 1
        pages[request] = answer.value
        return PageSeen(collection.keys(answer.value), answer.pagination)

    outcome = await drive(paging, fetch_page)
    if outcome.page_size is not None:
        # The next lists need not find the greatest page size again.
        client.limit_page_size(outcome.page_size)
    return [pages[request] for request in outcome.requests], outcome


async def read_list(
    client: Client,
    collection: Collection[P],
    kind: str,
    names: PageNames = V3_NAMES,
    *,
    keep_duplicates: bool = False,
    empty_is_unusual: bool = True,
    tally: Tally,
) -> tuple[list[P], Outcome]:
    """Read a list by pages, or in one answer where the platform rejects the parameters of pages: a platform
    may accept only the parameters that the interface lists for a path.

    kind: the path as the registry has it. A platform rejects the same parameters for all lists of a kind.
    names, keep_duplicates, empty_is_unusual: as of `page_by_number`. The rest, the result and the errors are
    those of `read_collection`."""

    has_pages = False

    def keys_of(page: P) -> Sequence[Hashable]:
        nonlocal has_pages
        has_pages = True
        return collection.keys(page)

    async def accepts(**params: str) -> bool:
        try:
            await _getter(client, collection, tally)({**collection.params, **params})
        except CampusError:
            return False
        return True

    pages_of_kind = (kind, names.page)
    per_page = client.page_size
    smaller_sizes: Sequence[int] = SMALLER_SIZES
    while not client.capabilities.rejects(*pages_of_kind):
        paging = page_by_number(
            per_page,
            client.config.unpaged_limit,
            names=names,
            keep_duplicates=keep_duplicates,
            confirmation=client.capabilities.confirmation,
            empty_is_unusual=empty_is_unusual,
            smaller_sizes=smaller_sizes,
        )
        try:
            return await read_collection(client, replace(collection, keys=keys_of), paging, tally=tally)
        except Refused:
            if smaller_sizes is SMALLEST_SIZES:
                raise
            if await accepts(**{names.page: "1"}):
                if has_pages:
                    raise
                # The platform rejects the sizes, not the page.
                per_page, smaller_sizes = SMALLEST_SIZES[0], SMALLEST_SIZES
            elif await accepts():
                client.capabilities.reject(*pages_of_kind)
            else:
                raise
    return await read_unpaged(client, collection, kind, names, empty_is_unusual=empty_is_unusual, tally=tally)


async def read_unpaged(
    client: Client,
    collection: Collection[P],
    kind: str,
    names: PageNames,
    *,
    empty_is_unusual: bool,
    tally: Tally,
) -> tuple[list[P], Outcome]:
    """Read a list that comes in one answer, and remember where the platform rejects the parameters of pages.

    The arguments, the result and the errors are those of `read_list`."""
    pages_of_kind = (kind, names.page)
    paging = page_once(
        names,
        confirmation=client.capabilities.confirmation,
        empty_is_unusual=empty_is_unusual,
        takes_pages=not client.capabilities.rejects(*pages_of_kind),
    )
    pages, outcome = await read_collection(client, collection, paging, tally=tally)
    if not outcome.takes_pages:
        client.capabilities.reject(*pages_of_kind)
    return pages, outcome


def _getter(
    client: Client, collection: Collection[P], tally: Tally
) -> Callable[[Mapping[str, str | int]], Coroutine[Any, Any, Answer[P]]]:
    """A function that fetches one answer of a collection with the given parameters."""
    return partial(
        fetch,
        client,
        collection.path,
        school_id=collection.school_id,
        scope=collection.scopes,
        decode=collection.decode,
        tally=tally,
        anonymous=collection.anonymous,
    )


async def run_together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run jobs side by side. The first error cancels the others and is raised alone once they have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
