"""Refuses requests that a page of another site makes a person's browser send to the UI.

Dagster's webserver has no login, and takes mutations by GET, from any page and under any host name. An
`<img>` on a web page was enough to start a run. The guard precedes all routes."""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRAPHQL = "/graphql"
#: Paths without a page: GraphiQL, queries by GET, and notebooks, which open any path of the request.
NOT_FOR_READING = {GRAPHQL, "/notebook", "/dagit/notebook"}
#: Headers of every response. Browsers enforce the policy in addition to the policy of Dagster's own page.
RESPONSE_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
CONTENT_POLICY = "; ".join(
    (
        "frame-ancestors 'none'",
        "form-action 'self'",
        "object-src 'none'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
    )
)


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    reason: str


class Guard:
    """ASGI middleware: refuses requests, and adds security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer refused requests, and pass on the others."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(RESPONSE_HEADERS)
                headers.append("Content-Security-Policy", CONTENT_POLICY)
            await send(message)

        refusal = refusal_of(scope)
        app = self.app
        if refusal:
            app = PlainTextResponse(f"campus: {refusal.reason}\n", refusal.status)
        await app(scope, receive, send_with_headers)


def guarded(app: ASGIApp, hosts: Iterable[str]) -> ASGIApp:
    """An application behind the guard. `hosts`: allowed names in the Host header, without port, IPv6
    addresses in brackets."""
    return Guard(TrustedHostMiddleware(app, list(hosts), www_redirect=False))


def refusal_of(scope: Scope) -> Refusal | None:
    """Why a request is refused; None: it passes, and Starlette then checks its host."""
    if scope["type"] == "lifespan":
        return None
    headers, path = Headers(scope=scope), scope["path"]
    # With several Host headers Starlette takes the first, and another server might take the last.
    if len(headers.getlist("host")) != 1:
        return Refusal(400, "a request has one Host header")
    # Routes are regular expressions, whose $ also matches before a final line feed.
    if not path.isprintable() or ".." in path.split("/"):
        return Refusal(400, "there is no such path")
    if not _has_own_origin(headers) or (_is_from_another_site(headers) and not _opens_a_page(scope, headers)):
        return Refusal(
            403,
            "the request is from a page of another site: open the UI at its own address; a proxy before the "
            "UI must keep the Host header (deploy/nginx-ui.conf)",
        )
    if scope["type"] == "websocket":
        return None if path == GRAPHQL else Refusal(404, f"only {GRAPHQL} takes a WebSocket")
    if scope["method"] in ("GET", "HEAD"):
        return Refusal(405, "this path is not for reading") if path in NOT_FOR_READING else None
    if scope["method"] != "POST" or path != GRAPHQL:
        return Refusal(405, f"only {GRAPHQL} takes what may change something, and by POST alone")
    if _media_type(headers) != "application/json":
        return Refusal(415, f"{GRAPHQL} takes application/json")
    return None


def _has_own_origin(headers: Headers) -> bool:
    """Whether a request names no origin, or the origin of the UI's own pages."""
    allowed = {f"{scheme}://{headers['host']}".lower() for scheme in ("http", "https")}
    return {origin.lower() for origin in headers.getlist("origin")} <= allowed


def _is_from_another_site(headers: Headers) -> bool:
    """Whether the browser reports that a page of another site or port makes the request."""
    return not set(headers.getlist("sec-fetch-site")) <= {"same-origin", "none"}


def _opens_a_page(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link that opens the UI as a page."""
    request = (scope.get("method"), headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return request == ("GET", "navigate", "document")


def _media_type(headers: Headers) -> str:
    """The type of the body, without parameters; empty with no header or several headers."""
    types = headers.getlist("content-type")
    return types[0].partition(";")[0].strip().lower() if len(types) == 1 else ""
