"""What workers share in Postgres, between two that stand for processes; left out where there is none."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import psycopg2
import pytest
from postgres import Postgres, postgres
from sqlalchemy import Connection

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.events import Event
from campus.http.rate_limit import Budget
from campus.http.shared import SharedToken
from campus.registry.v3 import SEMESTERS
from pipelines.shared import database
from pipelines.shared.database import Database, keep
from pipelines.shared.pace import SharedPace
from pipelines.shared.sealing import Seal, Unreadable
from pipelines.shared.workers import Workers
from simulator.process import RunningSimulator, running

ADDRESS = "http://platform.invalid"
SECRET = "a-secret-of-the-client"
NOWHERE = "postgresql+psycopg2://nobody@127.0.0.1:1/nothing"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as one:
        yield one


@pytest.fixture
def fresh(server: Postgres) -> Iterator[str]:
    """Its address, without anything shared."""
    yield server.url
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS campus_shared")
    connection.close()


def plain(server: Postgres) -> str:
    return server.url.replace("+psycopg2", "")


def of_process(url: str, address: str = ADDRESS) -> Workers:
    return Workers(url, address, "the-client", SECRET)


def token(text: str) -> SharedToken:
    return SharedToken(text, frozenset({"class.read"}), {"term.read": "no"}, time.time() + 100, None)


def at_once(*jobs: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await asyncio.gather(*(job() for job in jobs))

    asyncio.run(run())


def test_a_token_is_kept_for_the_others_and_nobody_else_can_read_it(fresh: str, server: Postgres) -> None:
    async def test() -> None:
        one, other = of_process(fresh), of_process(fresh)
        async with one.turn("a token") as turn:
            assert turn.token is None
            await turn.keep(token("clear-text-of-the-token"))
        async with other.turn("a token") as turn:
            assert turn.token is not None and turn.token.text == "clear-text-of-the-token"
            assert (turn.token.scopes, turn.token.refused) == (frozenset({"class.read"}), {"term.read": "no"})
        async with Workers(fresh, ADDRESS, "the-client", "another secret").turn("a token") as turn:
            assert turn.token is None

    asyncio.run(test())
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT name, content FROM campus_shared")
        kept = b"".join(name.encode() + bytes(content) for name, content in cursor.fetchall())
    connection.close()
    for clear in (b"clear-text-of-the-token", b"class.read", SECRET.encode()):
        assert kept and clear not in kept


def test_turns_are_one_after_the_other(fresh: str) -> None:
    inside: list[str] = []

    async def take(name: str) -> None:
        async with of_process(fresh).turn("a token"):
            inside.append(name)
            await asyncio.sleep(0.2)
            inside.append(name)

    at_once(*(lambda name=name: take(name) for name in ("a", "b", "c")))  # type: ignore[misc]
    assert inside[0::2] == inside[1::2] and len(set(inside)) == 3


def test_a_turn_that_fails_is_over(fresh: str) -> None:
    async def test() -> None:
        with pytest.raises(ValueError):
            async with of_process(fresh).turn("a token"):
                raise ValueError
        async with asyncio.timeout(5), of_process(fresh).turn("a token") as turn:
            assert turn.token is None

    asyncio.run(test())


def test_a_pause_that_one_is_asked_for_holds_the_other(fresh: str) -> None:
    async def test() -> None:
        one, other = of_process(fresh).pace, of_process(fresh).pace
        for pace in (one, other):
            await until_granted(pace)
        now = time.monotonic()
        one.answered(now, now, True, 5.0)
        assert one.acquire(now) > 4.5
        await asyncio.sleep(0.5)
        while (wait := other.acquire(time.monotonic())) < 1:
            assert wait
            await other.rest(wait, 1)
        assert 3.5 < wait < 4.6

    asyncio.run(test())


async def until_granted(pace: Any) -> None:
    while wait := pace.acquire(time.monotonic()):
        await pace.rest(wait, 1)


async def limited_to_50(url: str) -> None:
    state = Budget.of({"_rate": 50.0, "_decided": time.time()}).state()
    content = json.dumps({"budget": state}).encode()
    await Database(url).run(lambda connection: keep(connection, f"platform {ADDRESS}", content))


@pytest.mark.parametrize("workers", [1, 3])
def test_all_together_keep_to_one_rate(fresh: str, workers: int) -> None:
    sent: list[float] = []

    async def ask() -> None:
        pace, ends = of_process(fresh).pace, time.monotonic() + 3
        while time.monotonic() < ends:
            await until_granted(pace)
            sent.append(time.monotonic())

    asyncio.run(limited_to_50(fresh))
    at_once(*[ask] * workers)
    assert 60 <= len(sent) <= 3 * 50 + 15


def test_permits_are_leased_before_the_last_one_is_used(fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing is sent while a busy database answers."""
    slow = SharedPace._exchange
    sent: list[float] = []

    def exchange(self: SharedPace, connection: Connection, wanted: int) -> None:
        slow(self, connection, wanted)
        time.sleep(0.15)

    monkeypatch.setattr(SharedPace, "_exchange", exchange)

    async def test() -> None:
        await limited_to_50(fresh)
        pace, ends = of_process(fresh).pace, time.monotonic() + 3
        while time.monotonic() < ends:
            while wait := pace.acquire(time.monotonic()):
                await pace.rest(wait, 16)
            sent.append(time.monotonic())

    asyncio.run(test())
    # Without it, 57% of them.
    assert len(sent) >= 0.65 * 3 * 50


def asked(platform: RunningSimulator, shared: Workers, events: list[Event], times: int = 20) -> Any:
    """Ask with a client of its own."""

    async def test() -> None:
        config = ClientConfig(
            platform.base_url, platform.client_id, platform.client_secret, shared=shared, school_ids=(101,)
        )
        async with Client(config, [SEMESTERS.scopes], events.append) as client:
            for _ in range(times):
                await client.get(SEMESTERS.path, {}, school_id=101, scope=SEMESTERS.scopes).response()

    return test()


def test_two_processes_need_one_token_where_the_platform_keeps_one(fresh: str) -> None:
    with running(schools=1, students=8, one_token=True) as platform:
        each = [of_process(fresh, platform.base_url) for _ in range(2)]
        events: list[Event] = []
        at_once(*(lambda one=one: asked(platform, one, events) for one in each))  # type: ignore[misc]
        statuses = [entry["status"] for entry in platform.log()]
        assert statuses.count(401) == 0 and len(statuses) == 41
        assert not any(SECRET in event.message for event in events)


def test_a_database_that_is_away_holds_nothing_up_and_is_said_once() -> None:
    with running(schools=1, students=8) as platform:
        events: list[Event] = []
        shared = of_process(NOWHERE, platform.base_url)
        asyncio.run(asked(platform, shared, events))
        asyncio.run(asked(platform, shared, events))
    notes = [event.message for event in events if event.kind == "note"]
    assert len(notes) == 1 and "does not answer" in notes[0] and "as if it were alone" in notes[0]


def test_a_database_that_goes_away_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "AWAY", 0.2)
    with postgres() as server, running(schools=1, students=8) as platform:
        events: list[Event] = []
        shared = of_process(server.url, platform.base_url)

        def notes() -> int:
            return sum(event.kind == "note" for event in events)

        asyncio.run(asked(platform, shared, events))
        server.stop()
        asyncio.run(asked(platform, shared, events, times=300))
        assert notes() == 1
        server.start()
        time.sleep(0.3)
        asyncio.run(asked(platform, shared, events))
        assert notes() == 1


def test_what_is_sealed_is_bound_to_its_name_and_the_credentials() -> None:
    seal = Seal(ADDRESS, "the-client", SECRET)
    sealed = seal.close("a name", b"content")
    assert b"content" not in sealed
    assert seal.open("a name", sealed) == b"content"
    assert seal.close("a name", b"content") != sealed
    torn = sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:]
    for name, other, bytes_ in (
        ("another name", seal, sealed),
        ("a name", Seal(ADDRESS, "the-client", "another"), sealed),
        ("a name", seal, torn),
        ("a name", seal, b""),
    ):
        with pytest.raises(Unreadable):
            other.open(name, bytes_)
