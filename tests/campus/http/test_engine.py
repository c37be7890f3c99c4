"""What the engine below the client must not do, and how it gets through TLS and proxies."""

import asyncio
import gc
import shutil
import ssl
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import httpx
import msgspec
import pytest
import uvloop

from campus.fetch.reader import Reader
from campus.http import engine as engine_module
from campus.http.client import Client
from campus.http.engine import AiohttpTransport
from campus.http.errors import PlatformUnavailable, Unconfirmed
from tests.kits.platforms.scripted_platform import RESET, DelayedAnswer, Platform, answer, run
from tests.kits.waiting import pass_time, settle, until, until_async

PATH = "/api/v3/klass/classes"


async def get(client: Client) -> object:
    return (await Reader(client, 101).fetch(PATH, {}, msgspec.json.decode)).value


async def write(client: Client, method: str, *, repeatable: bool) -> None:
    await client.write(method, PATH, {}, None, school_id=101, scope=(), repeatable=repeatable).decoded(bytes)


@pytest.mark.parametrize("method", ["DELETE", "PUT", "POST"])
def test_a_write_is_sent_once(method: str) -> None:
    async def test() -> None:
        async with Platform(on_write=lambda _: RESET) as platform, Client(platform.config()) as client:
            with pytest.raises(Unconfirmed):
                await write(client, method, repeatable=False)
        assert len(platform.writes) == 1

    run(test())


def open_ports() -> set[int]:
    """The local ports of the connections of this machine of which neither side has closed its end."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines())
    return {int(address.rpartition(":")[2], 16) for _, address, _, state, *_ in rows if state == "01"}


def test_a_connection_that_was_closed_meanwhile_is_not_used() -> None:
    async def test() -> None:
        async with Platform() as platform, Client(platform.config()) as client:
            await get(client)
            ports = {connection.get_extra_info("peername")[1] for connection in platform.connections}
            for connection in list(platform.connections):
                connection.transport.abort()
            await asyncio.sleep(0)
            # The loop is busy while the end of the connection arrives.
            until(lambda: not ports & open_ports(), "the end of the connection arrives")
            await write(client, "POST", repeatable=False)
        assert len(platform.writes) == 1

    # As loads do: asyncio's own loop would see the end a round later.
    uvloop.run(test())


def test_idle_connections_are_used_again() -> None:
    async def test() -> None:
        async with Platform() as platform, Client(platform.config(concurrency=3)) as client:
            for _ in range(4):
                await asyncio.gather(*(get(client) for _ in range(9)))
        assert len(platform.gets) == 36
        assert platform.opened <= 4

    run(test())


def test_a_request_that_is_cancelled_takes_its_connection_with_it() -> None:
    async def test() -> None:
        late = DelayedAnswer(answer(["late"]))
        async with Platform(late) as platform, Client(platform.config()) as client:
            first = asyncio.create_task(get(client))
            await until_async(lambda: platform.gets, "the platform has the request")
            platform.on_get = lambda _: answer(["prompt"])
            first.cancel()
            with suppress(asyncio.CancelledError):
                await first
            late.may_go.set()
            assert await get(client) == ["prompt"]

    run(test())


def test_cookies_and_redirects_are_not_followed() -> None:
    async def test() -> None:
        reply = answer([], 302, location="/elsewhere", set_cookie="a=b")
        async with Platform(lambda _: reply) as platform, Client(platform.config()) as client:
            for _ in range(2):
                with pytest.raises(Exception, match="302"):
                    await get(client)
        assert [request.path for request in platform.gets] == [PATH, PATH]
        assert all("cookie" not in request.headers for request in platform.gets)

    run(test())


def test_answers_leave_nothing_for_the_garbage_collector() -> None:
    """A body of megabytes goes when its rows are taken, and waits for no collector."""

    async def test() -> None:
        async with Platform() as platform, Client(platform.config()) as client:
            await get(client)
            gc.collect()
            gc.disable()
            try:
                for _ in range(20):
                    await get(client)
                alive = Counter(map(type, gc.get_objects()))
            finally:
                gc.enable()
        assert alive[httpx.Response] == 0
        # The last answer stays with its connection.
        assert alive[aiohttp.ClientResponse] <= 1

    run(test())


def test_a_body_that_nobody_takes_is_given_up() -> None:
    async def stuck(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        await settle()
        pass_time(3 * 20)
        await asyncio.Event().wait()

    async def test() -> None:
        server = await asyncio.start_server(stuck, "127.0.0.1", 0, limit=1024)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        engine = AiohttpTransport(url, ssl.create_default_context())
        limits = {"target": b"/", "timeout": httpx.Timeout(20).as_dict()}
        request = httpx.Request("PUT", url, content=b" " * (64 << 20), extensions=limits)
        with pytest.raises(httpx.WriteTimeout):
            await engine.handle_async_request(request)
        await engine.aclose()
        server.close()

    run(test())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1, and its key, in one file."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl")
    path = tmp_path_factory.mktemp("tls") / "platform.pem"
    kind = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-subj", "/CN=platform", "-keyout", path, "-out", f"{path}.crt")
    subprocess.run(["openssl", "req", "-x509", *kind, *files], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def fresh_certificates() -> None:
    """Certificates are read once a process."""
    engine_module._certificates.cache_clear()


@pytest.mark.usefixtures("fresh_certificates")
def test_an_authority_of_the_environment_is_trusted(
    monkeypatch: pytest.MonkeyPatch, certificate: Path, tls: ssl.SSLContext
) -> None:
    async def test() -> None:
        async with Platform(tls=tls) as platform:
            async with Client(platform.config()) as client:
                with pytest.raises(
                    PlatformUnavailable, match=r"CERTIFICATE_VERIFY_FAILED.*CAMPUS_BASE_URL"
                ) as caught:
                    await get(client)
                assert not caught.value.outage
            engine_module._certificates.cache_clear()
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            async with Client(platform.config()) as client:
                assert await get(client) == []
            # The certificate is one of 127.0.0.1, not of localhost.
            by_name = replace(platform.config(), base_url=platform.url.replace("127.0.0.1", "localhost"))
            async with Client(by_name) as client:
                with pytest.raises(PlatformUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                    await get(client)

    run(test())
    engine_module._certificates.cache_clear()


@pytest.mark.usefixtures("fresh_certificates")
def test_a_proxy_with_a_password_opens_a_tunnel(
    monkeypatch: pytest.MonkeyPatch, certificate: Path, tls: ssl.SSLContext
) -> None:
    heads: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        if "Proxy-Authorization: Basic dXNlcjpwQHNz" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            writer.close()
            return
        host, port = head.split()[1].split(":")
        their_reader, their_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, their_writer), pump(their_reader, writer))

    async def test() -> None:
        proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        address = f"127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with Platform(tls=tls) as platform:
            monkeypatch.setenv("https_proxy", f"http://user:p%40ss@{address}")
            async with Client(platform.config()) as client:
                assert await get(client) == []
            assert heads[0].startswith(f"CONNECT {platform.url.removeprefix('https://')} ")
            assert "authorization: bearer" not in "".join(heads).lower()
            monkeypatch.setenv("https_proxy", f"http://{address}")
            async with Client(platform.config(max_attempts=1)) as client:
                with pytest.raises(
                    PlatformUnavailable, match=r"the proxy failed.*Proxy Authentication Required"
                ):
                    await get(client)
        proxy.close()

    run(test())
    engine_module._certificates.cache_clear()
