"""The receiver and those who send what nobody signed: too much, too long, too slowly, or nothing at all."""

import json
import resource
import signal
import socket
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event

import pytest

from tests.kits.pushes.receiving import Running, receiver
from tests.kits.pushes.signing import a_push, headers_for
from tests.kits.waiting import PATIENCE, until

MEMORY_MB = 200


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with receiver(tmp_path_factory.mktemp("home"), CAMPUS_SCHOOL_IDS="101") as receiving:
        yield receiving


def connect(running: Running) -> socket.socket:
    host, _, port = running.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def head(**changes: str | None) -> bytes:
    """The head of a request with a body of 1,000 bytes; None removes a header."""
    method, path = changes.pop("method", "POST"), changes.pop("path", "/")
    headers: dict[str, str | None] = {**headers_for({}), "Host": "here", "Content-Length": "1000"}
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """The status and the whole answer; 0: there is none."""
    whole = b""
    while piece := connection.recv(65_536):
        whole += piece
    return int(whole.split()[1]) if whole else 0, whole


def peak_mb(running: Running) -> float:
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6


#: What is wrong, how the head differs from a right one, and the status.
WRONG_HEADS: dict[str, tuple[dict[str, str | None], int]] = {
    "path": ({"path": "/elsewhere"}, 404),
    "method": ({"method": "PUT"}, 405),
    "text": ({"Content_Type": "text/plain"}, 415),
    "form": ({"Content_Type": "application/x-www-form-urlencoded; charset=utf-8"}, 415),
    "length": ({"Content_Length": "256001"}, 413),
    "greatest length": ({"Content_Length": "9" * 20}, 413),
    "no school": ({"X_School_Id": None}, 400),
    "negative school": ({"X_School_Id": "-1"}, 400),
    "long school": ({"X_School_Id": "1" * 19}, 400),
    "unknown school": ({"X_School_Id": "999"}, 401),
    "no nonce": ({"X_Nonce": None}, 400),
    "long nonce": ({"X_Nonce": "n" * 257}, 400),
    "nonce twice": ({"X_Nonce": "1\r\nX-Nonce: 2"}, 400),
    "time in words": ({"X_Timestamp": "soon"}, 400),
    "time with a fraction": ({"X_Timestamp": "1.5"}, 400),
    "no signature": ({"X_Signature": None}, 401),
    "short signature": ({"X_Signature": "0" * 63}, 401),
    "long signature": ({"X_Signature": "0" * 65}, 401),
    "signature in capitals": ({"X_Signature": "A" * 64}, 401),
    "signature twice": ({"X_Signature": f"{'0' * 64}\r\nX-Signature: {'0' * 64}"}, 400),
    "encoding": ({"Content_Length": None, "Transfer_Encoding": "gzip"}, 501),
    "long head": ({"X_Long": "x" * 40_000}, 431),
    "no HTTP": ({"path": "/ /"}, 400),
}


@pytest.mark.parametrize("name", WRONG_HEADS)
def test_a_wrong_head_is_refused_without_its_body(running: Running, name: str) -> None:
    """No byte of the body is sent, so that an answer cannot come from reading it."""
    changes, status = WRONG_HEADS[name]
    with closing(connect(running)) as connection:
        connection.sendall(head(**changes))
        assert answer(connection)[0] == status


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON", None])
def test_genuine_pushes_may_spell_the_content_type(running: Running, content_type: str | None) -> None:
    body = a_push(("updated", [1]))
    headers = headers_for(body)
    del headers["Content-Type"]
    if content_type is not None:
        headers["Content-Type"] = content_type
    assert running.post(body, headers).status_code == 200


def test_a_genuine_push_may_wait_for_100_continue(running: Running) -> None:
    body = a_push(("updated", [1]))
    content = json.dumps(body).encode()
    with closing(connect(running)) as connection:
        connection.sendall(head(**headers_for(body), Content_Length=str(len(content)), Expect="100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(content)
        assert answer(connection)[0] == 200


@pytest.mark.parametrize("size", [4_000_000, 250_000])
def test_unsigned_bodies_cost_little_memory(running: Running, size: int) -> None:
    """24 connections send bodies at once; before, each took twenty times its size."""
    start, end = b'{"events":[{"op":"updated","pks":[', b"1]}]}"
    content = start + b"1," * ((size - len(start) - len(end)) // 2) + end

    def send(_: int) -> int:
        with closing(connect(running)) as connection:
            # It may be refused before it is sent.
            with suppress(ConnectionError):
                connection.sendall(head(Content_Length=str(len(content))) + content)
            with suppress(ConnectionError):
                return answer(connection)[0]
            return 0

    with ThreadPoolExecutor(24) as together:
        statuses = together.map(send, range(48))
        assert running.post(a_push(("updated", [1]))).status_code == 200
    assert set(statuses) <= ({413, 0} if size > 256_000 else {401, 503})
    assert peak_mb(running) < MEMORY_MB


def test_replays_count_once_beside_strangers(running: Running) -> None:
    """24 strangers send 4 MB each without a pause. A genuine push is sent eight times at once, as somebody
    who recorded it would, and with another id, nonce and signature."""
    over, body = Event(), b'{"events":[' + b"1," * 2_000_000 + b"1]}"

    def attack(_: int) -> int:
        refused = 0
        while not over.is_set():
            with suppress(ConnectionError), closing(connect(running)) as connection:
                # It is refused before it is sent.
                with suppress(ConnectionError):
                    connection.sendall(head(Content_Length=str(len(body))) + body)
                refused += answer(connection)[0] == 413
        return refused

    with ThreadPoolExecutor(24) as strangers, ThreadPoolExecutor(8) as thieves:
        attacks = [strangers.submit(attack, number) for number in range(24)]
        try:
            for number in range(10):
                genuine = a_push(("updated", [f"row {number}"]))
                headers = headers_for(genuine)
                replays = [thieves.submit(running.post, genuine, headers) for _ in range(8)]
                assert {replay.result().status_code for replay in replays} == {200}
                forged = [
                    ({**genuine, "id": str(uuid.uuid4())}, headers),
                    (genuine, headers_for({})),
                    (genuine, {**headers, "X-Nonce": "another"}),
                ]
                assert {running.post(*push).status_code for push in forged} == {401}
        finally:
            over.set()
        assert sum(attack.result() for attack in attacks) > 0
    keys = Counter(key for event in running.held() for key in event.keys if str(key).startswith("row "))
    assert keys == {f"row {number}": 1 for number in range(10)}
    assert peak_mb(running) < MEMORY_MB


def test_a_body_of_single_bytes_is_refused(running: Running) -> None:
    """Each chunk costs the work of a whole piece, whatever its length."""
    with closing(connect(running)) as connection:
        connection.sendall(head(Content_Length=None, Transfer_Encoding="chunked"))
        connection.sendall(b"1\r\n \r\n" * 5_000)
        assert answer(connection)[0] == 413


def test_chunks_beyond_the_limit_are_refused(running: Running) -> None:
    with closing(connect(running)) as connection:
        connection.sendall(head(Content_Length=None, Transfer_Encoding="chunked"))
        connection.sendall(b"10000\r\n%s\r\n" % (b" " * 65_536) * 4)
        assert answer(connection)[0] == 413


@pytest.mark.parametrize("silent", [205, 1000])
def test_a_push_comes_through_beside_silent_connections(running: Running, silent: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, silent + 500)), hard))
    with ExitStack() as stack:
        for _ in range(silent):
            stack.enter_context(closing(connect(running)))
        assert running.post(a_push(("updated", [1]))).status_code == 200


def test_a_push_comes_through_beside_slow_bodies(running: Running) -> None:
    """Bodies of which the end never comes hold all the room, until a smaller one needs it."""
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(closing(connect(running)))
            connection.sendall(head(Content_Length="256000") + b" " * 1_000)
        assert running.post(a_push(("updated", [1]))).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("part", ["nothing", "head", "body"])
def test_an_idle_connection_is_closed_after_ten_seconds(running: Running, part: str) -> None:
    """Also where a byte of the head or of the body comes now and then."""
    sent = {"nothing": b"", "head": b"POST / HTTP/1.1\r\nX-A: ", "body": head()}[part]
    began = time.monotonic()
    with closing(connect(running)) as connection:
        connection.sendall(sent)
        connection.settimeout(1)

        def is_closed() -> bool:
            try:
                connection.sendall(b"1" if sent else b"")
                return not connection.recv(1000)
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        until(is_closed, "the receiver closes the connection")
    assert time.monotonic() - began >= 10


def test_it_ends_beside_silent_connections(tmp_path: Path) -> None:
    with receiver(tmp_path) as receiving, closing(connect(receiving)):
        receiving.process.send_signal(signal.SIGTERM)
        assert receiving.process.wait(PATIENCE) == 0
