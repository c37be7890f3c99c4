"""The configuration of nginx in deploy/ lets the UI's own pages through after a login, and nobody else."""

import base64
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from pipelines.ui.addresses import allowed_hosts
from pipelines.ui.guard import guarded
from tests.kits.servers.nginx import NEEDS_NGINX, free_port, nginx, served

SAMPLE = Path(__file__).parents[3] / "deploy" / "nginx-ui.conf"
NAME = "campus.school.example"
LOGIN = base64.b64encode(b"head:secret").decode()

pytestmark = NEEDS_NGINX


async def _page(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.headers.get("authorization", "no password"))


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("connected")
    await websocket.close()


@pytest.fixture(scope="module")
def ui_port() -> Iterator[int]:
    """An application behind the guard, as the UI is."""
    routes = [
        Route("/graphql", _page, methods=["POST"]),
        WebSocketRoute("/graphql", _socket),
        Route("/{path:path}", _page),
    ]
    port = free_port()
    with served(guarded(Starlette(routes=routes), allowed_hosts("127.0.0.1", [NAME])), port):
        yield port


@pytest.fixture(scope="module")
def proxy_port(ui_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """nginx with the sample, on other ports and with a certificate of its own."""
    folder = tmp_path_factory.mktemp("nginx")
    passwords = folder / "passwords"
    made = subprocess.run(
        ["openssl", "passwd", "-apr1", "secret"], check=True, capture_output=True, text=True
    )
    passwords.write_text(f"head:{made.stdout}")
    replacements = {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen [::]:80;": "",
        "listen [::]:443 ssl default_server;": "",
        "/etc/nginx/campus-ui.htpasswd": str(passwords),
        "127.0.0.1:3000": f"127.0.0.1:{ui_port}",
    }
    with nginx(folder, SAMPLE, NAME, replacements) as port:
        yield port


def send(port: int, method: str, path: str, **headers: str) -> httpx.Response:
    """Send a request as a browser would that finds the name at this machine."""
    with httpx.Client(verify=False, trust_env=False) as client:
        request = client.build_request(
            method,
            f"https://127.0.0.1:{port}{path}",
            headers={"Host": f"{NAME}:{port}", **headers},
            extensions={"sni_hostname": NAME},
        )
        return client.send(request)


def test_nobody_enters_without_the_login(proxy_port: int) -> None:
    assert send(proxy_port, "GET", "/").status_code == 401
    assert send(proxy_port, "GET", "/", Authorization="Basic aGVhZDp3cm9uZw==").status_code == 401
    answer = send(proxy_port, "GET", "/", Authorization=f"Basic {LOGIN}")
    assert (answer.status_code, answer.text) == (200, "no password")
    assert answer.headers["strict-transport-security"] and answer.headers["x-frame-options"] == "DENY"


def test_own_pages_pass_and_others_do_not(proxy_port: int) -> None:
    common = {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"}
    own, foreign = f"https://{NAME}:{proxy_port}", "https://evil.example"
    assert send(proxy_port, "POST", "/graphql", Origin=own, **common).status_code == 200
    assert send(proxy_port, "POST", "/graphql", Origin=foreign, **common).status_code == 403


def test_another_name_gets_no_answer(proxy_port: int) -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"https://127.0.0.1:{proxy_port}/", verify=False, trust_env=False)


@pytest.mark.parametrize("is_own", [True, False])
def test_websockets_pass_from_own_pages(proxy_port: int, is_own: bool) -> None:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    def opened() -> object:
        with connect(
            f"wss://{NAME}:{proxy_port}/graphql",
            sock=socket.create_connection(("127.0.0.1", proxy_port)),
            ssl=trusting,
            server_hostname=NAME,
            origin=Origin(f"https://{NAME}:{proxy_port}" if is_own else "https://evil.example"),
            additional_headers={"Authorization": f"Basic {LOGIN}"},
            proxy=None,
        ) as websocket:
            return websocket.recv(timeout=30)

    if is_own:
        assert opened() == "connected"
    else:
        with pytest.raises(InvalidStatus):
            opened()
