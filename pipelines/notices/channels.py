"""Sends a message to a webhook in one of four forms, or by mail.

The forms follow the services' own documentation. WeCom and DingTalk take `msgtype` and answer with `errcode`;
Feishu takes `msg_type` and answers with `code`. All three answer with status 200, and code 0 means success.
The generic form serves any other webhook: any 2xx means success."""

import smtplib
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import httpx

from pipelines.notices.notice import Notice
from pipelines.settings.options import Form, MailOptions

SECONDS = 15.0
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
        with _connected(options) as server:
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
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise NotSent(f"{options.host}:{options.port} does not take the mail: {first_line}") from error


def _connected(options: MailOptions) -> smtplib.SMTP:
    """A connection to the mail server, encrypted as the options say, with a verified certificate.

    Raises OSError and smtplib.SMTPException, also if the server offers no encryption."""
    trusted = ssl.create_default_context()
    if options.security == "tls":
        return smtplib.SMTP_SSL(options.host, options.port, timeout=SECONDS, context=trusted)
    server = smtplib.SMTP(options.host, options.port, timeout=SECONDS)
    if options.security == "starttls":
        try:
            server.starttls(context=trusted)
        except BaseException:
            server.close()
            raise
    return server


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
