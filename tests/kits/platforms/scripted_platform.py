"""A real HTTP server on loopback whose every answer is scripted by the test that runs it."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from campus.http.config import ClientConfig
from tests.kits.waiting import PATIENCE

SECRET = 's3cr"et-ü-value'
TOKEN_PATH = "/api/v3/oauth/tokens"


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def scopes(self) -> list[str]:
        return json.loads(self.body).get("scope", "").split()

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


def answer(body: object, status: int = 200, missing_bytes: int = 0, **headers: str) -> bytes:
    """A response as bytes; with missing_bytes it promises more than it has, and the connection ends."""
    content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    head = {
        "content-type": "application/json",
        "content-length": str(len(content) + missing_bytes),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode() + content


RESET = b""

Script = Callable[[Request], "bytes | Awaitable[bytes]"]


class DelayedAnswer:
    """A script that answers every request with the same bytes, once `may_go` is set."""

    def __init__(self, reply: bytes) -> None:
        self._reply, self.may_go = reply, asyncio.Event()

    async def __call__(self, _: Request) -> bytes:
        await self.may_go.wait()
        return self._reply


@dataclass
class Platform:
    """Issues tokens t1, t2, ... and answers [] unless `on_token`, `on_get` and `on_write` say otherwise."""

    on_get: Script = lambda request: answer([])
    on_write: Script = lambda request: answer(b"", status=204)
    on_token: Script | None = None
    expires_in: float = 7200
    requests: list[Request] = field(default_factory=list)
    issued: int = 0
    busy: int = 0
    most_busy: int = 0
    url: str = ""
    tls: ssl.SSLContext | None = None
    opened: int = 0
    connections: set[asyncio.StreamWriter] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    def config(self, **settings: Any) -> ClientConfig:
        quick = {"backoff_base": 0.001, "backoff_cap": 0.01, **settings}
        return ClientConfig(self.url, "the-client", SECRET, **quick)

    def issue(self, **overrides: object) -> bytes:
        self.issued += 1
        token = {
            "token_type": "Bearer",
            "expires_in": self.expires_in,
            "access_token": f"t{self.issued}-token",
        }
        return answer({**token, **overrides})

    @property
    def gets(self) -> list[Request]:
        return [request for request in self.requests if request.method == "GET"]

    @property
    def writes(self) -> list[Request]:
        return [
            request
            for request in self.requests
            if request.method != "GET" and not request.path.endswith(TOKEN_PATH)
        ]

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self.connections.add(writer)
        try:
            while request := await _read(reader):
                self.requests.append(request)
                self.busy += 1
                self.most_busy = max(self.most_busy, self.busy)
                reply = await self._reply(request)
                self.busy -= 1
                writer.write(reply)
                await writer.drain()
                if b"\r\n\r\n" not in reply or _is_short(reply):
                    break
        except ConnectionError:
            return
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _reply(self, request: Request) -> bytes:
        script = self.on_get if request.method == "GET" else self.on_write
        if request.path.endswith(TOKEN_PATH):
            script = self.on_token or (lambda _: self.issue())
        reply = script(request)
        return reply if isinstance(reply, bytes) else await reply


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


def _is_short(reply: bytes) -> bool:
    head, content = reply.split(b"\r\n\r\n", 1)
    promised = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(promised.split(b":")[1]) > len(content)


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run one test with a limit, so that a client that hangs fails instead of hanging the suite."""
    asyncio.run(asyncio.wait_for(test, PATIENCE))
