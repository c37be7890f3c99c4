"""A relay to a TCP server on this machine that delays what the server sends."""

import asyncio
import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK = 1 << 16


@contextmanager
def delayed(port: int, seconds: float) -> Iterator[int]:
    """The port of a relay to `port`, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_serve, args=(listening, port, seconds), daemon=True)
        process.start()
        try:
            yield listening.getsockname()[1]
        finally:
            process.terminate()
            process.join()


def _serve(listening: socket.socket, port: int, seconds: float) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while chunk := await reader.read(CHUNK):
                loop.call_later(delay, writer.write, chunk)
        loop.call_later(delay, writer.close)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own_reader, own_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, own_writer, 0.0), pass_on(own_reader, writer, seconds))

    async def serve() -> None:
        server = await asyncio.start_server(connect, sock=listening)
        await server.serve_forever()

    asyncio.run(serve())
