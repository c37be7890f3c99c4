"""A mail server whose certificate holds, and that attacks whoever sends a mail."""

import base64
import time
import traceback
from collections.abc import Callable, Iterator
from email import message_from_string
from itertools import repeat
from pathlib import Path
from typing import Literal

import pytest

from pipelines.notices import channels
from pipelines.notices.channels import NotSent, mail
from pipelines.notices.notice import Notice
from pipelines.settings.options import MailOptions
from tests.kits.servers.receivers import babbling_server, certificate_of, mail_server

PASSWORD = "pa55-w0rd"
#: What a client sends of a password, as it stands and in the forms of AUTH.
SECRETS = [
    PASSWORD,
    *(base64.b64encode(text.encode()).decode() for text in (PASSWORD, f"\0it\0{PASSWORD}")),
]
NOTICE = Notice("1 thing to do", ("School 101 was not loaded.",))


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The certificate of this machine, which the client trusts."""
    file = certificate_of("localhost", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return file


def _send(port: int, security: Literal["tls", "starttls"] = "tls", password: str = PASSWORD) -> str:
    options = MailOptions(
        host="localhost",
        port=port,
        security=security,
        user="it",
        sender="a@b.example",
        to=("c@d.example", "e@d.example"),
    )
    return mail(options, password, NOTICE)


def _problem(port: int, password: str = PASSWORD) -> str:
    """Why a mail was not sent. Neither the message nor a traceback has words of the server."""
    with pytest.raises(NotSent) as raised:
        _send(port, password=password)
    message = str(raised.value)
    assert message.isprintable() and "\x1b" not in message
    shown = "".join(traceback.format_exception(raised.value))
    assert not [secret for secret in SECRETS if secret in message + shown.replace(repr(password), "")]
    return message


@pytest.mark.parametrize(
    ("command", "code", "problem"),
    [
        ("AUTH", 535, "it refuses the login (535): check notify.mail.user and CAMPUS_NOTIFY_PASSWORD"),
        ("mail", 554, "it answers with code 554"),
        ("rcpt", 550, "it answers with code 550"),
        (".", 552, "it answers with code 552"),
        ("ehlo", 700, "it does not speak SMTP"),
    ],
)
def test_no_word_of_a_server_is_shown(certificate: Path, command: str, code: int, problem: str) -> None:
    """It repeats all that it heard, which has the password, and moves the screen."""
    heard: list[str] = []

    def answers(line: str) -> str:
        heard.append(line)
        return f"{code} \x1b[2J\x07{' '.join(heard)}" if line.startswith(command) else ""

    with mail_server([], certificate, answers=answers) as port:
        assert _problem(port) == f"localhost:{port} does not take the mail: {problem}"


def test_a_login_without_an_end_is_told(certificate: Path) -> None:
    def answers(line: str) -> str:
        is_part = line and not line.startswith(("ehlo", "quit"))
        return f"334 {line.split()[-1]}" if is_part else ""

    with mail_server([], certificate, answers=answers) as port:
        assert _problem(port).endswith("its login does not end, or needs a method that is not known here")


def test_answers_to_a_login_may_be_no_base64(certificate: Path) -> None:
    def answers(line: str) -> str:
        if line.startswith("ehlo"):
            return "250-here\r\n250 AUTH CRAM-MD5"
        return "334 a" if line.startswith("AUTH") else ""

    with mail_server([], certificate, answers=answers) as port:
        assert _problem(port).endswith("its answer to the login is not valid")


def test_a_password_beyond_ascii_is_told(certificate: Path) -> None:
    with mail_server([], certificate) as port:
        assert _problem(port, "密码").endswith("CAMPUS_NOTIFY_PASSWORD may have ASCII letters alone")


def _drops() -> Iterator[bytes]:
    """A byte of an answer now and then, sooner than any timeout of a single byte."""
    while True:
        yield b"2"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        (lambda: repeat(b"220-" + b"x" * 1000 + b"\r\n"), "its answer does not end"),
        (lambda: repeat(b"x" * 1000), "it does not speak SMTP"),
        (lambda: iter([b"HTTP/1.1 200 OK\r\n\r\n"]), "it does not speak SMTP"),
    ],
    ids=["endless lines", "endless line", "no mail server"],
)
def test_no_answer_grows_for_ever(
    certificate: Path, pieces: Callable[[], Iterator[bytes]], problem: str
) -> None:
    with babbling_server(certificate, pieces) as port:
        assert problem in _problem(port)


def test_no_answer_takes_for_ever(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "SECONDS", 0.5)
    with babbling_server(certificate, _drops) as port:
        _problem(port)


def test_what_was_sent_before_encryption_is_not_believed(certificate: Path) -> None:
    """Somebody between the two adds answers in clear text to that of STARTTLS."""
    mails, lines = list[str](), list[str]()
    injected = "220 go on\r\n250-localhost\r\n250 AUTH LOGIN\r\n535 no"

    def answers(line: str) -> str:
        return injected if line == "STARTTLS" else ""

    with mail_server(mails, certificate, starttls=True, said=lines, answers=answers) as port:
        assert _send(port, "starttls") == ""
    assert message_from_string(mails[0])["Subject"] == "1 thing to do"
    assert [line.split()[1] for line in lines if line.startswith("AUTH")] == ["PLAIN"]


def test_a_mail_is_sent_whatever_quit_brings(certificate: Path) -> None:
    mails: list[str] = []
    with mail_server(mails, certificate, answers=lambda line: "554 no" if line == "quit" else "") as port:
        assert _send(port) == ""
    assert len(mails) == 1


def test_a_single_refused_recipient_is_told(certificate: Path) -> None:
    mails: list[str] = []
    with mail_server(mails, certificate, answers=lambda line: "550 no" if "e@d" in line else "") as port:
        assert _send(port) == f"localhost:{port} refuses e@d.example (550): check notify.mail.to"
    assert len(mails) == 1
