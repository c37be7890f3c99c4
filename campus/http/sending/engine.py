"""An httpx transport over aiohttp, at a third of the CPU of httpx's own (docs/explanation/decisions.md)."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx
import yarl

# Pages of datasets have megabytes: reading them 64 kB at a time costs a quarter of fetching them.
READ_BYTES = 256 * 1024
# Bytes of the longest header; some gateways send policies of more than aiohttp's 8 kB.
HEADER_BYTES = 64 * 1024
# Seconds that an idle connection is kept: less than servers keep it, so that no request meets a closing one.
KEEP_ALIVE = 4.0

#: httpx's error for each of aiohttp's. The first class that fits counts.
ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol),
    (aiohttp.NonHttpUrlClientError, httpx.UnsupportedProtocol),
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout),
    (aiohttp.ClientProxyConnectionError, httpx.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.SocketTimeoutError, httpx.ReadTimeout),
    (TimeoutError, httpx.WriteTimeout),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx.RemoteProtocolError),
    (aiohttp.ClientError, httpx.ReadError),
    (OSError, httpx.ReadError),
)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Kept-alive HTTP/1.1 connections of the running event loop, as many as there are requests in flight.

    A request is sent once: no redirects, no cookies, no second attempt. Bodies stay compressed. Each request
    has the extension `timeout`, as httpx.Timeout.as_dict() makes it; its `pool` is not needed. proxy: an
    address, with a user name and password where the proxy asks for them.
    """

    def __init__(self, verify: ssl.SSLContext, proxy: str | None = None) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=verify, limit=0, keepalive_timeout=KEEP_ALIVE),
            proxy=proxy,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("accept", "accept-encoding", "content-type", "user-agent"),
            read_bufsize=READ_BYTES,
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            middlewares=(_send_once,),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read the head of its answer; raises httpx.TransportError."""
        # Lets the event loop see which idle connections the server has closed while the loop was busy.
        await asyncio.sleep(0)
        timeout = request.extensions["timeout"]
        # aiohttp counts the seconds of reading from the end of the body that it sends.
        longest = sum(timeout[part] for part in ("connect", "write", "read")) if request.content else None
        with _errors_of_httpx():
            async with asyncio.timeout(longest):
                answer = await self._session.request(
                    request.method,
                    yarl.URL(str(request.url), encoded=True),
                    headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
                    data=request.content or None,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(connect=timeout["connect"], sock_read=timeout["read"]),
                )
        return httpx.Response(answer.status, headers=answer.raw_headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _Body(httpx.AsyncByteStream):
    """The body of an answer as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        # A connection whose answer was read to its end is back among the idle ones by now.
        self._answer.close()


async def _send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Hide lost connections from aiohttp, which would send GET, PUT and DELETE a second time."""
    with _errors_of_httpx():
        return await send(request)


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        kind = next(kind for own, kind in ERRORS if isinstance(error, own))
        raise kind(_words(error)) from error


def _words(error: Exception) -> str:
    """The error in one line, without the address that aiohttp puts into it."""
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return "not an http:// or https:// address"
        case TimeoutError():
            return ""
        case aiohttp.ClientConnectorCertificateError():
            return str(error.certificate_error)
        case aiohttp.ClientConnectorError():
            return str(error.os_error)
        case aiohttp.ClientResponseError():
            return error.message.partition("\n")[0]
        case _:
            return str(error)
