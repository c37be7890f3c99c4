"""The guard before Dagster's UI refuses what a page of another site can make a browser send."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from pipelines.ui.addresses import allowed_hosts
from pipelines.ui.guard import guarded

HOST = ("host", "localhost:3000")
JSON = ("content-type", "application/json")
OWN = ("origin", "http://localhost:3000")
FOREIGN = ("origin", "https://evil.example")
Pairs = Iterable[tuple[str, str]]
NAVIGATION = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
CROSS_SITE = ("sec-fetch-site", "cross-site")


def answer(
    method: str, path: str, headers: Pairs, hosts: Iterable[str] = ()
) -> tuple[int, dict[str, str], str]:
    """Send a request, or open a WebSocket, through the guard: status, headers and text of the response."""
    kind = "websocket" if method == "WEBSOCKET" else "http"
    scope: dict[str, Any] = {
        "type": kind,
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        "extensions": {"websocket.http.response": {}},
        "query_string": b"query=mutation{launchRun}",
        "http_version": "1.1",
    }
    if kind == "http":
        scope["method"] = method
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    app = guarded(PlainTextResponse("the application"), allowed_hosts("127.0.0.1", hosts))
    asyncio.run(app(scope, receive, send))
    received = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], received, sent[1]["body"].decode()


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", [HOST]),
        ("HEAD", "/server_info", [HOST]),
        ("GET", "/runs/学校", [HOST]),
        ("GET", "/_next/static/a.js", [HOST, OWN, ("sec-fetch-site", "same-origin")]),
        ("GET", "/", [HOST, ("sec-fetch-site", "none"), *NAVIGATION]),
        ("GET", "/runs/1", [HOST, CROSS_SITE, *NAVIGATION]),
        ("POST", "/graphql", [HOST, JSON]),
        ("POST", "/graphql", [HOST, OWN, ("content-type", "application/json; charset=utf-8")]),
        ("POST", "/graphql", [("host", "[::1]:3000"), ("origin", "http://[::1]:3000"), JSON]),
        ("POST", "/graphql", [("host", "LOCALHOST:3000"), ("origin", "http://localhost:3000"), JSON]),
        ("POST", "/graphql", [("host", "127.0.0.1"), ("origin", "http://127.0.0.1"), JSON]),
        ("WEBSOCKET", "/graphql", [HOST, OWN]),
        ("WEBSOCKET", "/graphql", [HOST]),
    ],
)
def test_what_the_ui_sends_passes(method: str, path: str, headers: Pairs) -> None:
    assert answer(method, path, headers)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        # An image, a frame, a form and a script of another page.
        ("GET", "/graphql", [HOST]),
        ("GET", "/graphql", [HOST, ("accept", "text/html")]),
        ("HEAD", "/graphql", [HOST]),
        ("GET", "/graphql", [HOST, OWN, JSON]),
        ("GET", "/graphql\n", [HOST]),
        ("GET", "/server_info", [HOST, CROSS_SITE, ("sec-fetch-mode", "no-cors")]),
        ("GET", "/server_info", [HOST, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")]),
        ("GET", "/", [HOST, CROSS_SITE, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")]),
        ("POST", "/graphql", [HOST, CROSS_SITE, JSON, *NAVIGATION]),
        ("POST", "/graphql", [HOST]),
        ("POST", "/graphql", [HOST, ("content-type", "text/plain")]),
        ("POST", "/graphql", [HOST, ("content-type", "text/plain; application/json")]),
        ("POST", "/graphql", [HOST, ("content-type", "application/x-www-form-urlencoded")]),
        ("POST", "/graphql", [HOST, ("content-type", "multipart/form-data; boundary=application/json")]),
        ("POST", "/graphql", [HOST, ("content-type", "application/graphql")]),
        ("POST", "/graphql", [HOST, JSON, ("content-type", "text/plain")]),
        # Pages of other origins, also of another port and of none.
        ("POST", "/graphql", [HOST, JSON, FOREIGN]),
        ("POST", "/graphql", [HOST, JSON, ("origin", "null")]),
        ("POST", "/graphql", [HOST, JSON, ("origin", "")]),
        ("POST", "/graphql", [HOST, JSON, ("origin", "http://localhost:8888")]),
        ("POST", "/graphql", [HOST, JSON, ("origin", "http://localhost:3000.evil.example")]),
        ("POST", "/graphql", [HOST, JSON, ("origin", "http://evil.example@localhost:3000")]),
        ("POST", "/graphql", [HOST, JSON, OWN, FOREIGN]),
        ("GET", "/", [HOST, FOREIGN]),
        ("WEBSOCKET", "/graphql", [HOST, FOREIGN]),
        ("WEBSOCKET", "/graphql", [HOST, ("origin", "null")]),
        ("WEBSOCKET", "/graphql", [HOST, CROSS_SITE]),
        ("WEBSOCKET", "/elsewhere", [HOST, OWN]),
        # Names that lead to this machine (DNS rebinding), and none or two of them.
        ("GET", "/", [("host", "evil.example:3000")]),
        ("POST", "/graphql", [("host", "evil.example"), ("origin", "http://evil.example"), JSON]),
        ("WEBSOCKET", "/graphql", [("host", "evil.example"), ("origin", "http://evil.example")]),
        ("GET", "/", [("host", "localhost.evil.example")]),
        ("GET", "/", [("host", "evil.example@localhost")]),
        ("GET", "/", [("host", "localhost:3000, evil.example")]),
        ("GET", "/", [("host", "")]),
        ("GET", "/", []),
        ("GET", "/", [HOST, HOST]),
        ("GET", "/", [HOST, ("host", "evil.example")]),
        # What writes events or reads files, and methods that nothing needs.
        ("POST", "/report_asset_materialization/raw/scores", [HOST]),
        ("POST", "/report_asset_check/raw/scores", [HOST, JSON]),
        ("POST", "/report_asset_observation/raw/scores", [HOST, JSON]),
        ("GET", "/notebook", [HOST]),
        ("GET", "/dagit/notebook", [HOST]),
        ("GET", "/logs/../../etc/passwd", [HOST]),
        ("OPTIONS", "/graphql", [HOST, OWN]),
        ("PUT", "/graphql", [HOST, JSON]),
        ("DELETE", "/", [HOST]),
    ],
)
def test_what_others_can_send_is_refused(method: str, path: str, headers: Pairs) -> None:
    assert 400 <= answer(method, path, headers)[0] < 500


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([HOST, JSON, FOREIGN], "the request is from a page of another site: open the UI at its own address"),
        ([("host", "evil.example:3000"), JSON], "Invalid host header"),
    ],
)
def test_a_refusal_names_its_reason(headers: Pairs, message: str) -> None:
    assert message in answer("POST", "/graphql", headers)[2]


def test_settings_name_further_hosts() -> None:
    headers = [("host", "campus.school.example"), ("origin", "https://campus.school.example"), JSON]
    assert answer("POST", "/graphql", headers)[0] == 400
    assert answer("POST", "/graphql", headers, hosts=["campus.school.example"])[0] == 200


def test_no_other_site_frames_a_page() -> None:
    for headers in ([HOST], [HOST, FOREIGN]):
        _, received, _ = answer("GET", "/", headers)
        assert (
            received["x-frame-options"] == "DENY"
            and "frame-ancestors 'none'" in received["content-security-policy"]
        )
        assert (
            received["x-content-type-options"] == "nosniff" and received["referrer-policy"] == "same-origin"
        )


def test_an_address_of_the_machine_is_allowed_where_it_listens() -> None:
    assert "10.0.0.5" in allowed_hosts("10.0.0.5", ()) and "[fd00::5]" in allowed_hosts("fd00::5", ())
    assert set(allowed_hosts("0.0.0.0", ())) == {"127.0.0.1", "localhost", "[::1]"}
