"""A mail server whose certificate holds, and that attacks whoever sends a mail."""

import base64
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email import message_from_string
from itertools import repeat
from pathlib import Path
from typing import Literal

import pytest

from pipelines.notices import channels
from pipelines.notices.channels import NotSent, mail
from pipelines.notices.notice import Notice
from pipelines.settings.options import MailOptions
from tests.kits.servers.receivers import certificate_of, mail_server

PASSWORD = "pa55-w0rd"
#: What a client sends of a password, as it stands and in the forms of AUTH.
SECRETS = [
    PASSWORD,
    *(base64.b64encode(text.encode()).decode() for text in (PASSWORD, f"\0it\0{PASSWORD}")),
]
#: Answers a line of the client; b"": it has just connected. The first argument sends.
Attack = Callable[[Callable[[bytes], object], bytes], None]
NOTICE = Notice("1 thing to do", ("School 101 was not loaded.",))


@contextmanager
def hostile_server(certificate: Path, attack: Attack) -> Iterator[int]:
    """An encrypted server that answers by `attack`; its port."""

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle(self) -> None:
            with suppress(OSError):
                attack(self.wfile.write, b"")
                while line := self.rfile.readline():
                    attack(self.wfile.write, line)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def _options(port: int, security: Literal["tls", "starttls"] = "tls") -> MailOptions:
    return MailOptions(
        host="localhost", port=port, security=security, user="it", sender="a@b.example", to=("c@d.example",)
    )


def _polite(line: bytes) -> bytes:
    """The answer of a server that takes everything."""
    return {
        b"": b"220 here\r\n",
        b"EHLO": b"250-here\r\n250 AUTH PLAIN LOGIN\r\n",
        b"AUTH": b"235 in\r\n",
        b"DATA": b"354 go on\r\n",
    }.get(line[:4].upper(), b"250 fine\r\n")


def _echo(at: bytes, code: bytes) -> Attack:
    """Repeats all that it heard so far in the answer to one command, with control characters."""
    heard: list[bytes] = []

    def attack(send: Callable[[bytes], object], line: bytes) -> None:
        heard.append(line.strip())
        is_due = line[:4].upper() == at
        send(code + b" \x1b[2J\x07" + b" ".join(heard) + b"\r\n" if is_due else _polite(line))

    return attack


def _instead_of_greeting(pieces: Iterator[bytes]) -> Attack:
    def attack(send: Callable[[bytes], object], _line: bytes) -> None:
        for piece in pieces:
            send(piece)

    return attack


def _drops(pause: float) -> Iterator[bytes]:
    """A byte of an answer now and then, sooner than any timeout of a single byte."""
    waiting = threading.Event()
    while not waiting.wait(pause):
        yield b"2"


@pytest.mark.parametrize(
    ("attack", "problem"),
    [
        (lambda: _echo(b"AUTH", b"535"), r"refuses the login \(535\): check notify\.mail\.user"),
        (lambda: _echo(b"MAIL", b"554"), "answers with code 554"),
        (lambda: _echo(b"RCPT", b"550"), "answers with code 550"),
        (lambda: _instead_of_greeting(repeat(b"220-" + b"x" * 1000 + b"\r\n")), "its answer does not end"),
        (lambda: _instead_of_greeting(repeat(b"x" * 1000)), "answers with code 500"),
        (lambda: _instead_of_greeting(_drops(0.05)), "its answer does not end"),
        (lambda: _instead_of_greeting(iter([b"HTTP/1.1 200 OK\r\n\r\n"])), "answers with code -1"),
    ],
    ids=["login", "sender", "recipient", "endless lines", "endless line", "drops", "no mail server"],
)
def test_no_answer_holds_or_speaks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attack: Callable[[], Attack],
    problem: str,
) -> None:
    """An answer ends, and none of its words is shown: they could be the password, or move the screen."""
    certificate = certificate_of("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(channels, "SECONDS", 1.0)
    with hostile_server(certificate, attack()) as port, pytest.raises(NotSent, match=problem) as raised:
        mail(_options(port), PASSWORD, NOTICE)
    message = str(raised.value)
    assert message.isprintable() and not any(secret in message for secret in SECRETS)
    assert raised.value.__cause__ is None, "no traceback has the words either"


def test_what_was_taken_is_sent_whatever_the_server_says_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_of("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with hostile_server(certificate, _echo(b"QUIT", b"554")) as port:
        mail(_options(port), PASSWORD, NOTICE)


def test_what_was_sent_before_encryption_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody between the two adds answers in clear text to that of STARTTLS."""
    certificate = certificate_of("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    mails, lines = list[str](), list[str]()
    injected = "220 go on\r\n250-localhost\r\n250 AUTH LOGIN\r\n535 no"
    with mail_server(mails, certificate, starttls=True, said=lines, go_on=injected) as port:
        mail(_options(port, "starttls"), PASSWORD, NOTICE)
    assert message_from_string(mails[0])["Subject"] == "1 thing to do"
    assert [line.split()[1] for line in lines if line.startswith("AUTH")] == ["PLAIN"]
