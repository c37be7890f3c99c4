"""The client against a real HTTP server with scripted faults."""

import asyncio
import gzip
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from itertools import count

import pytest

from campus.account import Tally
from campus.fetch.reader import Reader
from campus.http.client import Client, segment
from campus.http.errors import (
    CampusError,
    Forbidden,
    NotFound,
    PlatformUnavailable,
    Refused,
    Transient,
    Unauthorized,
    UnexpectedAnswer,
)
from campus.http.events import Event
from campus.http.request import Pagination
from tests.kits.platforms.client_requests import PATH, get, parse
from tests.kits.platforms.scripted_platform import (
    RESET,
    SECRET,
    DelayedAnswer,
    Platform,
    Request,
    answer,
    run,
)
from tests.kits.waiting import pass_time, settle, until_async


def once(first: bytes, then: bytes) -> Callable[[Request], bytes]:
    """Answer the first request with `first` and all others with `then`."""
    calls = count()
    return lambda request: first if next(calls) == 0 else then


def _token_refused(status: int, request: Request) -> bytes:
    return answer(request.body, status)


def test_a_request_carries_token_school_and_encoded_parameters() -> None:
    async def test() -> None:
        headers = {f"x-pagination-{name}": "1" for name in ("current-page", "page-count", "per-page")}
        async with Platform(lambda _: answer([7], x_pagination_total_count="1", **headers)) as platform:
            params = {"$page": 2, "name_like": "高一 a:b&c%", "id_in": "1,2"}
            async with Client(platform.config()) as client:
                got = await Reader(client, 101).fetch(PATH, params, parse)
        assert got.value == [7]
        assert got.pagination == Pagination(1, 1, 1, 1)
        (request,) = platform.gets
        assert request.headers["authorization"] == "Bearer t1-token"
        assert request.headers["x-school-id"] == "101"
        assert request.target == (f"{PATH}?$page=2&name_like=%E9%AB%98%E4%B8%80%20a%3Ab%26c%25&id_in=1,2")
        assert request.query == {name: str(value) for name, value in params.items()}

    run(test())


def test_a_path_segment_may_be_any_text() -> None:
    async def test() -> None:
        async with Platform() as platform, Client(platform.config()) as client:
            await get(client, f"/v3/uds/datasets/{segment('成绩/a b?')}/records")
        assert platform.gets[0].target == "/v3/uds/datasets/%E6%88%90%E7%BB%A9%2Fa%20b%3F/records"

    run(test())


def test_a_proxy_of_the_environment_is_asked_for_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with Platform() as proxy:
            monkeypatch.setenv("http_proxy", proxy.url.removeprefix("http://"))
            config = replace(proxy.config(), base_url="http://school.invalid:81/at", max_attempts=1)
            async with Client(config) as client:
                await get(client)
            assert [request.target for request in proxy.gets] == [f"http://school.invalid:81/at{PATH}"]
            monkeypatch.setenv("no_proxy", "school.invalid")
            async with Client(config) as client:
                with pytest.raises(PlatformUnavailable):
                    await get(client)
            assert len(proxy.gets) == 1

    run(test())


def test_a_base_address_may_have_a_path() -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.url += "/tenant/"
            async with Client(platform.config()) as client:
                await get(client)
        assert [request.path for request in platform.requests] == [
            "/tenant/api/v3/oauth/tokens",
            f"/tenant{PATH}",
        ]

    run(test())


def test_anonymous_requests_need_no_token() -> None:
    async def test() -> None:
        async with Platform() as platform, Client(platform.config()) as client:
            await get(client, "/api/v1/classroompad/check-updates", school_id=None, anonymous=True)
        (request,) = platform.requests
        assert "authorization" not in request.headers
        assert "x-school-id" not in request.headers

    run(test())


FAULTS = {
    "reset": RESET,
    "reset in mid-body": answer([1, 2, 3], missing_bytes=5),
    "torn JSON": answer(b'[{"id": 1}, {"i'),
    "HTML with 200": answer(b"<html><title>Welcome</title></html>", content_type="text/html"),
    "408": answer({}, 408),
    "429": answer({}, 429),
    "500": answer({}, 500),
    "503": answer(b"<html>down</html>", 503, retry_after="0"),
    "damaged gzip": answer(gzip.compress(b"[7]")[:-4] + b"....", content_encoding="gzip"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
}


def test_no_content_is_parsed_as_null() -> None:
    async def test() -> None:
        async with (
            Platform(lambda request: answer(b"", 204)) as platform,
            Client(platform.config()) as client,
        ):
            assert await get(client) is None
        assert len(platform.gets) == 1

    run(test())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_passing_fault_is_asked_again(fault: bytes) -> None:
    async def test() -> None:
        tally, events = Tally(), list[Event]()
        async with (
            Platform(once(fault, answer([7]))) as platform,
            Client(platform.config(), listener=events.append) as client,
        ):
            assert await get(client, tally=tally) == [7]
        assert len(platform.gets) == 2
        assert (tally.requests, tally.retries) == (2, 1)
        (retry,) = (event for event in events if event.kind in ("retry", "throttled"))
        assert f"GET {PATH} for school 101" in retry.message
        assert "attempt 2 of 8" in retry.message
        throttled = fault[9:12] in (b"429", b"503")
        assert retry.kind == ("throttled" if throttled else "retry")

    run(test())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_lasting_fault_is_transient_and_names_the_request(fault: bytes) -> None:
    async def test() -> None:
        async with Platform(lambda _: fault) as platform, Client(platform.config(max_attempts=3)) as client:
            with pytest.raises(Transient, match=f"GET {PATH} for school 101: .* after 3 attempts"):
                await get(client)
        assert len(platform.gets) == 3

    run(test())


def test_a_platform_that_does_not_answer_is_transient_and_one_that_is_not_there_an_outage() -> None:
    async def test() -> None:
        async def pass_the_timeout(_: Request) -> bytes:
            await settle()
            pass_time(60)
            await asyncio.Event().wait()
            raise AssertionError

        async with (
            Platform(pass_the_timeout) as platform,
            Client(platform.config(max_attempts=2, read_timeout=60)) as client,
        ):
            with pytest.raises(Transient, match="no answer in time, after 2 attempts"):
                await get(client)
            assert len(platform.gets) == 2
        async with Client(platform.config(max_attempts=2)) as client:
            with pytest.raises(
                PlatformUnavailable, match=f"{platform.url} has not responded.*no connection"
            ) as caught:
                await get(client)
        assert caught.value.outage and caught.value.school_id is None

    run(test())


@pytest.mark.parametrize("as_date", [True, False])
def test_retry_after_is_kept_by_everybody(as_date: bool) -> None:
    async def test() -> None:
        # The platform's clock is a day off; a date in Retry-After is one of that clock.
        theirs = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
        until = format_datetime(theirs + timedelta(seconds=1), usegmt=True) if as_date else "0.4"
        refusal = answer({}, 429, retry_after=until, date=format_datetime(theirs, usegmt=True))
        times: list[float] = []
        reply, events = once(refusal, answer([7])), list[Event]()

        def note(request: Request) -> bytes:
            times.append(asyncio.get_running_loop().time())
            return reply(request)

        async def get_later(client: Client) -> None:
            await until_async(lambda: "throttled" in {event.kind for event in events}, "it is refused")
            await get(client)

        async with (
            Platform(note) as platform,
            Client(platform.config(), listener=events.append) as client,
        ):
            await asyncio.gather(get(client), get_later(client))
        assert min(times[1:]) - times[0] >= (0.95 if as_date else 0.4)

    run(test())


def test_a_retry_after_beyond_the_cap_fails_at_once() -> None:
    async def test() -> None:
        async with (
            Platform(lambda _: answer({}, 503, retry_after="3600")) as platform,
            Client(platform.config()) as client,
        ):
            with pytest.raises(Transient, match="pause of 3600 s, and we wait 60 s at most"):
                await get(client)
            with pytest.raises(Transient):
                await get(client)
        assert len(platform.gets) == 2

    run(test())


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (400, {"error": "bad_request", "error_description": "sort is wrong"}, Refused, "sort is wrong"),
        (403, {"message": "缺少权限"}, Forbidden, "缺少权限.*grants it class.read and opens school 101"),
        (404, {"message": "no such class"}, NotFound, "no such class. Check the id in the path.$"),
        (404, b"", NotFound, "Check the id in the path, and that CAMPUS_BASE_URL ends before /api"),
        (422, {"errors": {"semester_id": ["is required"]}}, Refused, "is required"),
        (418, b"plain\nwords", Refused, "plain words"),
        (302, b"", Refused, "Redirects are not followed: set CAMPUS_BASE_URL to the final address"),
        (405, b"", Refused, "Another service seems to answer here: check CAMPUS_BASE_URL"),
        (
            401,
            {},
            Unauthorized,
            "No token of ours is accepted: check CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET",
        ),
    ],
)
def test_a_refusal_is_final_and_says_what_to_do(
    status: int, body: object, kind: type[CampusError], words: str
) -> None:
    async def test() -> None:
        refusal = answer(body, status, location="http://127.0.0.1:1/elsewhere")
        async with (
            Platform(lambda _: refusal) as platform,
            Client(platform.config(), [("class.read",)]) as client,
        ):
            with pytest.raises(kind, match=f"GET {PATH} for school 101: status {status}.*{words}") as caught:
                await get(client, scope=("class.read",))
        assert caught.value.advice
        assert len(platform.gets) == (2 if status == 401 else 1)

    run(test())


def test_an_answer_of_the_wrong_shape_is_final_and_names_the_request() -> None:
    def wrong(body: bytes) -> None:
        raise UnexpectedAnswer("a list was expected.", "Tell the developers.")

    async def test() -> None:
        async with Platform() as platform, Client(platform.config()) as client:
            with pytest.raises(UnexpectedAnswer, match=f"GET {PATH} for school 101: a list .* developers"):
                await get(client, decode=wrong)
        assert len(platform.gets) == 1

    run(test())


@pytest.mark.parametrize("url", ["", "platform.example", "ftp://platform.example", "http://[::1/"])
def test_an_address_that_is_none_is_a_matter_of_the_setting(url: str) -> None:
    async def test() -> None:
        platform = Platform(url=url)
        async with Client(platform.config()) as client:
            with pytest.raises(PlatformUnavailable, match="CAMPUS_BASE_URL"):
                await get(client)

    run(test())


def test_never_more_requests_under_way_than_set_and_no_fewer() -> None:
    async def test() -> None:
        delayed = DelayedAnswer(answer([]))
        async with Platform(delayed) as platform, Client(platform.config(concurrency=5)) as client:
            requests = [asyncio.create_task(get(client)) for _ in range(40)]
            await until_async(lambda: platform.busy >= 5, "five requests are under way")
            await settle()  # A sixth request would be under way, too.
            delayed.may_go.set()
            await asyncio.gather(*requests)
        assert platform.most_busy == 5
        assert len(platform.gets) == 40

    run(test())


def test_a_throttling_platform_is_slowed_down_for_and_served_all_the_same() -> None:
    async def test() -> None:
        calls = count()
        tally, events = Tally(), list[Event]()
        async with (
            Platform(lambda _: answer([], 429 if next(calls) < 10 else 200)) as platform,
            Client(platform.config(), listener=events.append) as client,
        ):
            await asyncio.gather(*(get(client, tally=tally) for _ in range(30)))
        throttled = sum(event.kind == "throttled" for event in events)
        assert (throttled, tally.retries, tally.requests) == (10, 10, 40)

    run(test())


@pytest.mark.parametrize("has_token_date", [True, False])
def test_the_first_date_header_shows_the_clock_skew(has_token_date: bool) -> None:
    async def test() -> None:
        ahead = {"date": format_datetime(datetime.now(UTC) + timedelta(hours=8), usegmt=True)}
        async with Platform(lambda _: answer([], **ahead)) as platform:
            token_headers = ahead if has_token_date else {}
            platform.on_token = lambda _: answer({"access_token": "t", "expires_in": 60}, **token_headers)
            async with Client(platform.config()) as client:
                assert client.clock_skew is None
                await get(client)
                assert client.clock_skew == pytest.approx(8 * 3600, abs=5)

    run(test())


def test_neither_secret_nor_token_shows_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        texts: list[str] = []
        calls = count()

        def echo(request: Request) -> bytes:
            """An error page that repeats all that it was sent, in one way or another."""
            said = f"{SECRET} {request.token} {request.headers} {request.body.decode()}"
            statuses = [503, 401, 400, 403, 200, 404]
            return answer({"message": said, "access_token": request.token}, statuses[next(calls) % 6])

        def note(event: Event) -> None:
            texts.append(repr(event))

        def torn(body: bytes) -> None:
            raise UnexpectedAnswer("wrong shape.")

        async with Platform(echo) as platform:
            config = platform.config()
            async with Client(config, [("a", "b")], note) as client:
                for _ in range(12):
                    try:
                        await get(client, scope=("a", "b"), decode=torn)
                    except CampusError as error:
                        texts += [str(error), repr(error), error.message, error.advice]
                texts += [repr(client._grants[101].token), repr(config)]
            for status in (400, 401, 403, 500):
                platform.on_token = partial(_token_refused, status)
                async with Client(platform.config(max_attempts=2), [("a",)], note) as client:
                    with pytest.raises(PlatformUnavailable) as caught:
                        await get(client)
                    texts += [str(caught.value), repr(caught.value)]
        texts += [record.getMessage() for record in caplog.records if record.name != "asyncio"]
        assert len(texts) > 40
        everything = "\n".join(texts)
        for hidden in (SECRET, SECRET.replace('"', '\\"'), "s3cr", "-token", "ü-value"):
            assert hidden not in everything

    caplog.set_level(logging.DEBUG)
    run(test())
