"""An HTTP server over plain sockets, with one request per connection. It reads a body only when there is
memory for the body."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import h11

#: Timeout for the head of a request, and again for its body.
IDLE_SECONDS = 10.0
#: Seconds for which the rest of a refused body is discarded: closing at once could lose the answer.
LINGER_SECONDS = 2.0
#: Connections at a time, fewer than the open files of a process. A further connection closes the connection
#: that has waited longest.
MAX_CONNECTIONS = 500
#: Bytes of a head, of one read, and of the kernel's buffer for a connection.
HEAD_BYTES, READ_BYTES, RECEIVE_BUFFER = 16_384, 16_384, 32_768
#: Chunks of a body: chunks of single bytes cost a hundred times as much as the body itself.
MAX_CHUNKS = 4_096
#: Seconds for open answers to end when the server stops.
STOP_SECONDS = 5.0
#: Seconds before the next attempt to accept a connection after a failure.
ACCEPT_PAUSE = 0.05


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    text: str
    #: In seconds.
    retry_after: int | None = None


class BodyTooLong(Exception):
    """A body has too many bytes or too many chunks."""


class BodyCutOff(Exception):
    """A connection ended within a body, was too slow, or sent no valid HTTP."""


#: Reads the body of a request, up to a number of bytes. Raises BodyTooLong and BodyCutOff.
ReadBody = Callable[[int], Awaitable[bytes]]
#: Answers a request.
Handler = Callable[[h11.Request, ReadBody], Awaitable[Answer]]


class Connections:
    """The connections of a server. Calls `malformed` for each request that is not HTTP."""

    def __init__(
        self, handler: Handler, malformed: Callable[[], None], idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._handler, self._malformed, self._idle_seconds = handler, malformed, idle_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        # The timeouts of waiting connections, oldest first.
        self._waits: dict[asyncio.Timeout, None] = {}

    async def serve(self, listener: socket.socket) -> None:
        """Accept connections until this task is cancelled, then answer the requests that came whole."""
        listener.setblocking(False)
        # Each connection inherits the option.
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
            # The client has gone, or the process has too many open files.
            self._close_longest_wait()
            await asyncio.sleep(ACCEPT_PAUSE)
            return
        task = asyncio.create_task(self._converse(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Accepting does not yield while connections queue, and the open connections must be served too.
        await asyncio.sleep(0)

    def _close_longest_wait(self) -> bool:
        """Close the connection that has waited longest. Returns whether there was one."""
        for wait in self._waits:
            del self._waits[wait]
            if not wait.expired():
                wait.reschedule(asyncio.get_running_loop().time())
            return True
        return False

    @asynccontextmanager
    async def _wait(self, seconds: float) -> AsyncIterator[None]:
        """Limit the wait for the client. Raises TimeoutError, also when a new connection needs the place."""
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
        """Send an answer, and discard the rest of the request."""
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
        # A client that has gone, or that sends for too long, needs no answer.
        with suppress(OSError, TimeoutError):
            async with self._wait(LINGER_SECONDS):
                await asyncio.get_running_loop().sock_sendall(connection, content)
                connection.shutdown(socket.SHUT_WR)
                while await _receive(connection):
                    pass


async def _receive(connection: socket.socket) -> bytes:
    # A read does not yield while bytes are available, so this lets the other connections go on.
    await asyncio.sleep(0)
    return await asyncio.get_running_loop().sock_recv(connection, READ_BYTES)


async def _next_event(http: h11.Connection, connection: socket.socket) -> object:
    """The next event of h11. Raises OSError and h11.RemoteProtocolError."""
    while (event := http.next_event()) is h11.NEED_DATA:
        if http.they_are_waiting_for_100_continue:
            go_on = http.send(h11.InformationalResponse(status_code=100, headers=[]))
            await asyncio.get_running_loop().sock_sendall(connection, go_on or b"")
        http.receive_data(await _receive(connection))
    return event


async def _body(http: h11.Connection, connection: socket.socket, most: int) -> bytes:
    body = bytearray()
    for _ in range(MAX_CHUNKS):
        event = await _next_event(http, connection)
        if not isinstance(event, h11.Data):
            return bytes(body)
        body += event.data
        if len(body) > most:
            break
    raise BodyTooLong
