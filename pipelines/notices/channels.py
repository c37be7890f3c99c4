"""Ways of sending a message: a webhook in one of four forms, and mail.

The forms are those of the services' own documentation: WeCom and DingTalk take `msgtype` and answer with
`errcode`, Feishu takes `msg_type` and answers with `code`; 0 is well, and all answer with status 200. The
generic form is for anything else: any 2xx is well."""

import smtplib
import ssl
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import httpx

from pipelines.notices.notice import Notice
from pipelines.options import Form, MailOptions

SECONDS = 15.0
#: WeCom refuses longer texts; it counts bytes.
MOST_BYTES = 2000

FORMS: Mapping[Form, Callable[[Notice], dict[str, Any]]] = {
    "generic": lambda notice: {"title": notice.title, "lines": list(notice.lines)},
    "wecom": lambda notice: {"msgtype": "text", "text": {"content": _cut(notice.text)}},
    "dingtalk": lambda notice: {"msgtype": "text", "text": {"content": _cut(notice.text)}},
    "feishu": lambda notice: {"msg_type": "text", "content": {"text": _cut(notice.text)}},
}


class NotSent(Exception):
    """A message could not be sent, and why; the address is named by its host alone, as the rest is secret."""


def post(url: str, form: Form, notice: Notice) -> None:
    """Send a message to a webhook. Raises NotSent."""
    host = urlsplit(url).hostname
    try:
        answer = httpx.post(url, json=FORMS[form](notice), timeout=SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotSent(f"the webhook at {host} cannot be reached ({type(error).__name__})") from error
    if not answer.is_success:
        raise NotSent(f"the webhook at {host} answers with status {answer.status_code}")
    said = _said(answer) if form != "generic" else {}
    code = said.get("errcode", said.get("code", 0))
    if code != 0:
        words = said.get("errmsg") or said.get("msg") or "no reason"
        raise NotSent(f"the webhook at {host} refuses the message: {code}, {words}. Is its form {form}?")


def mail(options: MailOptions, password: str | None, notice: Notice) -> None:
    """Send a message as mail. Raises NotSent."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = notice.title, options.sender, ", ".join(options.to)
    message.set_content("\n\n".join(notice.lines))
    try:
        with _connected(options) as server:
            if options.user:
                server.login(options.user, password or "")
            server.send_message(message)
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
        raise NotSent(
            f"{options.host}:{options.port} does not take the mail: {_first_line(error)}"
        ) from error


def _connected(options: MailOptions) -> smtplib.SMTP:
    """A connection to the mail server, encrypted as the options say, with its certificate verified.

    Raises OSError and smtplib.SMTPException, also where the server offers no encryption."""
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


def _said(answer: httpx.Response) -> dict[str, Any]:
    try:
        said = answer.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST_BYTES else data[:MOST_BYTES].decode(errors="ignore") + "…"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
