"""Connections on which the other side does not do its part."""

import asyncio
import socket
from contextlib import suppress

import h11
import pytest

from pipelines.pushes.connections import Answer, BodyCutOff, BodyTooLong, Connections, ReadBody
from tests.kits.waiting import PATIENCE, pass_time, settle

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n"


async def handler(_request: h11.Request, read_body: ReadBody) -> Answer:
    try:
        return Answer(200, str(len(await read_body(10))))
    except BodyTooLong:
        return Answer(413, "too long")
    except BodyCutOff:
        return Answer(408, "cut off", retry_after=1)


async def exchange(*pieces: bytes, pause: float = 0, idle_seconds: float = PATIENCE) -> bytes:
    """What a server answers to pieces of a request between which so many seconds pass."""
    head_is_read = asyncio.Event()

    async def note_head(request: h11.Request, read_body: ReadBody) -> Answer:
        head_is_read.set()
        return await handler(request, read_body)

    connections = Connections(note_head, malformed=lambda: None, idle_seconds=idle_seconds)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(connections.serve(listener))
        reader, writer = await asyncio.open_connection(*listener.getsockname())

        async def send() -> None:
            for piece in pieces:
                writer.write(piece)
                if piece.endswith(b"\r\n\r\n"):
                    await head_is_read.wait()
                await settle()
                pass_time(pause)

        sending = asyncio.create_task(send())
        try:
            return await reader.read()
        finally:
            sending.cancel()
            writer.close()
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


def test_a_silent_connection_is_closed() -> None:
    assert asyncio.run(exchange(idle_seconds=0.1)) == b""


@pytest.mark.parametrize(("start", "status"), [(b"", b""), (HEAD + b"\r\n", b"HTTP/1.1 408")])
def test_bytes_now_and_then_do_not_keep_a_connection(start: bytes, status: bytes) -> None:
    answer = asyncio.run(exchange(start, *[b"x"] * 9, pause=PATIENCE / 2))
    assert answer.startswith(status) and bool(answer) == bool(status)


def test_a_connection_serves_a_single_request() -> None:
    """A second request on it is not even looked at."""
    answer = asyncio.run(exchange(2 * (HEAD + b"\r\n0123456789")))
    assert answer.count(b"HTTP/1.1 200") == 1 and b"connection: close" in answer.lower()


@pytest.mark.parametrize("method", [b"HEAD", b"OPTIONS"])
def test_other_methods_are_answered_too(method: bytes) -> None:
    assert asyncio.run(exchange(method + b" / HTTP/1.1\r\nHost: here\r\n\r\n")).startswith(b"HTTP/1.1 200")


def test_an_answer_is_read_though_the_body_is_still_sent() -> None:
    """Closing at once would reset the connection, and take the answer away."""
    body = HEAD.replace(b"10", b"3000000") + b"\r\n" + b"x" * 3_000_000
    assert asyncio.run(exchange(body)).startswith(b"HTTP/1.1 413")
