"""The loop that drives a paging: answers as they come, errors to the paging, no request left behind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from campus.fetch.collection import drive
from campus.http.errors import PlatformUnavailable, Refused, UnexpectedAnswer
from campus.http.request import Pagination
from campus.paging import Outcome, PageRequest, PageSeen, Paging, page_by_number
from tests.kits.platforms.listings import REFUSED
from tests.kits.waiting import settle

Fetch = Callable[[PageRequest], Coroutine[Any, Any, PageSeen]]
A, B, C = (PageRequest(number, (("page", number),)) for number in range(3))
ALONE = PageRequest(3, (("page", 1),), alone=True)
DONE = Outcome(True, None, (), "")
PAGE = PageSeen([1])


class Platform:
    """Answers each request once its event is set, with a page or an error."""

    def __init__(self, errors: dict[PageRequest, Exception] | None = None) -> None:
        self.errors = errors or {}
        self.may_answer = {request: asyncio.Event() for request in (A, B, C, ALONE)}
        self.started: list[PageRequest] = []
        self.cancelled: list[PageRequest] = []

    async def fetch(self, request: PageRequest) -> PageSeen:
        self.started.append(request)
        try:
            await self.may_answer[request].wait()
        except asyncio.CancelledError:
            self.cancelled.append(request)
            raise
        if request in self.errors:
            raise self.errors[request]
        return PAGE


def test_an_answer_starts_the_next_request_at_once() -> None:
    def paging() -> Paging:
        answer = yield (A, B)
        assert answer.request == B
        yield (C,)
        yield ()
        return DONE

    async def go() -> None:
        platform = Platform()
        driving = asyncio.create_task(drive(paging(), platform.fetch))
        await settle()
        assert platform.started == [A, B]
        platform.may_answer[B].set()
        await settle()
        assert platform.started == [A, B, C]
        platform.may_answer[C].set()
        platform.may_answer[A].set()
        assert await driving == DONE
        assert platform.cancelled == []

    asyncio.run(go())


def test_requests_in_flight_are_cancelled_when_the_paging_returns() -> None:
    def paging() -> Paging:
        yield (A, B, C)
        return DONE

    async def go() -> None:
        platform = Platform()
        platform.may_answer[A].set()
        assert await drive(paging(), platform.fetch) == DONE
        assert platform.cancelled == [B, C]

    asyncio.run(go())


def test_a_request_alone_cancels_those_in_flight() -> None:
    answers = []

    def paging() -> Paging:
        answers.append((yield (A, B, C)).request)
        answers.append((yield (ALONE,)).request)
        return DONE

    async def go() -> None:
        platform = Platform()
        for request in (A, B, ALONE):
            platform.may_answer[request].set()
        assert await drive(paging(), platform.fetch) == DONE
        assert (answers, platform.cancelled) == ([A, ALONE], [C])

    asyncio.run(go())


def test_a_cancelled_request_is_never_an_answer() -> None:
    answers = []

    def paging() -> Paging:
        answers.append((yield (A, B)).request)
        answers.append((yield (ALONE,)).request)
        answers.append((yield (A, C)).request)
        return DONE

    async def go() -> None:
        platform = Platform()
        for request in (A, ALONE, C):
            platform.may_answer[request].set()
        assert await drive(paging(), platform.fetch) == DONE
        assert answers == [A, ALONE, A]

    asyncio.run(go())


@pytest.mark.parametrize("requests", [(A,), (A, B)])
def test_the_paging_decides_what_follows_from_a_refusal(requests: tuple[PageRequest, ...]) -> None:
    def going_on() -> Paging:
        answer = yield requests
        assert (answer.request, answer.page) == (A, REFUSED)
        return DONE

    def giving_up() -> Paging:
        answer = yield requests
        assert isinstance(answer.page, Refused)
        raise answer.page

    async def go() -> None:
        platform = Platform({A: REFUSED})
        platform.may_answer[A].set()
        assert await drive(going_on(), platform.fetch) == DONE
        with pytest.raises(Refused, match="status 422"):
            await drive(giving_up(), platform.fetch)

    asyncio.run(go())


@pytest.mark.parametrize("requests", [(A,), (A, B, C)])
def test_an_error_of_the_paging_ends_the_reading_and_cancels(requests: tuple[PageRequest, ...]) -> None:
    def paging() -> Paging:
        answer = yield requests
        assert isinstance(answer.page, UnexpectedAnswer)
        raise answer.page

    async def go() -> None:
        platform = Platform({A: UnexpectedAnswer("no list.")})
        platform.may_answer[A].set()
        with pytest.raises(UnexpectedAnswer, match="no list"):
            await drive(paging(), platform.fetch)
        assert platform.cancelled == [*requests[1:]]

    asyncio.run(go())


@pytest.mark.parametrize("requests", [(A,), (A, B, C)])
def test_a_halt_is_no_answer_to_the_paging(requests: tuple[PageRequest, ...]) -> None:
    def paging() -> Paging:
        yield requests
        raise AssertionError("no answer was expected")

    async def go() -> None:
        platform = Platform({A: PlatformUnavailable("it is down.")})
        platform.may_answer[A].set()
        with pytest.raises(PlatformUnavailable, match="down"):
            await drive(paging(), platform.fetch)
        assert platform.cancelled == [*requests[1:]]

    asyncio.run(go())


def test_a_cancelled_reading_cancels_its_requests() -> None:
    def paging() -> Paging:
        yield (A, B)
        return DONE

    async def go() -> None:
        platform = Platform()
        driving = asyncio.create_task(drive(paging(), platform.fetch))
        await settle()
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
        assert platform.cancelled == [A, B]

    asyncio.run(go())


@pytest.mark.parametrize("connections", [1, 16, 1000])
def test_a_platform_that_ignores_page_costs_no_more_than_a_window_a_pass(connections: int) -> None:
    """A hundred pages by its count: the requests that the first eight answers make pointless are not sent."""
    sent = []

    async def go() -> None:
        free = asyncio.Semaphore(connections)

        async def fetch(request: PageRequest) -> PageSeen:
            async with free:
                sent.append(request)
                await asyncio.sleep(0)
            size = int(dict(request.params)["per_page"])
            return PageSeen(range(size), Pagination(1, 100, size, 100 * size))

        outcome = await drive(page_by_number(per_page=10, unpaged_limit=0), fetch)
        assert not outcome.complete
        assert "ignore the page number" in outcome.note

    asyncio.run(go())
    assert len(sent) <= 2 * (1 + 64 + 8)
