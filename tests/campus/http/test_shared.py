"""What clients share with those of other processes: tokens, and the size of pages."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from campus.http.client import Client
from campus.http.config import Pace, ProcessPace, SharedState, SharedToken, TokenLock
from campus.http.errors import PlatformUnavailable
from campus.http.events import Event
from tests.kits.platforms.client_requests import get
from tests.kits.platforms.scripted_platform import Platform, Request, answer, run

SCOPES = [("class.read",)]


@dataclass
class Kept(TokenLock):
    """The lock of a token, and the stored token."""

    others: "Others"
    name: str
    token: SharedToken | None

    async def store(self, token: SharedToken) -> None:
        self.others.tokens[self.name] = token


@dataclass
class Others(SharedState):
    """What processes share, held by the test."""

    pace: Pace = field(default_factory=lambda: ProcessPace("http://shared"))
    tokens: dict[str, SharedToken] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def join(self, notify: Callable[[Event], None]) -> None:
        pass

    @asynccontextmanager
    async def lock_token(self, name: str) -> AsyncIterator[TokenLock]:
        async with self.lock:
            yield Kept(self, name, self.tokens.get(name))


def strict(platform: Platform) -> set[str]:
    """Let the platform keep one token only; the set has it."""
    alive: set[str] = set()

    def issue(_: Request) -> bytes:
        said = platform.issue()
        alive.clear()
        alive.add(f"t{platform.issued}-token")
        return said

    platform.on_token = issue
    platform.on_get = lambda request: answer([], 200 if request.token in alive else 401)
    return alive


def two(platform: Platform, others: Others, **settings: Any) -> tuple[Client, Client]:
    """Clients as of two processes."""
    config = replace(platform.config(**settings), shared=others)
    return Client(config, SCOPES), Client(config, SCOPES)


def test_the_second_process_takes_the_token_of_the_first() -> None:
    async def test() -> None:
        async with Platform() as platform:
            first, other = two(platform, Others())
            async with first, other:
                await get(first)
                await get(other)
                await asyncio.gather(*(get(client, school_id=102) for client in (first, other)))
            assert [post.scopes for post in platform.posts] == [
                ["school.101", "class.read"],
                ["school.102", "class.read"],
            ]

    run(test())


def test_a_token_that_was_refused_is_replaced_by_one_process_for_both() -> None:
    async def test() -> None:
        async with Platform() as platform:
            alive = strict(platform)
            first, other = two(platform, Others())
            async with first, other:
                await get(first)
                await get(other)
                alive.clear()
                await asyncio.gather(*(get(client) for client in (first, other) for _ in range(8)))
            assert platform.issued == 2

    run(test())


def test_one_token_of_the_client_is_for_all_schools_and_scopes() -> None:
    async def test() -> None:
        async with Platform() as platform:
            strict(platform)
            config = replace(
                platform.config(one_token=True, school_ids=(101, 102)), shared=Others(), concurrency=1
            )
            async with Client(config, SCOPES) as first, Client(config, [("term.read",)]) as other:
                for school in (101, None, 102):
                    await get(first, school_id=school)
                for school in (103, 101):
                    await get(other, school_id=school)
                await get(first, school_id=103)
            assert [sorted(post.scopes) for post in platform.posts] == [
                ["class.read", "school.101", "school.102"],
                ["class.read", "school.101", "school.102", "school.103", "term.read"],
            ]
            assert [g.headers.get("x-school-id") for g in platform.gets[:3]] == ["101", None, "102"]

    run(test())


def test_a_school_that_one_token_may_not_open_ends_that_school_only() -> None:
    async def test() -> None:
        async with Platform() as platform:

            def issue(request: Request) -> bytes:
                return answer({}, 400) if "school.102" in request.scopes else platform.issue()

            platform.on_token = issue
            async with Client(platform.config(one_token=True, school_ids=(101, 102)), SCOPES) as client:
                await get(client, school_id=101)
                with pytest.raises(PlatformUnavailable, match=r"school\.102") as caught:
                    await get(client, school_id=102)
                assert caught.value.school_id == 102
                assert await get(client, school_id=101) == []

    run(test())
