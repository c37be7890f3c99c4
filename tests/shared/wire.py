"""A way to a server of this machine that can be cut: whoever uses it is disconnected and refused, and others
who use the server are left alone."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HERE = "127.0.0.1"


@dataclass
class Wire:
    """Takes connections on `port`, and passes on what comes to the server's."""

    server_port: int
    loop: asyncio.AbstractEventLoop
    port: int = 0
    cuts: int = 0
    is_cut: bool = False
    _listener: asyncio.Server | None = None
    _ends: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self, seconds: float) -> "Future[None]":
        """Disconnect everybody, and refuse them for so long. What is returned ends with it."""
        self.cuts += 1
        self.is_cut = True
        return asyncio.run_coroutine_threadsafe(self._cut(seconds), self.loop)

    async def listen(self) -> None:
        self._listener = await asyncio.start_server(self._joined, HERE, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _cut(self, seconds: float) -> None:
        assert self._listener is not None
        self._listener.close()
        for end in self._ends:
            end.transport.abort()
        await asyncio.sleep(seconds)
        await self.listen()
        self.is_cut = False

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection(HERE, self.server_port)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, to_server}
        self._ends |= ends
        await asyncio.gather(_pass_on(reader, to_server), _pass_on(from_server, writer))
        self._ends -= ends


@contextmanager
def wire(server_port: int) -> Iterator[Wire]:
    """A way to the server at this port, as long as the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = Wire(server_port, loop)
    asyncio.run_coroutine_threadsafe(made.listen(), loop).result()
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
