"""A webhook and a mail server that keep what they are sent."""

import json
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Webhook:
    """`url` has a secret in it. `answer`: status and body of the answers to come."""

    url: str
    received: list[Any] = field(default_factory=list)
    answer: tuple[int, bytes] = (200, b'{"errcode": 0, "code": 0}')


@contextmanager
def webhook() -> Iterator[Webhook]:
    """A webhook on a free port."""
    hook = Webhook("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, body = hook.answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing on the screen."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        hook.url = f"http://127.0.0.1:{port}/send?key=0f9e8d7c"
        yield hook


@contextmanager
def mail_server(
    mails: list[str],
    certificate: Path | None = None,
    *,
    starttls: bool = False,
    said: list[str] | None = None,
    answers: Callable[[str], str] = lambda _: "",
    before_answer: Callable[[str], None] = lambda _: None,
) -> Iterator[int]:
    """An SMTP server without encryption, or with it from the first byte on with this certificate and its key
    in one file; its port.

    starttls: encryption begins where the client asks for it. `mails` takes what comes, and `said` what a
    client says. `answers` gives the answer to a line, to "." for a mail that was taken, and to "" for a new
    connection; "": that of a server that takes everything. `before_answer` takes each line before that."""

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            if certificate is not None and not starttls:
                self.request = encrypted(self.request, certificate)
            super().setup()

        def handle(self) -> None:
            with suppress(OSError):
                self._answer("", "220 here")
                while line := self.rfile.readline():
                    self._take(line.decode().strip())

        def _take(self, line: str) -> None:
            word, is_encrypted = line[:4].upper(), isinstance(self.request, ssl.SSLSocket)
            if said is not None:
                said.append(line)
            if word == "EHLO" and (starttls or is_encrypted):
                self._answer(line, f"250-localhost\r\n250 {'AUTH PLAIN' if is_encrypted else 'STARTTLS'}")
                return
            usual = {"AUTH": "235 welcome", "STAR": "220 go on", "DATA": "354 go on", "QUIT": "221 bye"}
            code = self._answer(line, usual.get(word, "250 fine"))
            if word == "STAR" and certificate is not None:
                self.request = encrypted(self.request, certificate)
                super().setup()
            if code == "354":
                mails.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self._answer(".", "250 fine")

        def _answer(self, line: str, usual: str) -> str:
            """Answer a line; the answer's code."""
            if line:
                before_answer(line)
            answer = answers(line) or usual
            self.wfile.write(f"{answer}\r\n".encode())
            return answer[:3]

    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


@contextmanager
def babbling_server(certificate: Path, pieces: Callable[[], Iterator[bytes]]) -> Iterator[int]:
    """An encrypted server that sends these pieces to whoever connects, and reads nothing; its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                connection = encrypted(self.request, certificate)
                for piece in pieces():
                    connection.sendall(piece)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with served(server) as port:
        yield port


def encrypted(connection: socket.socket, certificate: Path) -> ssl.SSLSocket:
    """The server's side of an encrypted connection. certificate: with its key, in one file."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context.wrap_socket(connection, server_side=True)


def certificate_of(host: str, folder: Path) -> Path:
    """A new certificate for a host, signed by itself, with its key, in one file."""
    file = folder / f"{host}.pem"
    command = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={host} "
        f"-addext subjectAltName=DNS:{host} -keyout {file} -out {file}.crt"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@contextmanager
def served(server: socketserver.TCPServer) -> Iterator[int]:
    """Run a server during the block; its port."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
