"""Fetching a collection page by page: a paging names the requests, one loop sends them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from campus.fetch.reader import Reader
from campus.http.errors import CampusError
from campus.paging import Outcome, PageAnswer, PageRequest, PageSeen, Paging

J = TypeVar("J")
P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Collection(Generic[P]):
    """A list of the platform, how its pages are requested, and how they are decoded."""

    path: str
    params: Mapping[str, str]
    # Raises TornBody for a body that a retry may mend, UnexpectedAnswer for any other bad body.
    decode: Callable[[bytes], P]
    # The keys of the rows of a page, in their order. A row that cannot be decoded has a key too.
    keys: Callable[[P], Sequence[Hashable]]
    paging: Paging

    async def read(self, reader: Reader) -> tuple[list[P], Outcome]:
        """Read the list once, with requests side by side.

        Returns the decoded pages whose rows count, in the order of their requests, and how the reading ended.
        Raises CampusError where the platform rejects every way to ask."""
        pages: dict[PageRequest, P] = {}

        async def fetch_page(request: PageRequest) -> PageSeen:
            params = {**self.params, **dict(request.params)}
            answer = await reader.fetch(self.path, params, self.decode)
            reader.tally.pages += 1
            pages[request] = answer.value
            return PageSeen(self.keys(answer.value), answer.pagination)

        outcome = await drive(self.paging, fetch_page)
        if outcome.page_size is not None:
            # The next lists need not find the greatest page size again.
            reader.client.limit_page_size(outcome.page_size)
        return [pages[request] for request in outcome.requests], outcome


async def drive(
    paging: Paging, fetch_page: Callable[[PageRequest], Coroutine[Any, Any, PageSeen]]
) -> Outcome:
    """Drive a paging to its end: start its requests side by side, and send it each answer as it comes.

    fetch_page: sends one request; after a CampusError the paging decides what follows.
    Cancels the requests in flight when the paging returns or a request fails.
    Raises the error of a request after which the paging has no other way to ask, and any other error of
    `fetch_page`."""
    in_flight = InFlight[PageSeen, PageRequest]()
    try:
        requests = next(paging)
        while True:
            if len(requests) == 1 and (requests[0].alone or not in_flight):
                await in_flight.cancel()
                # A single request needs no task of its own.
                request = requests[0]
                page: Awaitable[PageSeen] = fetch_page(request)
            else:
                for request in requests:
                    in_flight.add(asyncio.create_task(fetch_page(request)), request)
                assert in_flight, "the paging waits for no request"
                task = await in_flight.ended.get()
                request, page = in_flight.pop(task), task
            try:
                answer = PageAnswer(request, await page)
            except CampusError as error:
                answer = PageAnswer(request, error)
            requests = paging.send(answer)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    finally:
        await in_flight.cancel()


class InFlight(dict[asyncio.Task[T], J]):
    """Tasks that run side by side, each with the job that it does."""

    @cached_property
    def ended(self) -> asyncio.Queue[asyncio.Task[T]]:
        """The tasks that have ended, each once it has."""
        return asyncio.Queue()

    def add(self, task: asyncio.Task[T], job: J) -> None:
        """Wait for this task, too."""
        task.add_done_callback(self.ended.put_nowait)
        self[task] = job

    async def cancel(self) -> None:
        """Cancel the tasks and forget them, once they have ended."""
        if self:
            for task in self:
                task.cancel()
            await asyncio.gather(*self, return_exceptions=True)
            self.clear()
            # The tasks are yet to be put into the queue of those that have ended.
            del self.ended


async def run_together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run jobs side by side. The first error cancels the others and is raised alone once they have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
