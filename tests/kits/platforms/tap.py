"""A wire tap between client and platform, which learns the tokens that are issued."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

TOKEN = re.compile(rb'"access_token":\s*"([^"]+)"')


@dataclass
class Tap:
    """A TCP forwarder at `base_url`; `tokens` are those that have passed it."""

    base_url: str
    tokens: set[bytes] = field(default_factory=set)


@contextmanager
def tapped(base_url: str) -> Iterator[Tap]:
    """Forward a free loopback port to `base_url` while the block lasts."""
    platform = urlsplit(base_url)
    with socket.create_server(("127.0.0.1", 0)) as server:
        tap = Tap(f"http://127.0.0.1:{server.getsockname()[1]}")

        def accept() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:  # the block has ended
                    return
                upstream = socket.create_connection((platform.hostname, platform.port))
                threading.Thread(target=_forward, args=(client, upstream, None), daemon=True).start()
                threading.Thread(target=_forward, args=(upstream, client, tap), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield tap
        server.shutdown(socket.SHUT_RDWR)


def _forward(source: socket.socket, target: socket.socket, tap: Tap | None) -> None:
    recent = b""
    try:
        while data := source.recv(65_536):
            target.sendall(data)
            if tap is not None:
                recent = recent[-500:] + data
                tap.tokens.update(TOKEN.findall(recent))
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has left, as torn connections do
        source.close()
        target.close()
