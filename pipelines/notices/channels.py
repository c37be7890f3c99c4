"""Sends a message to a webhook in one of four forms, or by mail.

The forms follow the services' own documentation. WeCom and DingTalk take `msgtype` and answer with `errcode`;
Feishu takes `msg_type` and answers with `code`. All three answer with status 200, and code 0 means success.
The generic form serves any other webhook: any 2xx means success."""

import io
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import httpx

from pipelines.notices.notice import Notice
from pipelines.settings.options import Form, MailOptions

#: The time for one answer of a service.
SECONDS = 15.0
#: The most bytes of one answer of a mail server.
LONGEST_ANSWER = 65_536
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
        answer = httpx.post(url, json=FORMS[form](notice), timeout=SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotSent(f"the webhook at {host} cannot be reached ({type(error).__name__})") from error
    if not answer.is_success:
        raise NotSent(f"the webhook at {host} answers with status {answer.status_code}")
    body = _json_object(answer) if form != "generic" else {}
    code = body.get("errcode", body.get("code", 0))
    if code != 0:
        reason = body.get("errmsg") or body.get("msg") or "no reason"
        raise NotSent(f"the webhook at {host} refuses the message: {code}, {reason}. Is its form {form}?")


def mail(options: MailOptions, password: str | None, notice: Notice) -> None:
    """Send a message as mail. Raises NotSent."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = notice.title, options.sender, ", ".join(options.to)
    message.set_content("\n\n".join(notice.lines))
    with session(options, password) as server:
        server.send_message(message)


@contextmanager
def session(options: MailOptions, password: str | None) -> Iterator[smtplib.SMTP]:
    """A connection to the mail server with a login. Raises NotSent for any failure while it is open."""
    try:
        with ExitStack() as stack:
            server = _connected(options)
            stack.callback(_leave, server)
            if options.user:
                server.login(options.user, password or "")
            yield server
    except smtplib.SMTPNotSupportedError as error:
        raise NotSent(
            f"{options.host}:{options.port} offers no encryption (STARTTLS), or no login: nothing was sent. "
            f"Ask its operator, or set security: tls and its port in notify.mail of campus.yaml"
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise NotSent(
            f"the certificate of {options.host}:{options.port} does not hold ({error.verify_message}): "
            f"nothing was sent. An authority of your own is named in the environment, by SSL_CERT_FILE"
        ) from error
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(f"{options.host}:{options.port} does not take the mail: {_cause(error)}") from None


def code_of(error: smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused) -> int:
    """The server's code. Its text is never shown: it may quote an address, or the password of the login."""
    if isinstance(error, smtplib.SMTPResponseException):
        return error.smtp_code
    return next(iter(error.recipients.values()))[0]


def _cause(error: OSError | smtplib.SMTPException) -> str:
    """Why a mail was not taken, without a word of the server."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        code = code_of(error)
        return f"it refuses the login ({code}): check notify.mail.user and CAMPUS_NOTIFY_PASSWORD"
    if isinstance(error, (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused)):
        return f"it answers with code {code_of(error)}"
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class _Answer(io.RawIOBase):
    """What a server sends, as long as its answer does not take too long or grow too large."""

    def __init__(self, connection: socket.socket) -> None:
        self._raw = connection.makefile("rb", buffering=0)
        self.begin()

    def begin(self) -> None:
        """Another answer begins."""
        self._until, self._left = time.monotonic() + SECONDS, LONGEST_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Raises TimeoutError."""
        if self._left <= 0 or time.monotonic() > self._until:
            raise TimeoutError("its answer does not end")
        read = self._raw.readinto(buffer)
        self._left -= read or 0
        return read


class _LimitedAnswers(smtplib.SMTP):
    """A connection to a server whose answers are limited. The library alone would read one without an end."""

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None:
            assert self.sock is not None
            self._answer = _Answer(self.sock)
            self.file = io.BufferedReader(self._answer)
        self._answer.begin()
        return super().getreply()


class _Encrypted(_LimitedAnswers, smtplib.SMTP_SSL):
    """The same, encrypted from the first byte on."""


def _connected(options: MailOptions) -> smtplib.SMTP:
    """A connection to the mail server, encrypted as the options say, with a verified certificate.

    Raises OSError and smtplib.SMTPException, also if the server offers no encryption."""
    trusted = ssl.create_default_context()
    if options.security == "tls":
        return _Encrypted(options.host, options.port, timeout=SECONDS, context=trusted)
    server = _LimitedAnswers(options.host, options.port, timeout=SECONDS)
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


def _json_object(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object in an answer; empty: the answer has none."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode(errors="ignore") + "…"
