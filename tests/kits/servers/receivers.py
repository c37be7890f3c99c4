"""A webhook and a mail server that keep what they are sent."""

import json
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Webhook:
    """`url` has a secret in it. `answer`: status and body of the answers to come."""

    url: str
    received: list[Any] = field(default_factory=list)
    answer: tuple[int, bytes] = (200, b"{}")


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

    with _served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        hook.url = f"http://127.0.0.1:{port}/send?key=0f9e8d7c"
        yield hook


@contextmanager
def mail_server(
    mails: list[str],
    certificate: Path | None = None,
    *,
    starttls: bool = False,
    said: list[str] | None = None,
    refused: str = "",
    go_on: str = "220 go on",
    before_answer: Callable[[str], None] = lambda _: None,
) -> Iterator[int]:
    """An SMTP server without encryption, or with it from the first byte on with this certificate and its key
    in one file; its port. `starttls`: encryption begins where the client asks for it. `mails` takes what
    comes, and `said` what a client says. `refused`: the address of a mailbox that is not there.
    `go_on`: the answer to STARTTLS. `before_answer` takes each line before its answer, and "." for a mail
    that was taken."""

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            if not starttls:
                self._encrypt()
            super().setup()

        def _encrypt(self) -> None:
            if certificate is not None:
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(certificate)
                self.request = context.wrap_socket(self.request, server_side=True)

        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline():
                word, is_encrypted = line[:4].upper(), isinstance(self.request, ssl.SSLSocket)
                if said is not None:
                    said.append(line.decode().strip())
                before_answer(line.decode().strip())
                if word == b"EHLO" and (starttls or is_encrypted):
                    self._say(f"250-localhost\r\n250 {'AUTH PLAIN' if is_encrypted else 'STARTTLS'}")
                    continue
                if refused and line.startswith(b"rcpt TO") and refused.encode() in line:
                    self._say(f"550 no mailbox {refused}")
                    continue
                if word == b"AUTH":
                    self._say("235 welcome")
                    continue
                if word == b"STAR":
                    self._say(go_on)
                    self._encrypt()
                    super().setup()
                    continue
                if word == b"DATA":
                    self._say("354 go on")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    mails.append(b"".join(lines).decode())
                    before_answer(".")
                self._say("221 bye" if word == b"QUIT" else "250 fine")
                if word == b"QUIT":
                    return

        def _say(self, words: str) -> None:
            self.wfile.write(f"{words}\r\n".encode())

    with _served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


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
def _served(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
