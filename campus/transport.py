"""HTTP, and the only file that knows which library does it."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from campus.config import ClientConfig

USER_AGENT = "campus-warehouse"


class Fault(Exception):
    """No whole answer came; asking again may help."""


class Unusable(Exception):
    """No request can be made with this address, or the far end is not whom it claims to be."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer. Header names match in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """A pool of kept-alive HTTP/1.1 connections to one platform; proxies come from the environment."""

    def __init__(self, config: ClientConfig) -> None:
        self._base = config.base_url.rstrip("/")
        self._timeout = httpx.Timeout(config.read_timeout, connect=config.connect_timeout, pool=None)
        # One connection more than business requests need: a token request must never wait for them.
        connections = config.concurrency + 1
        self._http = httpx.AsyncClient(
            timeout=self._timeout,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            follow_redirects=False,
        )
        self._headers = {**self._http.headers, "user-agent": USER_AGENT, "accept": "application/json"}

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, target: str, headers: Mapping[str, str]) -> Reply:
        """GET `target`, a path and query that are percent-encoded already."""
        return await self._send("GET", target, headers, None)

    async def post_json(self, target: str, body: bytes) -> Reply:
        """POST JSON text."""
        return await self._send("POST", target, {"content-type": "application/json"}, body)

    async def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
        try:
            # Built by hand rather than by the client, whose merging of defaults costs a tenth of a request.
            request = httpx.Request(
                method, self._base + target, headers={**self._headers, **headers}, content=body
            )
            answer = await self._http.send(request)
        # The causes are cut off: the library's errors carry the request with its token.
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unusable(str(error)) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Unusable(str(error)) from None
            raise Fault(_words(error)) from None
        return Reply(answer.status_code, answer.headers, answer.content)


def _words(error: httpx.HTTPError) -> str:
    kinds = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.TimeoutException: "no answer in time",
        httpx.ProxyError: "the proxy failed",
        httpx.ConnectError: "no connection",
        httpx.DecodingError: "a damaged compressed body",
        httpx.ProtocolError: "a broken answer",
    }
    words = next((said for kind, said in kinds.items() if isinstance(error, kind)), "a lost connection")
    return f"{words} ({error})" if str(error) else words
