"""Sending requests over HTTP. No other module but the engine knows the library."""

import socket
import ssl
import zlib
from collections.abc import Mapping
from functools import cache
from urllib.request import getproxies, proxy_bypass

import httpx

from campus.http.config import ClientConfig
from campus.http.request import Request, Response
from campus.http.sending.engine import AiohttpTransport

USER_AGENT = "campus-warehouse"
MEGABYTE = 1 << 20
# Accepted content encodings, and the bytes to unpack at a time.
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32
_STEP = MEGABYTE
#: Seconds to wait for a token, which a platform makes at once. Nothing is read without a token, so a platform
#: that accepts connections and never answers ends a run in one minute, not in two.
TOKEN_TIMEOUT = 30.0


class Fault(Exception):
    """No whole answer came; a retry may help."""


class BrokenAnswer(Fault):
    """An answer came that is no HTTP, or cannot be unpacked."""


class NoConnection(Fault):
    """There was no connection, so other requests cannot be sent either."""


class UnknownHost(NoConnection):
    """No host has this name."""


class TooLarge(Exception):
    """An unpacked answer is larger than the settings allow."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the answer has more than {max_bytes / MEGABYTE:,.0f} MB, unpacked")


class Unusable(Exception):
    """The address is invalid, or the certificate of its host."""


@cache
def _certificates() -> ssl.SSLContext:
    """Cached, since reading the certificates takes as long as ten requests."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Transport:
    """Kept-alive HTTP/1.1 connections to one platform; a proxy comes from the environment."""

    def __init__(self, config: ClientConfig) -> None:
        self._base = config.base_url.rstrip("/")
        self._max_bytes = config.max_answer_bytes
        timeout = httpx.Timeout(config.read_timeout, connect=config.connect_timeout).as_dict()
        self._extensions = {"timeout": timeout}
        self._token_extensions = {"timeout": {**timeout, "read": min(config.read_timeout, TOKEN_TIMEOUT)}}
        # No client of httpx: its redirects and cookies are not needed, and cost as much as everything else.
        self._engine: httpx.AsyncBaseTransport | None = None
        self._headers = {
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
            "connection": "keep-alive",
            "user-agent": USER_AGENT,
        }

    async def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            await self._engine.aclose()

    async def send(self, sent: Request, headers: Mapping[str, str]) -> Response:
        """Send one request once. headers: all headers, in place of its own.

        Raises Fault, TooLarge or Unusable."""
        try:
            request = httpx.Request(
                sent.method,
                self._base + sent.path + sent.query,
                headers={**self._headers, **headers},
                content=sent.content,
                extensions=self._token_extensions if sent.for_token else self._extensions,
            )
            if self._engine is None:
                self._engine = _open_engine(request.url)
            answer = await self._engine.handle_async_request(request)
            try:
                body = await _read(answer, self._max_bytes)
            finally:
                await answer.aclose()
        # The causes are cut off: the library's errors carry the request with its token.
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unusable(str(error)) from None
        except zlib.error as error:
            raise BrokenAnswer(f"a damaged compressed body ({error})") from None
        except httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Unusable(str(error)) from None
            raise _fault_type(error)(_words(error)) from None
        return Response(answer.status_code, answer.headers, body)


def _open_engine(url: httpx.URL) -> httpx.AsyncBaseTransport:
    return AiohttpTransport(_certificates(), _proxy(url))


def _proxy(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.netloc.decode()):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


async def _read(answer: httpx.Response, max_bytes: int) -> bytes:
    """The body of an answer, unpacked a megabyte at a time, since it may become a thousand times as large.

    Raises TooLarge beyond `max_bytes`, and zlib.error."""
    packed = answer.headers.get("content-encoding", "").strip().lower() in _PACKED
    inflate = zlib.decompressobj(_ZLIB_OR_GZIP)
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.aiter_raw():
        if packed and not parts and chunk[:1] and not _has_header(chunk):
            # Some servers send "deflate" without its header.
            inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        while chunk:
            part = inflate.decompress(chunk, _STEP) if packed else chunk
            chunk = inflate.unconsumed_tail if packed else b""
            parts.append(part)
            size += len(part)
            if size > max_bytes:
                raise TooLarge(max_bytes)
    return b"".join(parts)


def _has_header(chunk: bytes) -> bool:
    """Whether compressed bytes begin as gzip or zlib does."""
    return chunk[:1] == b"\x1f" or (
        len(chunk) > 1 and chunk[0] & 0x0F == 8 and int.from_bytes(chunk[:2]) % 31 == 0
    )


def _fault_type(error: httpx.HTTPError) -> type[Fault]:
    """Whether there was an answer, a connection, or not even a host."""
    if isinstance(error, httpx.ProtocolError):
        return BrokenAnswer
    if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return Fault
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, socket.gaierror):
        cause = cause.__cause__ or cause.__context__
    return UnknownHost if cause and cause.errno == socket.EAI_NONAME else NoConnection


def _words(error: httpx.HTTPError) -> str:
    kinds = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.TimeoutException: "no answer in time",
        httpx.ProxyError: "the proxy failed",
        httpx.ConnectError: "no connection",
        httpx.ProtocolError: "a broken answer",
    }
    words = next((said for kind, said in kinds.items() if isinstance(error, kind)), "a lost connection")
    return f"{words} ({error})" if str(error) else words
