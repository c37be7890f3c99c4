"""Answers that are too large, or become so when they are unpacked, fail in words and take no memory."""

import asyncio
import gzip
import tracemalloc
import zlib
from typing import Any

import pytest

from campus.decoding.raw_json import raw_rows
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import Transient, UnexpectedAnswer
from tests.kits.platforms.scripted_platform import Platform, Request, answer, run

LIMIT = 4 << 20


async def ask(platform: Platform, **settings: Any) -> int:
    async with Client(platform.config(max_answer_bytes=LIMIT, **settings)) as client:
        got = await Reader(client, 101).fetch("/api/v3/students", {}, raw_rows)
        return len(got.value)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_not_unpacked(encoding: str) -> None:
    spaces = b"[" + b" " * (300 << 20) + b"]"
    bomb = gzip.compress(spaces) if encoding == "gzip" else zlib.compress(spaces)
    del spaces

    async def test() -> None:
        async with Platform(on_get=lambda request: answer(bomb, content_encoding=encoding)) as platform:
            tracemalloc.start()
            advice = "If the platform may send so much, raise platform.max_answer_mb of campus.yaml"
            with pytest.raises(UnexpectedAnswer, match=rf"students for school 101: .* 4 MB.*{advice}"):
                await ask(platform)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 8 * LIMIT
            assert len(platform.gets) == 1

    run(test())


def test_an_answer_without_end_is_left() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            writer.close()

    async def test() -> None:
        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        async with Platform() as platform:
            platform.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with Client(platform.config(max_answer_bytes=LIMIT)) as client:
                with pytest.raises(UnexpectedAnswer, match="4 MB"):
                    await client.get("/x", {}, school_id=None, anonymous=True).decoded(bytes)
        server.close()

    run(test())


def packed(form: str) -> tuple[bytes, str]:
    body = b"[" + b"1," * 100_000 + b"1]"
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return {
        "gzip": (gzip.compress(body), "gzip"),
        "zlib": (zlib.compress(body), "deflate"),
        "bare": (bare.compress(body) + bare.flush(), "deflate"),
        "plain": (body, "identity"),
    }[form]


@pytest.mark.parametrize("form", ["gzip", "zlib", "bare", "plain"])
def test_usual_answers_are_unpacked_whole(form: str) -> None:
    body, encoding = packed(form)

    async def test() -> None:
        async with Platform(on_get=lambda request: answer(body, content_encoding=encoding)) as platform:
            assert await ask(platform) == 100_001

    run(test())


def test_a_damaged_body_is_asked_for_again() -> None:
    def broken(request: Request) -> bytes:
        return answer(b"\x1f\x8bnothing", content_encoding="gzip")

    async def test() -> None:
        async with Platform(on_get=broken) as platform:
            with pytest.raises(Transient, match="damaged compressed body"):
                await ask(platform, max_attempts=2)
            assert len(platform.gets) == 2

    run(test())
