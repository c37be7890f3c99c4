"""What workers share in Postgres, between two that stand for processes; left out where there is none."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import psycopg2
import pytest
from sqlalchemy import Connection

from campus.http.client import Client
from campus.http.config import ClientConfig, Pace, SharedToken
from campus.http.events import Event
from campus.http.rate_limit import Budget
from campus.registry.v3 import SEMESTERS
from pipelines.shared import database
from pipelines.shared.database import Database, store_content
from pipelines.shared.sealing import Seal, Unreadable
from pipelines.shared.shares import SharedRate
from pipelines.shared.workers import Workers
from simulator.process import RunningSimulator, running
from tests.kits.servers.postgres import Postgres, postgres
from tests.kits.waiting import PATIENCE, until, until_async

ADDRESS = "http://platform.invalid"
RATE = f"rate {ADDRESS}"
SECRET = "a-secret-of-the-client"
NOWHERE = "postgresql+psycopg2://nobody@127.0.0.1:1/nothing"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running_server:
        yield running_server


@pytest.fixture
def fresh(server: Postgres) -> Iterator[str]:
    """Its address, without anything shared."""
    yield server.url
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS campus_shared, campus_reports")
    connection.close()


def plain(server: Postgres) -> str:
    return server.url.replace("+psycopg2", "")


def of_process(url: str, address: str = ADDRESS) -> Workers:
    return Workers(url, address, "the-client", SECRET)


def token(text: str) -> SharedToken:
    return SharedToken(text, frozenset({"class.read"}), {"term.read": "no"}, time.time() + 100)


def at_once(*jobs: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await asyncio.gather(*(job() for job in jobs))

    asyncio.run(run())


def test_a_token_is_kept_for_the_others_and_nobody_else_can_read_it(fresh: str, server: Postgres) -> None:
    async def test() -> None:
        first, other = of_process(fresh), of_process(fresh)
        async with first.lock_token("a token") as lock:
            assert lock.token is None
            await lock.store(token("clear-text-of-the-token"))
        async with other.lock_token("a token") as lock:
            assert lock.token is not None and lock.token.text == "clear-text-of-the-token"
            assert (lock.token.scopes, lock.token.refused) == (frozenset({"class.read"}), {"term.read": "no"})
        async with Workers(fresh, ADDRESS, "the-client", "another secret").lock_token("a token") as lock:
            assert lock.token is None

    asyncio.run(test())
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT name, content FROM campus_shared")
        stored = b"".join(name.encode() + bytes(content) for name, content in cursor.fetchall())
    connection.close()
    for clear in (b"clear-text-of-the-token", b"class.read", SECRET.encode()):
        assert stored and clear not in stored


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Counter[Database]:
    """How often each process has begun to try for a lock, or for anything else."""
    counts: Counter[Database] = Counter()
    begin = Database.begin

    async def count(self: Database) -> Connection | None:
        counts[self] += 1
        return await begin(self)

    monkeypatch.setattr(Database, "begin", count)
    return counts


def refused(attempts: Counter[Database]) -> int:
    """How many processes have tried for a lock that another one has: they try again."""
    return sum(count > 1 for count in attempts.values())


def test_turns_are_one_after_the_other(fresh: str, attempts: Counter[Database]) -> None:
    inside: list[str] = []

    async def take(name: str) -> None:
        async with of_process(fresh).lock_token("a token"):
            inside.append(name)
            attempts.clear()
            waiting = 3 - len(set(inside))
            await until_async(
                lambda: refused(attempts) == waiting or inside[-1] != name, "the others are refused"
            )
            inside.append(name)

    at_once(*(lambda name=name: take(name) for name in ("a", "b", "c")))  # type: ignore[misc]
    assert inside[0::2] == inside[1::2] and len(set(inside)) == 3


def test_a_turn_that_fails_is_over(fresh: str) -> None:
    async def test() -> None:
        with pytest.raises(ValueError):
            async with of_process(fresh).lock_token("a token"):
                raise ValueError
        async with of_process(fresh).lock_token("a token") as lock:
            assert lock.token is None

    asyncio.run(test())


def test_a_pause_that_one_is_asked_for_holds_the_other(fresh: str) -> None:
    async def test() -> None:
        await limited_to_50(fresh)
        first, other = of_process(fresh).pace, of_process(fresh).pace
        for pace in (first, other):
            await until_granted(pace)
        now = time.monotonic()
        first.answered(now, now, True, PATIENCE)
        assert first.acquire(now) == pytest.approx(PATIENCE)
        while (wait := other.acquire(time.monotonic())) < PATIENCE / 2:
            await other.wait(wait or 0.1)
        assert wait == pytest.approx(PATIENCE + now - time.monotonic(), abs=PATIENCE / 20)

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def transactions_open(server: Postgres) -> int:
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE application_name = 'campus shared' AND state = 'idle in transaction'"
        )
        [count] = cursor.fetchall()[0]
    connection.close()
    return int(count)


async def until_granted(pace: Pace) -> None:
    while wait := pace.acquire(time.monotonic()):
        await pace.wait(wait)


async def limited_to_50(url: str) -> None:
    rate = SharedRate(Budget.at(50.0, time.time()), time.time())
    content = msgspec.msgpack.encode(rate)
    await Database(url).run(lambda connection: store_content(connection, RATE, content))


@pytest.mark.parametrize("workers", [1, 3])
def test_all_together_keep_to_one_rate(fresh: str, workers: int) -> None:
    """150 requests take three seconds; the seconds that a pace waits for tell of no busy machine."""
    sent: list[float] = []
    waits: list[float] = []

    async def ask() -> None:
        pace = of_process(fresh).pace
        while len(sent) < 150:
            while wait := pace.acquire(time.monotonic()):
                waits.append(wait)
                await pace.wait(wait)
            sent.append(time.monotonic())

    asyncio.run(limited_to_50(fresh))
    at_once(*[ask] * workers)
    assert max(sent) - min(sent) >= (150 - 15) / 50
    assert sum(waits) <= 2.5 * 3 * workers


@pytest.mark.parametrize(
    "content",
    [b'{"budget": {}}', msgspec.msgpack.encode(SharedRate.first(time.time() + 3600))],
    ids=["of another version", "of a later time"],
)
def test_a_state_that_is_unusable_begins_anew(fresh: str, content: bytes) -> None:
    async def test() -> None:
        await Database(fresh).run(lambda connection: store_content(connection, RATE, content))
        await until_granted(of_process(fresh).pace)

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_a_report_of_another_version_is_dropped(fresh: str, server: Postgres) -> None:
    asyncio.run(until_granted(of_process(fresh).pace))
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO campus_reports VALUES (%s, %s)", (RATE, b"of another version"))
    connection.close()
    asyncio.run(asyncio.wait_for(until_granted(of_process(fresh).pace), PATIENCE))


def test_who_waits_for_a_token_needs_no_connection(
    fresh: str, server: Postgres, attempts: Counter[Database]
) -> None:
    async def test() -> None:
        async with of_process(fresh).lock_token("a token"):
            waiting = [asyncio.ensure_future(take()) for _ in range(5)]
            await until_async(lambda: refused(attempts) == 5, "all have tried")
            # Each attempt to take the lock opens a transaction for a moment.
            await until_async(lambda: transactions_open(server) == 1, "only the lock has a transaction")
        await asyncio.gather(*waiting)

    async def take() -> None:
        async with of_process(fresh).lock_token("a token"):
            pass

    asyncio.run(test())


def asked(platform: RunningSimulator, shared: Workers, events: list[Event], times: int = 20) -> Any:
    """Ask with a client of its own."""

    async def test() -> None:
        config = ClientConfig(
            platform.base_url, platform.client_id, platform.client_secret, shared=shared, school_ids=(101,)
        )
        async with Client(config, [SEMESTERS.scopes], events.append) as client:
            for _ in range(times):
                await client.get(SEMESTERS.path, {}, school_id=101, scope=SEMESTERS.scopes).decoded(bytes)

    return test()


def test_two_processes_need_one_token_where_the_platform_keeps_one(fresh: str) -> None:
    with running(schools=1, students=8, one_token=True) as platform:
        both = [of_process(fresh, platform.base_url) for _ in range(2)]
        events: list[Event] = []
        at_once(*(lambda workers=workers: asked(platform, workers, events) for workers in both))  # type: ignore[misc]
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
    assert len(notes) == 1 and "start Postgres" in notes[0] and "tokens of its own" in notes[0]
    assert notes[0].startswith("The database that workers share does not answer (")


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
        until(lambda: not shared._database.is_away(time.monotonic()), "it may be asked again")
        asyncio.run(asked(platform, shared, events))
        assert notes() == 1


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """The backends of what workers share take statements and answer none."""
    with psycopg2.connect(plain(server)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'campus shared'")
        backends = [pid for (pid,) in cursor.fetchall()]
    connection.close()
    assert backends
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in backends:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_database_that_stops_answering_holds_nothing_up(
    fresh: str, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STALLED", 2.0)
    with running(schools=1, students=8) as platform:
        events: list[Event] = []
        shared = of_process(fresh, platform.base_url)
        asyncio.run(asked(platform, shared, events))
        with stopped(server):
            # Also the threads have ended: `asyncio.run` waits for them.
            asyncio.run(asyncio.wait_for(asked(platform, shared, events), PATIENCE))
    # A new connection was answered.
    assert not [event.message for event in events if event.kind == "note"]


def test_a_token_whose_lock_stops_answering_is_had_without_it(
    fresh: str, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STALLED", 2.0)

    async def test() -> None:
        shared, events = of_process(fresh), list[Event]()
        await shared.join(events.append)
        async with shared.lock_token("a token") as lock:
            with stopped(server):
                await asyncio.wait_for(lock.store(token("new")), PATIENCE)
        async with shared.lock_token("a token") as lock:
            assert lock.token is None
        [event] = events
        assert "does not answer" in event.message

    asyncio.run(test())


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
