"""What tells a platform that is down from requests that fail by themselves: the first ends the run at once,
the second are retried, and neither is a restart or a slow answer."""

import asyncio
from itertools import count

import httpx
import pytest

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.engine import AiohttpTransport
from campus.http.errors import Forbidden, PlatformUnavailable, Transient
from campus.http.events import Event
from campus.http.retry import Health
from tests.kits.platforms.client_requests import get
from tests.kits.platforms.scripted_platform import RESET, Platform, Request, answer, run

PARTS = ("/api/v3/klass/classes", "/api/v3/user/students", "/api/v1/semesters")
GONE = answer({}, 502)


def test_three_parts_given_up_in_a_row_are_an_outage_and_end_what_follows() -> None:
    async def test() -> None:
        async with Platform(lambda _: GONE) as platform, Client(platform.config(max_attempts=4)) as client:
            for part in PARTS[:2]:
                with pytest.raises(Transient, match="status 502"):
                    await get(client, part)
            # One that was given up keeps the next from as many attempts.
            assert len(platform.gets) == 4 + 2
            with pytest.raises(
                PlatformUnavailable, match=f"{platform.url} has sent no usable answer.*{PARTS[2]}.*502"
            ) as caught:
                await get(client, PARTS[2])
            request_count = len(platform.requests)
            with pytest.raises(PlatformUnavailable) as again:
                await get(client, school_id=102)
        assert caught.value.outage and str(again.value) == str(caught.value)
        assert len(platform.requests) == request_count, "nothing is asked of a platform that is down"

    run(test())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "has sent no usable answer for .*a broken answer"),
        (answer("<html>", content_type="text/html"), "has sent no usable answer for .*an HTML page"),
        (answer({}, 501), "has sent no usable answer for .*status 501"),
        (RESET, "has not responded for .* s: .*connection"),
    ],
    ids=["another protocol", "a page", "another server", "nothing"],
)
def test_another_program_is_told_from_silence(reply: bytes, message: str) -> None:
    async def test() -> None:
        async with (
            Platform(on_token=lambda _: reply) as platform,
            Client(platform.config(max_attempts=2)) as client,
        ):
            with pytest.raises(PlatformUnavailable, match=f"{platform.url} {message}") as caught:
                await get(client)
        assert ("If another program answers at that address" in str(caught.value)) is (reply != RESET)
        assert "CAMPUS_BASE_URL" in str(caught.value)

    run(test())


def test_one_part_that_is_broken_is_no_outage_however_often_it_is_asked() -> None:
    async def test() -> None:
        broken = "/api/v3/class-assessment/items"
        async with (
            Platform(lambda r: GONE if r.path.startswith(broken) else answer([7])) as platform,
            Client(platform.config(max_attempts=2)) as client,
        ):
            for item in range(6):
                with pytest.raises(Transient):
                    await get(client, f"{broken}/{item}/scores")
            assert await get(client) == [7]

    run(test())


def test_an_answer_in_between_means_that_the_platform_is_up_be_it_a_refusal() -> None:
    async def test() -> None:
        async with (
            Platform(lambda r: answer({}, 403) if r.path == "/closed" else RESET) as platform,
            Client(platform.config(max_attempts=2)) as client,
        ):
            for part in PARTS:
                with pytest.raises(Transient):
                    await get(client, part)
                with pytest.raises(Forbidden):
                    await get(client, "/closed")

    run(test())


def test_what_is_in_flight_ends_with_the_first_that_finds_the_platform_down() -> None:
    async def test() -> None:
        config = ClientConfig("http://127.0.0.1:9", "c", "s", backoff_base=0.2, max_attempts=4)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with Client(config) as client:
            requests = (get(client, part, school_id=school) for part in PARTS for school in range(20))
            ends = await asyncio.gather(*requests, return_exceptions=True)
        assert {type(end) for end in ends} == {PlatformUnavailable} and len({str(end) for end in ends}) == 1
        assert loop.time() - began >= config.patience, "a restart that takes less is survived"

    run(test())


def test_a_platform_that_is_back_within_the_patience_is_not_given_up() -> None:
    async def test() -> None:
        back_at = asyncio.get_running_loop().time() + 0.6

        def serve(_: Request) -> bytes:
            return answer([7]) if asyncio.get_running_loop().time() >= back_at else GONE

        async with Platform(serve) as platform:
            # Pauses are random, and the last one is as long as it takes.
            config = platform.config(backoff_base=0.1, backoff_cap=30.0, max_attempts=5)
            assert config.patience == pytest.approx(0.75)
            async with Client(config) as client:
                results = await asyncio.gather(*(get(client, part) for part in PARTS * 6))
        assert results == [[7]] * 18

    run(test())


def test_a_host_that_does_not_exist_is_told_at_once() -> None:
    async def test() -> None:
        events: list[Event] = []
        config = ClientConfig("http://no-such-host.invalid", "c", "s")
        async with Client(config, listener=events.append) as client:
            with pytest.raises(PlatformUnavailable, match=r"no-such-host|not known|resolution") as caught:
                await get(client)
        # A machine without any name service cannot tell, and retries.
        assert caught.value.outage or not events

    asyncio.run(test())


def test_a_token_that_cannot_be_had_ends_the_run_and_one_for_a_school_the_school() -> None:
    async def test() -> None:
        calls = count()
        async with Platform() as platform:
            platform.on_token = lambda _: GONE if next(calls) else platform.issue()
            async with Client(platform.config(max_attempts=2)) as client:
                assert await get(client) == []
                with pytest.raises(PlatformUnavailable, match="102") as caught:
                    await get(client, school_id=102)
        assert caught.value.school_id is None

    run(test())


def test_a_silence_that_is_known_shortens_the_patience() -> None:
    health = Health()
    health.suspect(-100.0)
    assert health.is_spent(2, 8, now=0.0) and not health.is_spent(1, 8, now=0.0)
    pause = health.paced(25.0, patience=30.0, shortest=0.5, last=False, began=0.0, now=0.0)
    assert pause == 0.5
    health.answered(1.0)
    assert not health.is_spent(2, 8, now=2.0)
    assert health.paced(25.0, patience=30.0, shortest=0.5, last=True, began=0.0, now=2.0) == 25.0


def test_a_token_is_not_waited_for_as_long_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: dict[str, dict[str, float]] = {}
    send = AiohttpTransport.handle_async_request

    async def note(engine: AiohttpTransport, request: httpx.Request) -> httpx.Response:
        waited[request.method] = request.extensions["timeout"]
        return await send(engine, request)

    monkeypatch.setattr(AiohttpTransport, "handle_async_request", note)

    async def test() -> None:
        async with Platform() as platform, Client(platform.config(read_timeout=300.0)) as client:
            await get(client)

    run(test())
    assert {method: limits["read"] for method, limits in waited.items()} == {"POST": 30.0, "GET": 300.0}
    assert waited["POST"]["connect"] == waited["GET"]["connect"] == 10.0
