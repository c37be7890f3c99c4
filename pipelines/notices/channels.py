"""Sends a message to a webhook in one of four forms, or by mail.

The forms follow the services' own documentation. WeCom and DingTalk take `msgtype` and answer with `errcode`;
Feishu takes `msg_type` and answers with `code`. All three answer with status 200, and code 0 means success.
The generic form serves any other webhook: any 2xx means success."""

import binascii
import io
import json
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid, parseaddr
from typing import Any
from urllib.parse import urlsplit

import httpx

from pipelines.notices.notice import Notice
from pipelines.settings.options import Form, MailOptions
from warehouse.lake.tables import PLATFORM_ZONE

#: The time for a connection, for each answer of a service, and for each read of one.
SECONDS = 15.0
#: The time for the body of a mail, and for the answer to it.
SECONDS_OF_A_MAIL = 600.0
MOST_ANSWER_BYTES = 65_536
#: WeCom refuses texts with more bytes.
MOST_BYTES = 2000

FORMS: Mapping[Form, Callable[[Notice], dict[str, Any]]] = {
    "generic": lambda notice: {"title": notice.title, "lines": list(notice.lines)},
    "wecom": lambda notice: {"msgtype": "text", "text": {"content": _cut(notice.text)}},
    "dingtalk": lambda notice: {"msgtype": "text", "text": {"content": _cut(notice.text)}},
    "feishu": lambda notice: {"msg_type": "text", "content": {"text": _cut(notice.text)}},
}


class NotSent(Exception):
    """A message that could not be sent, and why. The text names the host alone, since the rest of a webhook's
    address is secret."""


def post(url: str, form: Form, notice: Notice) -> None:
    """Send a message to a webhook. Raises NotSent."""
    host = urlsplit(url).hostname
    try:
        status, content = _answer_of(url, FORMS[form](notice))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotSent(f"the webhook at {host} cannot be reached ({type(error).__name__})") from error
    except TimeoutError as error:
        raise NotSent(f"the webhook at {host} gives an answer without an end") from error
    if not 200 <= status <= 299:
        raise NotSent(f"the webhook at {host} answers with status {status}")
    if form != "generic" and (code := _code_in(content)) != 0:
        reason = "answers without a code" if code is None else f"refuses the message (code {code})"
        raise NotSent(f"the webhook at {host} {reason}. Is its form {form}?")


def mail(options: MailOptions, password: str | None, notice: Notice) -> str:
    """Send a message as mail. Returns the recipients who are refused, in a sentence, while others are not; ""
    if nobody is. Raises NotSent."""
    message = new_mail(options, ", ".join(options.to), notice.title)
    message.set_content("\n\n".join(notice.lines))
    with session(options, password) as server:
        refused = server.send_message(message)
    codes = ", ".join(f"{address} ({code})" for address, (code, _) in sorted(refused.items()))
    return f"{_server(options)} refuses {codes}: check notify.mail.to" if codes else ""


def new_mail(options: MailOptions, to: str, subject: str) -> EmailMessage:
    """A mail without content. Its id has the sender's domain, not the name of this machine."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, options.sender, to
    message["Date"] = format_datetime(datetime.now(PLATFORM_ZONE))
    message["Message-ID"] = make_msgid(domain=parseaddr(options.sender)[1].rpartition("@")[2])
    return message


@contextmanager
def session(options: MailOptions, password: str | None) -> Iterator[smtplib.SMTP]:
    """A connection to the mail server with a login. Raises NotSent for any failure while it is open."""
    server = _logged_in(options, password)
    try:
        yield server
    except smtplib.SMTPException as error:
        raise NotSent(f"{_server(options)} does not take the mail: {cause_of(error)}") from None
    except (ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise NotSent(f"{_server(options)} does not take the mail: {_first_line(error)}") from None
    finally:
        _leave(server)


def cause_of(error: smtplib.SMTPException) -> str:
    """Why a mail was not taken. The server's words are never shown: they may quote an address, or the
    password of the login."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"it refuses the login ({error.smtp_code}): check notify.mail.user and CAMPUS_NOTIFY_PASSWORD"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"it answers with code {error.smtp_code}"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return f"it answers with code {next(iter(error.recipients.values()))[0]}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "it takes no address with letters beyond ASCII"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return _first_line(error)
    return "its login does not end, or needs a method that is not known here"


def _server(options: MailOptions) -> str:
    return f"{options.host}:{options.port}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _logged_in(options: MailOptions, password: str | None) -> smtplib.SMTP:
    """A connection with a login, if the options name a user. Raises NotSent."""
    address = _server(options)
    try:
        with ExitStack() as if_it_fails:
            server = _connected(options)
            if_it_fails.callback(_leave, server)
            if options.user:
                server.login(options.user, password or "")
            if_it_fails.pop_all()
            return server
    except smtplib.SMTPNotSupportedError as error:
        raise NotSent(
            f"{address} offers no encryption (STARTTLS), or no login: nothing was sent. "
            f"Ask its operator, or set security: tls and its port in notify.mail of campus.yaml"
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise NotSent(
            f"the certificate of {address} does not hold ({error.verify_message}): "
            f"nothing was sent. An authority of your own is named in the environment, by SSL_CERT_FILE"
        ) from error
    except UnicodeEncodeError:
        raise NotSent(
            f"{address} takes no mail: "
            f"notify.mail.user and CAMPUS_NOTIFY_PASSWORD may have ASCII letters alone"
        ) from None
    except binascii.Error:
        raise NotSent(f"{address} does not take the mail: its answer to the login is not valid") from None
    except smtplib.SMTPException as error:
        raise NotSent(f"{address} does not take the mail: {cause_of(error)}") from None
    except OSError as error:
        raise NotSent(f"{address} does not take the mail: {_first_line(error)}") from error


def _connected(options: MailOptions) -> smtplib.SMTP:
    """A connection to the mail server, encrypted as the options say, with a verified certificate.

    Raises OSError and smtplib.SMTPException, also if the server offers no encryption."""
    trusted = ssl.create_default_context()
    if options.security == "tls":
        return _EncryptedConnection(options.host, options.port, timeout=SECONDS, context=trusted)
    server = _Connection(options.host, options.port, timeout=SECONDS)
    if options.security == "starttls":
        try:
            server.starttls(context=trusted)
        except BaseException:
            server.close()
            raise
    return server


def _leave(server: smtplib.SMTP) -> None:
    """End the session. What was sent is sent, whatever the server says to that."""
    with suppress(OSError, smtplib.SMTPException):
        server.quit()
    server.close()


class _Answer(io.RawIOBase):
    """What a server sends, as long as its answer does not take too long or grow too large."""

    def __init__(self, connection: socket.socket) -> None:
        self._raw = connection.makefile("rb", buffering=0)

    def start(self, seconds: float) -> None:
        """Give the server so many seconds for its next answer."""
        self._deadline, self._bytes_left = time.monotonic() + seconds, MOST_ANSWER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Raises TimeoutError."""
        if self._bytes_left <= 0 or time.monotonic() > self._deadline:
            raise TimeoutError("its answer does not end")
        read = self._raw.readinto(buffer)
        self._bytes_left -= read or 0
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Connection(smtplib.SMTP):
    """A connection to a server whose answers are limited. The library alone would read one without an end."""

    _answer: _Answer
    _is_sending = False

    def getreply(self) -> tuple[int, bytes]:
        """Raises SMTPServerDisconnected, also for what is no answer: the library would make up a code."""
        if self.file is None:
            assert self.sock is not None
            self._answer = _Answer(self.sock)
            self.file = io.BufferedReader(self._answer)
        self._answer.start(SECONDS_OF_A_MAIL if self._is_sending else SECONDS)
        try:
            code, text = super().getreply()
        except smtplib.SMTPResponseException:
            code = 0
        if 200 <= code <= 599:
            return code, text
        self.close()
        raise smtplib.SMTPServerDisconnected("it does not speak SMTP")

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send a mail. A server may look into it for minutes before it answers (RFC 5321, 4.5.3.2.6)."""
        assert self.sock is not None
        self._is_sending = True
        self.sock.settimeout(SECONDS_OF_A_MAIL)
        try:
            return super().data(msg)
        finally:
            self._is_sending = False
            if self.sock is not None:
                self.sock.settimeout(SECONDS)


class _EncryptedConnection(_Connection, smtplib.SMTP_SSL):
    """A connection that is encrypted from the first byte on, and whose answers are limited."""


def _answer_of(url: str, message: Any) -> tuple[int, bytes]:
    """The status and body of a webhook's answer. Raises httpx.HTTPError, httpx.InvalidURL, TimeoutError."""
    deadline, content = time.monotonic() + SECONDS, bytearray()
    headers = {"Accept-Encoding": "identity"}
    with httpx.stream("POST", url, json=message, timeout=SECONDS, headers=headers) as answer:
        for piece in answer.iter_raw():
            content += piece
            if time.monotonic() > deadline or len(content) > MOST_ANSWER_BYTES:
                raise TimeoutError
        return answer.status_code, bytes(content)


def _code_in(content: bytes) -> int | None:
    """The code in a service's answer; None: the answer has none. Its words, which may be anything, are not
    shown."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    code = body.get("errcode", body.get("code")) if isinstance(body, dict) else None
    return code if isinstance(code, int) else None


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode(errors="ignore") + "…"
