"""Reading one collection, page by page, whatever its rows become: the paging says what to ask next."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from campus.client import Client
from campus.errors import Refused, Transient
from campus.events import Tally
from campus.paging import Outcome, PageRequest, PageSeen, Paging

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
    """Ask until the paging is done. Gives the pages that count, in the order of asking.

    parse: as `Client.get` takes it. keys: of all rows of a parsed page, in their order.
    Raises CampusError where there is no other way to ask."""
    pages: dict[PageRequest, P] = {}

    async def ask(request: PageRequest) -> None:
        try:
            answer = await client.get(
                collection.path,
                {**collection.params, **dict(request.params)},
                school_id=collection.school_id,
                scope=collection.scopes,
                parse=parse,
                tally=tally,
                anonymous=collection.anonymous,
            )
        except (Refused, Transient) as error:
            # perhaps only the page size is unwelcome, or all at once too much: the paging knows other ways
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


async def together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run jobs side by side; the first error ends them all and is raised as it is."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _is_whole(request: PageRequest) -> bool:
    return "paginated" in dict(request.params)
