"""The receiver: takes the platform's pushes over HTTP and stores them. 2xx means that a push is on disk."""

import asyncio
import json
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import h11

from campus.push.message import Malformed, NotJson, Push, is_signed, parse, parse_push, unix_time
from loading.pushes.inbox import Inbox, InboxFull, open_inbox
from pipelines.pushes.admission import Admission, NoRoom
from pipelines.pushes.connections import Answer, BodyCutOff, BodyTooLong, Connections, ReadBody
from pipelines.pushes.request_head import RETRY_AFTER, PushHead, Refusal, read_head
from pipelines.settings.settings import Settings
from pipelines.terminal import visible

#: Bytes of all bodies in memory, and verifications at a time. A verification takes twenty times the memory of
#: its body.
ROOM_BYTES, VERIFICATIONS = 4_000_000, 2
BACKLOG = 512
#: Seconds for which a verification thread may hold the interpreter while the event loop waits.
SWITCH_SECONDS = 0.0005


class Receiver:
    """Takes pushes. `log` gets a line for each request, without secrets or personal data."""

    def __init__(self, settings: Settings, inbox: Inbox, log: Callable[[str], None]) -> None:
        self._settings, self._inbox, self._log = settings, inbox, log
        self._admission = Admission(
            max(ROOM_BYTES, VERIFICATIONS * settings.options.pushes.max_bytes), VERIFICATIONS
        )
        # One thread for SQLite's connection, so that the event loop does not wait for the disk.
        self._disk = ThreadPoolExecutor(max_workers=1)

    async def answer(self, request: h11.Request, read_body: ReadBody) -> Answer:
        """Answer one request."""
        try:
            line = await self._take(request, read_body)
        except Refusal as refusal:
            self._log(f"{refusal.status} {refusal.text}")
            return Answer(refusal.status, refusal.text, RETRY_AFTER if refusal.status == 503 else None)
        self._log(f"200 {line}")
        return Answer(200, "ok")

    async def _take(self, request: h11.Request, read_body: ReadBody) -> str:
        """Store a push, and return its line for the log. Raises Refusal."""
        options, loop = self._settings.options.pushes, asyncio.get_running_loop()
        head = read_head(
            request.method,
            request.target,
            request.headers,
            self._settings.push_token_of,
            options.max_bytes,
        )
        size = head.body_bytes
        try:
            async with self._admission.turn(size, partial(read_body, size)) as body:
                push = await asyncio.to_thread(self._verified, head, body)
                is_new = await loop.run_in_executor(
                    self._disk, self._inbox.add, head.school_id, push, options.max_waiting
                )
        except BodyTooLong:
            raise Refusal(413, "the body is too long") from None
        except BodyCutOff:
            raise Refusal(400, "the body did not come whole and in time") from None
        except NoRoom:
            raise Refusal(503, "too many pushes at a time, send it again later") from None
        except InboxFull:
            raise Refusal(503, "too many events wait, send it again later") from None
        except sqlite3.Error:
            raise Refusal(503, "not stored, send it again later") from None
        rows = sum(len(event.keys) for event in push.events)
        again = "" if is_new else ", had before"
        # As JSON, so that a name with a line break stays in one line.
        return (
            f"school {head.school_id}, {json.dumps(push.resource)}: "
            f"{len(push.events)} events, {rows} rows{again}"
        )

    def _verified(self, head: PushHead, body: bytes) -> Push:
        """The push in a body, with a valid signature and age. Raises Refusal."""
        try:
            content = parse(body)
        except NotJson as error:
            raise Refusal(400, str(error)) from None
        if not isinstance(content, dict):
            raise Refusal(400, "the body must be a JSON object")
        timestamp = unix_time(head.timestamp)
        if timestamp is None and "timestamp" not in content:
            raise Refusal(400, "X-Timestamp must be a Unix time")
        if not is_signed(head.signature, head.nonce, timestamp or 0, content, head.token):
            raise Refusal(401, "the signature is not right")
        try:
            push = parse_push(content, timestamp or 0)
        except Malformed as error:
            raise Refusal(400, str(error)) from None
        age, options = time.time() - push.sent_at.timestamp(), self._settings.options.pushes
        if not -60 * options.max_ahead <= age <= 60 * options.max_age:
            raise Refusal(401, "the push is too old, or from the future")
        return push


def serve(settings: Settings) -> None:
    """Take pushes until SIGTERM or SIGINT. Raises OSError if the port cannot be opened."""
    with (
        socket.create_server((settings.push_host, settings.push_port), backlog=BACKLOG) as listener,
        open_inbox(settings.home) as inbox,
    ):
        sys.setswitchinterval(SWITCH_SECONDS)
        receiver = Receiver(settings, inbox, _print)
        asyncio.run(_serve(receiver, listener))


async def _serve(receiver: Receiver, listener: socket.socket) -> None:
    connections = Connections(receiver.answer, lambda: _print("400 this is no HTTP request"))
    serving = asyncio.ensure_future(connections.serve(listener))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    host, port = listener.getsockname()[:2]
    _print(f"listening on http://{host}:{port}")
    # A signal cancels the task, which is the normal end.
    await asyncio.wait([serving])
    if not serving.cancelled():
        serving.result()


def _print(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {visible(line)}\n")
    sys.stdout.flush()
