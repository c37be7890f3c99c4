"""Writes against a real HTTP server with scripted faults: carried out once, whatever answers are lost."""

import asyncio
import json
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import parse_qsl

import pytest

from campus.http.client import Client
from campus.http.errors import Forbidden, NotFound, Refused, Transient, Unconfirmed
from campus.http.events import Event
from tests.kits.platforms.scripted_platform import (
    RESET,
    DelayedAnswer,
    Platform,
    Request,
    Script,
    answer,
    run,
)
from tests.kits.waiting import settle, until_async
from writeback.operations import (
    BIND_CARD,
    CHANGE_USER,
    CREATE_USER,
    DELETE_USER,
    MARK_LESSON,
    Operation,
    Write,
)
from writeback.send.writer import Writer, Written

NUMBER = "11010519491231002X"
PERSON = {"outer_id": "a-1", "usin": "1", "name": "甲", "password": "pa55-wörd", "idcard": NUMBER}


def in_turn(*scripts: bytes) -> Script:
    """These answers one after the other, and the last one for ever."""
    calls = count()
    return lambda request: scripts[min(next(calls), len(scripts) - 1)]


def creation(**fields: Any) -> Write:
    return Write(CREATE_USER, 101, content={**PERSON, **fields})


async def written(platform: "Looked", write: Write, found: Any = None, **settings: Any) -> Written:
    """Write with a look that finds this."""

    async def look() -> Any:
        platform.looks += 1
        return found

    async with Client(platform.config(**settings)) as client:
        return await Writer(client, settling=0.0).write(write, look)


class Looked(Platform):
    """Counts the looks."""

    looks = 0


def test_a_write_says_what_where_and_for_which_school() -> None:
    async def test() -> None:
        async with Looked() as platform:
            marks = [{"rid": 5, "result": "absent"}]
            write = Write(MARK_LESSON, 101, 7, {"checked_at": "2026-11-23", "lesson": 2}, marks)
            assert await written(platform, write) == Written(204, None)
        [sent] = platform.writes
        assert sent.method == "PUT"
        assert sent.target == "/api/v1/classes/7/attendances?checked_at=2026-11-23&lesson=2"
        assert sent.headers["content-type"] == "application/json"
        assert sent.headers["x-school-id"] == "101"
        assert sent.headers["authorization"] == "Bearer t1-token"
        assert json.loads(sent.body) == marks

    run(test())


@pytest.mark.parametrize("lost", [RESET, answer({}, status=500), answer({}, 502), answer({}, 503)])
def test_a_creation_whose_answer_is_lost_is_looked_for_and_not_sent_again(lost: bytes) -> None:
    async def test() -> None:
        async with Looked(on_write=lambda _: lost) as platform:
            assert await written(platform, creation(), found={"id": 9}) == Written(0, {"id": 9}, lost=True)
        assert len(platform.writes) == platform.looks == 1

    run(test())


def test_a_creation_that_did_not_happen_is_sent_again() -> None:
    async def test() -> None:
        script = in_turn(RESET, answer({}, 504), answer({"id": 9}, 201))
        async with Looked(on_write=script) as platform:
            assert await written(platform, creation()) == Written(201, {"id": 9}, lost=True)
        assert (len(platform.writes), platform.looks) == (3, 2)

    run(test())


@pytest.mark.parametrize("user", [{"id": 9}, None])
def test_a_refusal_after_a_lost_answer_is_looked_at(user: Any) -> None:
    """The first attempt may have happened after the look, and its number is taken since."""

    async def test() -> None:
        seen = iter([None, user])

        async def look() -> Any:
            return next(seen)

        script = in_turn(RESET, answer({"message": "usin is taken"}, 422))
        async with Looked(on_write=script) as platform, Client(platform.config()) as client:
            writing = Writer(client, settling=0.0).write(creation(), look)
            if user:
                assert await writing == Written(0, user, lost=True)
            else:
                with pytest.raises(Refused, match="usin is taken"):
                    await writing
        assert len(platform.writes) == 2

    run(test())


def test_a_refusal_of_the_first_attempt_is_believed() -> None:
    async def test() -> None:
        async with Looked(on_write=lambda _: answer({}, 422)) as platform:
            with pytest.raises(Refused):
                await written(platform, creation(), found={"id": 9})
        assert platform.looks == 0

    run(test())


def test_a_platform_that_goes_away_after_a_lost_answer_leaves_the_write_unconfirmed() -> None:
    async def test() -> None:
        script = in_turn(answer({}, 504), answer({}, 429))
        async with Looked(on_write=script) as platform:
            with pytest.raises(Unconfirmed, match=r"504.*Then: .*429"):
                await written(platform, creation(), max_attempts=2)

    run(test())


def test_what_the_platform_has_certainly_not_done_is_sent_again_without_a_look() -> None:
    async def test() -> None:
        script = in_turn(answer({}, 429), answer({}, 401), answer({"id": 9}, 201))
        async with Looked(on_write=script) as platform:
            assert await written(platform, creation()) == Written(201, {"id": 9})
        assert (len(platform.writes), platform.looks) == (3, 0)

    run(test())


def test_a_creation_is_given_up_as_unconfirmed_after_a_last_look() -> None:
    async def test() -> None:
        async with Looked(on_write=lambda _: RESET) as platform:
            with pytest.raises(Unconfirmed, match="POST /api/v1/reflections for school 101"):
                await written(platform, creation(), max_attempts=3)
        assert (len(platform.writes), platform.looks) == (3, 3)

    run(test())


def test_a_look_that_fails_leaves_the_write_unconfirmed() -> None:
    async def test() -> None:
        async def look() -> None:
            raise Forbidden("no looking")

        async with Looked(on_write=lambda _: RESET) as platform, Client(platform.config()) as client:
            with pytest.raises(Unconfirmed, match="A look at it failed: no looking"):
                await Writer(client, settling=0.0).write(creation(), look)
        assert len(platform.writes) == 1

    run(test())


@pytest.mark.parametrize("operation", [CHANGE_USER, DELETE_USER, MARK_LESSON])
def test_what_may_be_repeated_is(operation: Operation) -> None:
    async def test() -> None:
        async with Looked(on_write=in_turn(RESET, answer({}, 502), answer(b"", 204))) as platform:
            assert await written(platform, Write(operation, 101, 7)) == Written(204, None)
        assert (len(platform.writes), platform.looks) == (3, 0)

    run(test())


@pytest.mark.parametrize("body", [b"carried out", b'{"id": ', b"[" * 100_000], ids=["text", "torn", "deep"])
def test_a_success_is_one_whatever_its_body(body: bytes) -> None:
    async def test() -> None:
        async with Looked(on_write=lambda _: answer(body)) as platform:
            assert await written(platform, Write(MARK_LESSON, 101, 7)) == Written(200, None)
        assert len(platform.writes) == 1

    run(test())


def test_a_deletion_that_finds_nothing_the_second_time_has_happened() -> None:
    async def test() -> None:
        async with Looked(on_write=in_turn(RESET, answer({}, 404))) as platform:
            assert (await written(platform, Write(DELETE_USER, 101, 7))).status == 404
        async with Looked(on_write=lambda _: answer({}, 404)) as platform:
            with pytest.raises(NotFound):
                await written(platform, Write(DELETE_USER, 101, 7))

    run(test())


def test_a_platform_without_patch_is_sent_put_from_then_on() -> None:
    async def test() -> None:
        def by_method(request: Request) -> bytes:
            return answer({}, 405) if request.method == "PATCH" else answer({"id": 7})

        async with Looked(on_write=by_method) as platform, Client(platform.config()) as client:
            writer = Writer(client)
            for _ in range(2):
                await writer.write(Write(CHANGE_USER, 101, 7, content={"name": "乙"}))
        assert [sent.method for sent in platform.writes] == ["PATCH", "PUT", "PUT"]

    run(test())


def test_a_put_sends_all_that_is_known_where_it_may_empty_what_it_leaves_out() -> None:
    async def test() -> None:
        def by_method(request: Request) -> bytes:
            return answer({}, 405) if request.method == "PATCH" else answer({"id": 7})

        whole = {"name": "乙", "phone": "1"}
        async with Looked(on_write=by_method) as platform, Client(platform.config()) as client:
            await Writer(client).write(Write(CHANGE_USER, 101, 7, content={"name": "乙"}, whole=whole))
        assert [json.loads(sent.body) for sent in platform.writes] == [{"name": "乙"}, whole]

    run(test())


def test_form_fields_are_a_form_and_json_for_a_platform_that_takes_no_form() -> None:
    async def test() -> None:
        def by_kind(request: Request) -> bytes:
            return answer({}, 415) if "form" in request.headers["content-type"] else answer({}, 201)

        fields = {"card_id": "卡 1", "username": "20230101", "password": "p&q"}
        async with Looked(on_write=by_kind) as platform:
            await written(platform, Write(BIND_CARD, 101, content=fields))
        form, as_json = platform.writes
        assert dict(parse_qsl(form.body.decode())) == json.loads(as_json.body) == fields

    run(test())


def test_a_refusal_tells_the_platforms_words_without_secrets() -> None:
    async def test() -> None:
        said = answer({"errors": [f"{PERSON['password']} is too short", f"idcard {NUMBER} is taken"]}, 422)
        async with Looked(on_write=lambda _: said) as platform:
            with pytest.raises(Refused) as caught:
                await written(platform, creation())
        assert (caught.value.status, caught.value.quote) == (422, "*** is too short; idcard *** is taken")
        assert PERSON["password"] not in str(caught.value) and NUMBER not in str(caught.value)

    run(test())


def test_no_event_tells_a_password_either() -> None:
    async def test() -> None:
        events: list[Event] = []
        broken = answer({"message": f"cannot store {PERSON['password']}"}, 429)
        async with Looked(on_write=lambda _: broken) as platform:
            config = platform.config(max_attempts=2)
            async with Client(config, listener=events.append) as client:
                with pytest.raises(Transient) as caught:
                    await Writer(client).write(creation())
        assert "cannot store ***" in str(caught.value)
        assert events
        assert not any(PERSON["password"] in event.message for event in events)

    run(test())


def _created_with(body: bytes, _: Request) -> bytes:
    return answer(body, 201)


def test_a_success_without_json_is_a_success() -> None:
    async def test() -> None:
        for body in (b"", b"OK", b'{"id": 9'):
            async with Looked(on_write=partial(_created_with, body)) as platform:
                assert await written(platform, creation()) == Written(201, None)

    run(test())


def test_writes_share_the_slots_of_the_client() -> None:
    async def test() -> None:
        delayed = DelayedAnswer(answer({}, 201))
        async with Looked(on_write=delayed) as platform:
            async with Client(platform.config(concurrency=2)) as client:
                writer = Writer(client)
                writes = [asyncio.create_task(writer.write(creation(usin=str(n)))) for n in range(8)]
                await until_async(lambda: platform.busy >= 2, "two writes are under way")
                await settle()  # A third write would be under way, too.
                delayed.may_go.set()
                await asyncio.gather(*writes)
            assert platform.most_busy == 2

    run(test())
