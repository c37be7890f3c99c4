"""Tokens: how many the client requests, with which scopes, and what a refusal means."""

import asyncio
import random
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from campus.http.auth import Grant, Scopes, Token, negotiate
from campus.http.client import Client
from campus.http.errors import Forbidden, PlatformUnavailable, Refused, Unauthorized
from campus.http.exchange import Declined
from campus.http.request import Request as TokenRequest
from campus.http.request import Response
from tests.kits.platforms.client_requests import get
from tests.kits.platforms.scripted_platform import (
    TOKEN_PATH,
    DelayedAnswer,
    Platform,
    Request,
    answer,
    run,
)
from tests.kits.waiting import settle, until_async

STUDENT = ("student.read_basic", "student.read_all")
SCOPES = [("semester.read",), STUDENT, ("class.read",), ("class.read",)]


def grant_only(platform: Platform, *scopes: str, status: int = 400) -> None:
    """Let the platform refuse token requests with any other scope."""

    def issue(request: Request) -> bytes:
        if set(request.scopes) - {"school.101", *scopes}:
            return answer({"error": "invalid_scope", "message": "scope not granted"}, status)
        return platform.issue()

    platform.on_token = issue


def test_token_request_follows_specification_with_least_scopes() -> None:
    async def test() -> None:
        async with Platform() as platform, Client(platform.config(), SCOPES) as client:
            await get(client)
            await get(client)
        (post,) = platform.posts
        assert (post.path, post.headers["content-type"]) == (TOKEN_PATH, "application/json")
        assert post.scopes == ["school.101", "semester.read", "student.read_basic", "class.read"]
        assert "x-school-id" not in post.headers

    run(test())


def test_a_negotiation_requests_refused_scopes_alone() -> None:
    """Of two alternatives, the second is requested alone too, once the first is refused."""
    scopes = Scopes(SCOPES)
    refusal = Declined(Response(400, {}, b"{}"), "scope not granted")
    token = Token("t", frozenset(), 0.0)
    negotiation = negotiate(scopes, TokenRequest("POST", TOKEN_PATH, 101, for_token=True))
    requested = [next(negotiation)]
    with pytest.raises(StopIteration) as end:
        while True:
            is_refused = "student.read_basic" in (requested[-1] or ())
            requested.append(negotiation.send(refusal if is_refused else token))
    assert end.value.value is token
    assert requested == [
        ["semester.read", "student.read_basic", "class.read"],
        *(["semester.read"], ["student.read_basic"], ["class.read"], ["student.read_all"]),
        ["semester.read", "student.read_all", "class.read"],
    ]
    assert scopes.refused == {"student.read_basic": "status 400, the platform says: scope not granted."}


def test_scopes_of_the_settings_are_requested_too() -> None:
    async def test() -> None:
        async with Platform() as platform:
            config = replace(platform.config(), extra_scopes=("attendance.read",))
            async with Client(config, [("class.read",)]) as client:
                await get(client)
            assert platform.posts[0].scopes == ["school.101", "class.read", "attendance.read"]

    run(test())


def test_each_school_has_its_own_token() -> None:
    """Requests without a school share a token without a school."""

    async def test() -> None:
        async with Platform() as platform, Client(platform.config(), [("class.read",)]) as client:
            for school in (101, None, 102, 101):
                await get(client, school_id=school)
        assert [post.scopes for post in platform.posts] == [
            ["school.101", "class.read"],
            ["class.read"],
            ["school.102", "class.read"],
        ]
        assert [g.headers.get("x-school-id") for g in platform.gets] == ["101", None, "102", "101"]
        assert [g.token[:2] for g in platform.gets] == ["t1", "t2", "t3", "t1"]

    run(test())


@pytest.mark.parametrize("begin", ["no token", "an expired token", "a revoked token"])
def test_concurrent_requests_share_one_token_request(begin: str) -> None:
    async def test() -> None:
        all_are_sent = asyncio.Barrier(64)

        async def serve(request: Request) -> bytes:
            await all_are_sent.wait()
            return answer([], 401 if request.token in revoked else 200)

        revoked: set[str] = set()
        async with Platform() as platform, Client(platform.config(concurrency=64)) as client:
            if begin != "no token":
                await get(client)
                platform.requests.clear()
            platform.on_get = serve
            if begin == "an expired token":
                client._grants[101].token.fresh_until = 0.0  # type: ignore[union-attr]
            if begin == "a revoked token":
                revoked.add("t1-token")
            await asyncio.gather(*(get(client) for _ in range(64)))
        assert len(platform.posts) == 1
        assert platform.most_busy == 64

    run(test())


@pytest.mark.parametrize(("expires_in", "fresh"), [(100.0, 95.0), (6000.0, 5700.0), (86400.0, 86100.0)])
def test_a_token_is_refreshed_before_it_expires(expires_in: float, fresh: float) -> None:
    async def test() -> None:
        now = 1000.0
        async with Platform(expires_in=expires_in) as platform, Client(platform.config()) as client:
            grant = Grant(platform.config(), client._sender, (), 101, client._shared, clock=lambda: now)
            first = await grant.current()
            now += fresh - 0.1
            assert await grant.current() is first
            now += 0.2
            assert await grant.current() is not first
        assert len(platform.posts) == 2

    run(test())


def test_a_token_that_expires_at_once_still_works() -> None:
    async def test() -> None:
        async with Platform(expires_in=0) as platform, Client(platform.config()) as client:
            await asyncio.gather(*(get(client) for _ in range(10)))
        assert len(platform.gets) == 10

    run(test())


def test_failed_token_requests_are_retried() -> None:
    """If all retries fail, all waiting requests fail with the same error."""

    async def test() -> None:
        calls = count()
        async with Platform() as platform:
            platform.on_token = lambda _: answer({}, 502) if next(calls) < 2 else platform.issue()
            async with Client(platform.config()) as client:
                await get(client)
            platform.requests.clear()
            platform.on_token = lambda _: answer({}, 502)
            async with Client(platform.config(max_attempts=3)) as client:
                failures = await asyncio.gather(*(get(client) for _ in range(16)), return_exceptions=True)
        assert {type(failure) for failure in failures} == {PlatformUnavailable}
        assert len(platform.posts) == 3

    run(test())


def test_random_revocations_fail_no_request() -> None:
    async def test() -> None:
        dice = random.Random(3)
        async with Platform() as platform:

            def serve(request: Request) -> bytes:
                if request.token != f"t{platform.issued}-token":
                    return answer({}, 401)
                if dice.random() < 0.03:
                    platform.issued += 1  # revokes all tokens: the client has no token with the new number
                    return answer({}, 401)
                return answer([7])

            platform.on_get = serve
            async with Client(platform.config()) as client:
                results = await asyncio.gather(*(get(client) for _ in range(600)))
        assert results == [[7]] * 600
        assert len(platform.posts) < 60

    run(test())


def test_new_tokens_that_are_revoked_at_once_are_retried() -> None:
    """The platform has accepted a token before, so 401 is no refusal of the credentials."""

    async def test() -> None:
        revoked: set[str] = set()
        platform = Platform(lambda r: answer([7], 401 if r.token in revoked else 200))
        async with platform, Client(platform.config()) as client:
            await get(client)
            revoked.update({"t1-token", "t2-token", "t3-token"})
            assert await get(client) == [7]
        assert len(platform.posts) == 4

    run(test())


def test_a_late_401_for_an_old_token_requests_none() -> None:
    async def test() -> None:
        renewed = asyncio.Event()

        async def serve(request: Request) -> bytes:
            if request.token != "t1-token":
                renewed.set()
                return answer([7])
            if request.path == "/late":
                await renewed.wait()
            return answer({}, 401)

        async with Platform(serve) as platform, Client(platform.config()) as client:
            assert await asyncio.gather(get(client, "/late"), get(client)) == [[7], [7]]
        assert len(platform.posts) == 2

    run(test())


def test_tokens_that_are_never_accepted_raise_unauthorized() -> None:
    async def test() -> None:
        async with (
            Platform(lambda _: answer({"message": "bad token"}, 401)) as platform,
            Client(platform.config()) as client,
        ):
            failures = await asyncio.gather(*(get(client) for _ in range(16)), return_exceptions=True)
        assert {type(failure) for failure in failures} == {Unauthorized}
        assert len(platform.posts) == 2

    run(test())


def test_an_endpoint_that_rejects_every_token_affects_no_other() -> None:
    async def test() -> None:
        async with (
            Platform(lambda r: answer([7], 401 if r.path == "/closed" else 200)) as platform,
            Client(platform.config()) as client,
        ):
            await get(client)
            with pytest.raises(Unauthorized):
                await get(client, "/closed")
            assert await get(client) == [7]
        assert len(platform.posts) <= 4

    run(test())


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_refused_scope_fails_only_requests_that_need_it(status: int) -> None:
    async def test() -> None:
        async with Platform() as platform:
            grant_only(platform, "semester.read", "student.read_all", status=status)
            platform.on_get = lambda r: answer([], 403 if r.path == "/classes" else 200)
            async with Client(platform.config(), SCOPES) as client:
                await get(client, "/semesters", scope=("semester.read",))
                await get(client, "/students", scope=STUDENT)
                with pytest.raises(
                    Forbidden, match=r"class\.read \(refused: status .*scope not granted"
                ) as caught:
                    await get(client, "/classes", scope=("class.read",))
        assert "school 101" in str(caught.value)
        assert platform.posts[-1].scopes == ["school.101", "semester.read", "student.read_all"]
        assert {g.token for g in platform.gets} == {f"t{platform.issued}-token"}

    run(test())


def record_tokens_of_read_all(platform: Platform) -> set[str]:
    """A set to which the platform adds each token that it issues with student.read_all."""
    wide: set[str] = set()

    def issue(request: Request) -> bytes:
        if "student.read_all" in request.scopes:
            wide.add(f"t{platform.issued + 1}-token")
        return platform.issue()

    platform.on_token = issue
    return wide


def test_a_403_adds_the_alternative_scope_once() -> None:
    async def test() -> None:
        async with Platform() as platform:
            wide = record_tokens_of_read_all(platform)
            platform.on_get = lambda r: answer([7], 200 if r.token in wide else 403)
            async with Client(platform.config(), SCOPES) as client:
                await asyncio.gather(*(get(client, scope=STUDENT) for _ in range(16)))
            assert len(platform.posts) == 2
            platform.on_get = lambda r: answer({}, 403)
            platform.requests.clear()
            async with Client(platform.config(), SCOPES) as client:
                with pytest.raises(Forbidden, match=r"student\.read_basic or student\.read_all"):
                    await get(client, scope=STUDENT)
        assert (len(platform.posts), len(platform.gets)) == (2, 2)

    run(test())


@pytest.mark.parametrize(
    ("status", "words"), [(401, "no"), (403, "no"), (422, "missing scope"), (400, "无权限")]
)
def test_other_responses_also_mean_a_missing_scope(status: int, words: str) -> None:
    async def test() -> None:
        async with Platform() as platform:
            wide = record_tokens_of_read_all(platform)
            platform.on_get = lambda r: (
                answer([7]) if r.token in wide or r.path == "/open" else answer({"message": words}, status)
            )
            async with Client(platform.config(), SCOPES) as client:
                await get(client, "/open")
                assert await get(client, scope=STUDENT) == [7]

    run(test())


def test_refused_parameters_request_no_further_scope() -> None:
    async def test() -> None:
        async with Platform(lambda r: answer({"message": "bad per_page"}, 422)) as platform:
            async with Client(platform.config(), SCOPES) as client:
                with pytest.raises(Refused):
                    await get(client, scope=STUDENT)
            assert len(platform.posts) == 1

    run(test())


def test_a_403_may_mean_an_expired_token() -> None:
    """Sixteen concurrent requests share one new token. A 403 with the new token raises Forbidden."""

    async def test() -> None:
        async with Platform() as platform:
            expired: set[str] = set()
            platform.on_get = lambda r: answer([7], 403 if r.token in expired or r.path == "/closed" else 200)
            async with Client(platform.config(), SCOPES) as client:
                for _ in range(3):
                    await get(client, scope=("class.read",))
                    expired.add(f"t{platform.issued}-token")
                    results = await asyncio.gather(*(get(client, scope=("class.read",)) for _ in range(16)))
                    assert results == [[7]] * 16
                assert platform.issued == 4
                for _ in range(3):
                    with pytest.raises(Forbidden):
                        await get(client, "/closed", scope=("semester.read",))
                assert platform.issued == 5
                assert await get(client, scope=("class.read",)) == [7]

    run(test())


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": "invalid_client"}),
        (400, {"error": "invalid_client"}),
        (401, {"message": "wrong secret"}),
        (422, {"message": "client unknown"}),
    ],
)
def test_wrong_credentials_name_their_settings(status: int, body: object) -> None:
    advice = "The platform refuses the credentials: check CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET"

    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = lambda _: answer(body, status)
            async with Client(platform.config(), SCOPES) as client:
                for _ in range(3):
                    with pytest.raises(PlatformUnavailable, match=advice):
                        await get(client)
        assert len(platform.posts) <= 7
        assert not platform.gets

    run(test())


def test_credentials_without_a_school_still_read_other_schools() -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = lambda r: answer({}, 403) if "school.101" in r.scopes else platform.issue()
            async with Client(platform.config(), SCOPES) as client:
                with pytest.raises(
                    PlatformUnavailable, match=r"credentials are right.*opens school 101"
                ) as caught:
                    await get(client)
                assert caught.value.school_id == 101
                assert await get(client, school_id=102) == []

    run(test())


@pytest.mark.parametrize("status", [404, 301, 405])
def test_a_missing_token_endpoint_means_a_wrong_address(status: int) -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = lambda _: answer({}, status)
            async with Client(platform.config(), SCOPES) as client:
                with pytest.raises(PlatformUnavailable, match=r"POST /api/v3/oauth/tokens.*CAMPUS_BASE_URL"):
                    await get(client)
        assert len(platform.posts) == 1

    run(test())


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"access_token": 5, "expires_in": 60},
        {"access_token": "a b", "expires_in": 60},
        {"access_token": "t"},
    ],
)
def test_a_malformed_token_response_is_no_token(body: object) -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = lambda _: answer(body)
            async with Client(platform.config()) as client:
                with pytest.raises(PlatformUnavailable, match="CAMPUS_BASE_URL"):
                    await get(client)

    run(test())


def test_the_lifetime_of_a_token_may_be_text() -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = lambda _: platform.issue(expires_in="7200")
            async with Client(platform.config()) as client:
                assert await get(client) == []

    run(test())


def test_requests_survive_a_cancelled_token_refresh() -> None:
    async def test() -> None:
        async with Platform() as platform:
            platform.on_token = delayed = DelayedAnswer(platform.issue())
            async with Client(platform.config()) as client:
                first: asyncio.Task[Any] = asyncio.create_task(get(client))
                others = [asyncio.create_task(get(client)) for _ in range(3)]
                await until_async(lambda: platform.posts, "the token is requested")
                first.cancel()
                await settle()
                delayed.may_go.set()
                assert await asyncio.gather(*others) == [[]] * 3

    run(test())
