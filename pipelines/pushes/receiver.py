"""The receiver: takes the platform's pushes over HTTP and keeps them. 2xx means that a push is on disk."""

import asyncio
import json
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import uvicorn

from campus.push.exact_json import NotJson, parse
from campus.push.message import Malformed, Push, parse_push, unix_time
from campus.push.signature import is_signed
from loading.pushes.inbox import Inbox, InboxFull, opened
from pipelines.settings import Settings

# Seconds within which a body must have come, and connections that are served at a time.
BODY_TIMEOUT, CONNECTIONS = 30.0, 200
LONGEST_SCHOOL_ID = 18

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Refusal(Exception):
    """A push that is not taken; `text` is for the other side, and says nothing of what was sent."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Receiver:
    """The ASGI application. `log`: takes a line for each push; none has a secret or a person's data."""

    def __init__(self, settings: Settings, inbox: Inbox, log: Callable[[str], None]) -> None:
        self._settings, self._inbox, self._log = settings, inbox, log
        # SQLite's one connection has one thread; the event loop does not wait for the disk.
        self._disk = ThreadPoolExecutor(max_workers=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            status, text, line = 200, "ok", await self._take(scope, receive)
        except Refusal as refusal:
            status, text, line = refusal.status, refusal.text, refusal.text
        self._log(f"{status} {line}")
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    async def _take(self, scope: Scope, receive: Receive) -> str:
        """Keep a push; what the log says of it. Raises Refusal."""
        if scope["path"] != "/":
            raise Refusal(404, "pushes are posted to /")
        if scope["method"] != "POST":
            raise Refusal(405, "pushes are posted")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        body = await _body(headers, receive, self._settings.options.pushes.max_bytes)
        # A long body takes a while, and the others need not wait for it.
        school_id, push = await asyncio.to_thread(self._verified, headers, body)
        loop = asyncio.get_running_loop()
        most = self._settings.options.pushes.max_waiting
        try:
            added = await loop.run_in_executor(self._disk, self._inbox.add, school_id, push, most)
        except InboxFull:
            raise Refusal(503, "too many events wait, send it again later") from None
        except sqlite3.Error:
            raise Refusal(503, "not stored, send it again later") from None
        rows = sum(len(event.keys) for event in push.events)
        again = "" if added else ", had before"
        # As JSON, so that no name breaks the line.
        return (
            f"school {school_id}, {json.dumps(push.resource)}: {len(push.events)} events, {rows} rows{again}"
        )

    def _verified(self, headers: dict[str, str], body: bytes) -> tuple[int, Push]:
        """The school of a push, and what it says, once its signature and age are right."""
        school = headers.get("x-school-id", "")
        if not (school.isascii() and school.isdigit() and len(school) <= LONGEST_SCHOOL_ID):
            raise Refusal(400, "X-School-Id must be a number")
        token = self._settings.push_token_of(int(school))
        if token is None:
            raise Refusal(401, "no pushes are taken for this school")
        try:
            content = parse(body)
        except NotJson as error:
            raise Refusal(400, str(error)) from None
        if not isinstance(content, dict):
            raise Refusal(400, "the body must be a JSON object")
        timestamp = unix_time(headers.get("x-timestamp", ""))
        if timestamp is None and "timestamp" not in content:
            raise Refusal(400, "X-Timestamp must be a Unix time")
        signature, nonce = headers.get("x-signature", ""), headers.get("x-nonce", "")
        if not is_signed(signature, nonce, timestamp or 0, content, token):
            raise Refusal(401, "the signature is not right")
        try:
            push = parse_push(content, timestamp or 0)
        except Malformed as error:
            raise Refusal(400, str(error)) from None
        age, options = time.time() - push.sent_at.timestamp(), self._settings.options.pushes
        if not -60 * options.max_ahead <= age <= 60 * options.max_age:
            raise Refusal(401, "the push is too old, or from the future")
        return int(school), push


async def _body(headers: dict[str, str], receive: Receive, most: int) -> bytes:
    """The whole body, or a Refusal as soon as it is too long."""
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise Refusal(413, "the body is too long")
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the connection ended within the body")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > most:
                    raise Refusal(413, "the body is too long")
    except TimeoutError:
        raise Refusal(400, "the body did not come in time") from None
    return bytes(body)


def serve(settings: Settings) -> None:
    """Take pushes until SIGTERM or SIGINT. Raises OSError for a port that cannot be had."""
    with (
        socket.create_server((settings.push_host, settings.push_port), backlog=512) as listener,
        opened(settings.home) as inbox,
    ):
        # uvicorn raises a signal that it has caught once more when it has shut down: there this ends.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        config = uvicorn.Config(
            Receiver(settings, inbox, _print),
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            ws="none",
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
        host, port = listener.getsockname()[:2]
        _print(f"listening on http://{host}:{port}")
        uvicorn.Server(config).run(sockets=[listener])


def _print(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
    sys.stdout.flush()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
