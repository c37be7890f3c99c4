"""HTTP over plain sockets, a request a connection: each byte is read only once somebody has room for it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import h11

#: Seconds within which the head of a request must have come, and then its body.
IDLE_SECONDS = 10.0
#: Seconds for which the rest of a refused body is thrown away: closing at once could lose the answer.
LINGER_SECONDS = 2.0
#: Connections at a time, fewer than the files that a process may have open. For a further connection the one
#: that has waited longest is closed.
MAX_CONNECTIONS = 500
#: Bytes of a head, of one reading, and of what the kernel keeps of a connection.
HEAD_BYTES, READ_BYTES, RECEIVE_BUFFER = 16_384, 16_384, 32_768
#: Pieces of a body: chunks of single bytes cost a hundred times as much as the body itself.
MAX_PIECES = 4_096
#: Seconds in which answers that are under way end when the server stops.
STOP_SECONDS = 5.0
#: Seconds before another attempt to accept a connection where that has failed.
ACCEPT_PAUSE = 0.05


@dataclass(frozen=True)
class Answer:
    """The answer to a request. `retry_after`: in seconds."""

    status: int
    text: str
    retry_after: int | None = None


class BodyTooLong(Exception):
    """A body has more bytes than it may have, or comes in too many pieces."""


class BodyCutOff(Exception):
    """A connection ended within a body, was too slow, or sent no valid HTTP."""


#: Reads the body of a request, of so many bytes at most. Raises BodyTooLong and BodyCutOff.
ReadBody = Callable[[int], Awaitable[bytes]]
#: Answers a request.
Handler = Callable[[h11.Request, ReadBody], Awaitable[Answer]]


class Connections:
    """The connections of a server. `malformed`: is called for each request that is no HTTP."""

    def __init__(
        self, handler: Handler, malformed: Callable[[], None], idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._handler, self._malformed, self._idle_seconds = handler, malformed, idle_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        # The timeouts of connections that are waited for, the oldest first.
        self._waits: dict[asyncio.Timeout, None] = {}

    async def serve(self, listener: socket.socket) -> None:
        """Accept connections until this task is cancelled; it then still answers requests that came whole."""
        listener.setblocking(False)
        # Each connection inherits it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        try:
            while True:
                await self._accept(listener)
        finally:
            listener.close()
            while self._close_longest_wait():
                pass
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

    async def _accept(self, listener: socket.socket) -> None:
        while len(self._tasks) >= MAX_CONNECTIONS and not self._close_longest_wait():
            await asyncio.sleep(ACCEPT_PAUSE)
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        except OSError:
            # The other side has gone, or the process has too many files open.
            self._close_longest_wait()
            await asyncio.sleep(ACCEPT_PAUSE)
            return
        task = asyncio.create_task(self._converse(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Accepting does not wait where connections queue, and the others must be served too.
        await asyncio.sleep(0)

    def _close_longest_wait(self) -> bool:
        """Whether there was a connection that was waited for."""
        for wait in self._waits:
            del self._waits[wait]
            if not wait.expired():
                wait.reschedule(asyncio.get_running_loop().time())
            return True
        return False

    @asynccontextmanager
    async def _wait(self, seconds: float) -> AsyncIterator[None]:
        """Wait so long for the other side. Raises TimeoutError, also if a new connection needs the place."""
        async with asyncio.timeout(seconds) as wait:
            self._waits[wait] = None
            try:
                yield
            finally:
                self._waits.pop(wait, None)

    async def _converse(self, connection: socket.socket) -> None:
        """Answer one request, and close the connection."""
        connection.setblocking(False)
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        with connection:
            try:
                async with self._wait(self._idle_seconds):
                    request = await _next_event(http, connection)
            except h11.RemoteProtocolError as error:
                self._malformed()
                await self._send(http, connection, Answer(error.error_status_hint, "this is no HTTP request"))
                return
            except (OSError, TimeoutError):
                return
            if not isinstance(request, h11.Request):
                return

            async def read_body(most: int) -> bytes:
                try:
                    async with self._wait(self._idle_seconds):
                        return await _body(http, connection, most)
                except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
                    raise BodyCutOff from error

            answer = await self._handler(request, read_body)
            await self._send(http, connection, answer, has_text=request.method != b"HEAD")

    async def _send(
        self, http: h11.Connection, connection: socket.socket, answer: Answer, has_text: bool = True
    ) -> None:
        """Send an answer, and throw away what the other side still sends."""
        text = answer.text.encode()
        headers = [
            ("Content-Type", "text/plain"),
            ("Content-Length", str(len(text))),
            ("Connection", "close"),
        ]
        if answer.retry_after is not None:
            headers.append(("Retry-After", str(answer.retry_after)))
        content = http.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        if has_text:
            content += http.send(h11.Data(data=text)) or b""
        content += http.send(h11.EndOfMessage()) or b""
        # Who has gone or sends for too long has had the answer, or does without.
        with suppress(OSError, TimeoutError):
            async with self._wait(LINGER_SECONDS):
                await asyncio.get_running_loop().sock_sendall(connection, content)
                connection.shutdown(socket.SHUT_WR)
                while await _receive(connection):
                    pass


async def _receive(connection: socket.socket) -> bytes:
    # Where bytes are there the reading does not wait, and the other connections would.
    await asyncio.sleep(0)
    return await asyncio.get_running_loop().sock_recv(connection, READ_BYTES)


async def _next_event(http: h11.Connection, connection: socket.socket) -> object:
    """The next event of h11. Raises OSError and h11.RemoteProtocolError."""
    while (event := http.next_event()) is h11.NEED_DATA:
        if http.they_are_waiting_for_100_continue:
            more = http.send(h11.InformationalResponse(status_code=100, headers=[]))
            await asyncio.get_running_loop().sock_sendall(connection, more or b"")
        http.receive_data(await _receive(connection))
    return event


async def _body(http: h11.Connection, connection: socket.socket, most: int) -> bytes:
    body = bytearray()
    for _ in range(MAX_PIECES):
        event = await _next_event(http, connection)
        if not isinstance(event, h11.Data):
            return bytes(body)
        body += event.data
        if len(body) > most:
            break
    raise BodyTooLong
