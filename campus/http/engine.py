"""HTTP/1.1 connections to a platform: an httpx transport over aiohttp, and what its faults mean.

The transport takes a third of the CPU of httpx's own (docs/explanation/decisions.md)."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from functools import cache
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
import yarl

# Pages of datasets have megabytes: reading them 64 kB at a time costs a quarter of fetching them.
READ_BYTES = 256 * 1024
# Bytes of the longest header; some gateways send policies of more than aiohttp's 8 kB.
HEADER_BYTES = 64 * 1024
# Seconds that an idle connection is kept: less than servers keep it, so that no request meets a closing one.
KEEP_ALIVE = 4.0
MEGABYTE = 1 << 20
COMPRESSED_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


class TransportFault(Exception):
    """No whole answer came; a retry may help."""


class BrokenAnswer(TransportFault):
    """An answer came that is no HTTP, or cannot be unpacked."""


class NoConnection(TransportFault):
    """There was no connection, so other requests cannot be sent either."""


class UnknownHost(NoConnection):
    """No host has this name."""


class AnswerTooLarge(Exception):
    """An unpacked answer is larger than the settings allow."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the answer has more than {max_bytes / MEGABYTE:,.0f} MB, unpacked")


class Unusable(Exception):
    """The address is invalid, or the certificate of its host."""


AIOHTTP_ERRORS = (aiohttp.ClientError, OSError)
#: What a request through the engine raises.
ENGINE_ERRORS = (httpx.TransportError, httpx.InvalidURL, zlib.error)
CERTIFICATE_FAILURE = "CERTIFICATE_VERIFY_FAILED"
#: For each of aiohttp's errors httpx's, the fault, and its description. The first class that fits counts.
ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError], type[Exception], str], ...] = (
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol, Unusable, "an invalid address"),
    (aiohttp.NonHttpUrlClientError, httpx.UnsupportedProtocol, Unusable, "an invalid address"),
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout, NoConnection, "no connection in time"),
    (aiohttp.ClientProxyConnectionError, httpx.ProxyError, NoConnection, "the proxy failed"),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError, NoConnection, "the proxy failed"),
    (aiohttp.ClientConnectorError, httpx.ConnectError, NoConnection, "no connection"),
    (aiohttp.SocketTimeoutError, httpx.ReadTimeout, TransportFault, "no answer in time"),
    (TimeoutError, httpx.WriteTimeout, TransportFault, "no answer in time"),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError, BrokenAnswer, "a broken answer"),
    (aiohttp.ClientPayloadError, httpx.RemoteProtocolError, BrokenAnswer, "a broken answer"),
    (aiohttp.ClientError, httpx.ReadError, TransportFault, "a lost connection"),
    (OSError, httpx.ReadError, TransportFault, "a lost connection"),
)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Kept-alive HTTP/1.1 connections of the running event loop, as many as there are requests in flight.

    A request is sent once: no redirects, no cookies, no second attempt. Bodies stay compressed. Each request
    has two of httpx's extensions: `target`, in place of the path and query of its address, and `timeout`, as
    httpx.Timeout.as_dict() makes it; its `pool` is not needed. origin: scheme, host and port of all requests.
    proxy: an address, with a user name and password where the proxy requires them.
    """

    def __init__(self, origin: str, verify: ssl.SSLContext, proxy: str | None = None) -> None:
        self._origin = origin
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
        timeout, content = request.extensions["timeout"], request.read()
        # aiohttp counts the seconds of reading from the end of the body that it sends.
        longest = sum(timeout[step] for step in ("connect", "write", "read")) if content else None
        try:
            async with asyncio.timeout(longest):
                answer = await self._session.request(
                    request.method,
                    yarl.URL(self._origin + request.extensions["target"].decode(), encoded=True),
                    headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
                    data=content or None,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(connect=timeout["connect"], sock_read=timeout["read"]),
                )
        except AIOHTTP_ERRORS as error:
            raise _httpx_error(error) from error
        return httpx.Response(answer.status, headers=answer.raw_headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _Body(httpx.AsyncByteStream):
    """The body of an answer as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except AIOHTTP_ERRORS as error:
            raise _httpx_error(error) from error

    async def aclose(self) -> None:
        # A connection whose answer was read to its end is back among the idle ones by now.
        self._answer.close()


async def _send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Hide lost connections from aiohttp, which would send GET, PUT and DELETE a second time."""
    try:
        return await send(request)
    except AIOHTTP_ERRORS as error:
        raise _httpx_error(error) from error


def _httpx_error(error: Exception) -> httpx.TransportError:
    return next(row[1] for row in ERRORS if isinstance(error, row[0]))(_reason(error))


def _reason(error: Exception) -> str:
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


def open_engine(base_url: httpx.URL) -> httpx.AsyncBaseTransport:
    """Connections to a platform, through the proxy that the environment names for its address."""
    origin = str(base_url.copy_with(raw_path=b"/"))[:-1]
    return AiohttpTransport(origin, _certificates(), _proxy(base_url))


@cache
def _certificates() -> ssl.SSLContext:
    """Cached, since reading the certificates takes as long as ten requests."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _proxy(url: httpx.URL) -> str | None:
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.netloc.decode()):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


async def read_body(answer: httpx.Response, headers: Mapping[str, str], max_bytes: int) -> bytes:
    """Read the body of an answer with these headers (names in lower case), and close the answer.

    Raises AnswerTooLarge beyond `max_bytes`, and zlib.error. Unpacks a megabyte at a time, since a body may
    become a thousand times as large."""
    stream = answer.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    is_compressed = headers.get("content-encoding", "").strip().lower() in COMPRESSED_ENCODINGS
    inflate = zlib.decompressobj(ZLIB_OR_GZIP) if is_compressed else None
    chunks: list[bytes] = []
    size = 0
    try:
        async for packed in stream:
            if inflate and packed and not chunks and not _has_header(packed):
                # Some servers send "deflate" without its header.
                inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            while packed:
                chunk = inflate.decompress(packed, MEGABYTE) if inflate else packed
                packed = inflate.unconsumed_tail if inflate else b""
                chunks.append(chunk)
                size += len(chunk)
                if size > max_bytes:
                    raise AnswerTooLarge(max_bytes)
    finally:
        await stream.aclose()
    return b"".join(chunks)


def _has_header(chunk: bytes) -> bool:
    """Whether compressed bytes begin as gzip or zlib does."""
    return chunk[:1] == b"\x1f" or (
        len(chunk) > 1 and chunk[0] & 0x0F == 8 and int.from_bytes(chunk[:2]) % 31 == 0
    )


def engine_fault(error: Exception) -> Exception:
    """The fault for one of ENGINE_ERRORS, whose causes carry the request with its token."""
    if isinstance(error, zlib.error):
        return BrokenAnswer(f"a damaged compressed body ({error})")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL) or CERTIFICATE_FAILURE in str(error):
        return Unusable(str(error))
    lost = (TransportFault, "a lost connection")
    kind, text = next((row[2:] for row in ERRORS if isinstance(error, row[1])), lost)
    if kind is NoConnection and _is_unknown_host(error):
        kind = UnknownHost
    return kind(f"{text} ({error})" if str(error) else text)


def _is_unknown_host(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, socket.gaierror):
        cause = cause.__cause__ or cause.__context__
    return cause is not None and cause.errno == socket.EAI_NONAME
