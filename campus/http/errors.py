"""Errors of requests to the platform, worded for the person who can solve them: the request, the platform's
own words, and what to do."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote as percent_encode

from campus.http.request import Request
from campus.identity_numbers import without_identity_numbers

#: The message and the advice of JSON that no decoder follows to its end.
TOO_DEEP, ASK_OPERATOR = "the JSON is nested too deeply to be read.", "Ask the platform's operator."
LONGEST_QUOTE = 200
PAGE = "an HTML page"
_TEXT_KEYS = ("message", "error_description", "error", "errors", "detail", "title")
_TITLE = re.compile(r"(?is)<title[^>]*>([^<]*)")
_PERMISSION = re.compile(r"(?i)scope|permission|privilege|forbidden|权限|授权|\\u6743\\u9650|\\u6388\\u6743")
#: A scope that is not for reading, such as user.write.
_WRITING_SCOPE = re.compile(r"\b[a-z_]+\.(?:write|manage|admin|create|update|edit|delete)[a-z_]*\b")
_BEARER = re.compile(r"(?i)(bearer\s+|(?:access_token|client_secret)\W{1,5})[^\s\"'&,}]+")


class CampusError(Exception):
    """A request that failed for good: what happened (`message`) and what to do about it (`advice`).

    status, quote: of a refusal, and the platform's own words in it; 0 and empty where no answer came."""

    def __init__(self, message: str, advice: str = "", *, status: int = 0, quote: str = "") -> None:
        super().__init__(message, advice)
        self.message = message
        self.advice = advice
        self.status = status
        self.quote = quote

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class Transient(CampusError):
    """The platform was out of reach or overloaded for longer than a run waits; a later run may succeed."""


class Unauthorized(CampusError):
    """The platform does not accept the credentials, or no token that it issues for them."""


class Forbidden(CampusError):
    """The credentials are right, but do not cover this resource or this school."""


class NotFound(CampusError):
    """There is nothing at this path (404), which some resources use for a normal "none"."""


class Refused(CampusError):
    """The platform rejects this request as it stands (any other 4xx, or a redirect)."""


class Unconfirmed(CampusError):
    """A write that must not be repeated got no answer: the platform may have carried it out or not."""


class UnexpectedAnswer(CampusError):
    """A valid answer of a shape that the interface does not describe; a retry would not help."""


class PlatformUnavailable(Exception):
    """The platform is out of reach or accepts no credentials of ours, as a whole or for one school.

    Not a CampusError, so no slice or class takes it for a failure of its own: it ends the run, or the part of
    one school. school_id: the school; None: the whole platform. outage: it may end by itself."""

    def __init__(self, message: str, *, school_id: int | None = None, outage: bool = False) -> None:
        super().__init__(message)
        self.school_id = school_id
        self.outage = outage

    def concerns(self, school_id: int) -> bool:
        """Whether this school cannot be read any more."""
        return self.school_id in (None, school_id)


class TornBody(Exception):
    """A decoder raises it for a body that is cut off or no JSON; the client retries."""


def quoted(body: bytes, secrets: Iterable[str]) -> str:
    """The platform's own words from an error body, short, on one line, without secrets; "" if none."""
    sent = body.decode("utf-8", "replace").strip()
    try:
        text = "; ".join(_once(_texts(json.loads(sent))))
    except (ValueError, RecursionError):
        text = _title(sent) if sent.startswith("<") else sent
    text = without_identity_numbers(" ".join(redacted(text, secrets).split()))
    text = "".join(letter for letter in text if letter.isprintable())
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets, however escaped, and without anything that looks like a token."""
    for secret in filter(None, secrets):
        for form in (secret, json.dumps(secret)[1:-1], percent_encode(secret, safe="")):
            text = text.replace(form, "***")
    return _BEARER.sub(r"\1***", text)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON error body: those under the usual keys of an object, all of a list."""
    if isinstance(value, dict):
        named = [value[key] for key in _TEXT_KEYS if value.get(key)]
        for member in named or value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
    elif value not in (None, ""):
        yield str(value)


def _once(texts: Iterable[str]) -> list[str]:
    """The texts without those that another text contains."""
    unique = list(dict.fromkeys(texts))
    return [text for text in unique if not any(text in longer for longer in unique if longer is not text)]


def _title(page: str) -> str:
    title = _TITLE.search(page)
    return f"{PAGE}, {title[1]}" if title else PAGE


def refusal(request: Request, status: int, quote: str, scope: str = "") -> CampusError:
    """The error for a final answer that is not a success.

    scope: in words, the scope that the resource needs; of a write, the further scopes of its token."""
    kind, advice = _kind_of_refusal(request, status, quote, scope)
    return kind(f"{request}: {answered(status, quote)}", advice, status=status, quote=quote)


def _kind_of_refusal(request: Request, status: int, quote: str, scope: str) -> tuple[type[CampusError], str]:
    if status == 401:
        granted = f", and whether the platform grants {scope}" if scope else ""
        advice = "No token of ours is accepted: check CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET"
        return Unauthorized, f"{advice}{granted}."
    if status == 403 and request.writes:
        return Forbidden, writing_advice(request.school_id, quote, scope)
    if status == 403:
        return Forbidden, permission_advice(request.school_id, scope)
    if status == 404:
        if quote and not quote.startswith(PAGE):
            return NotFound, "Check the id in the path."
        return NotFound, "Check the id in the path, and that CAMPUS_BASE_URL ends before /api."
    if 300 <= status < 400:
        return Refused, "Redirects are not followed: set CAMPUS_BASE_URL to the final address."
    if status == 405:
        return Refused, "Another service seems to answer here: check CAMPUS_BASE_URL."
    return Refused, "The platform rejects the request as it stands: a retry will not help."


def permission_advice(school_id: int | None, scope: str) -> str:
    """The advice where credentials are right but do not suffice."""
    needs = [f"grants it {scope}"] if scope else []
    needs += [f"opens school {school_id} to it (see CAMPUS_SCHOOL_IDS)"] if school_id is not None else []
    return (
        f"Ask who issued CAMPUS_CLIENT_ID whether the platform {' and '.join(needs) or 'lets it read this'}; "
        f"a scope by another name belongs in platform.extra_scopes of campus.yaml."
    )


def writing_advice(school_id: int | None, quote: str, scope: str) -> str:
    """The advice where credentials may not write. The interface names no scope; the platform's words may."""
    named = ", ".join(dict.fromkeys(_WRITING_SCOPE.findall(quote)))
    if named:
        advice = f"Writing needs the scope {named}: name it in writes.scopes of campus.yaml"
    else:
        advice = (
            "The scopes for reading do not let it write: ask the platform's operator for the scope that "
            "does, and name it in writes.scopes of campus.yaml"
        )
    sent = f" It was sent with {scope}." if scope else ""
    return f"{advice}.{sent} Ask too whether CAMPUS_CLIENT_ID may write in school {school_id}."


def speaks_of_permission(body: bytes) -> bool:
    """Whether a refusal's own words name a scope or a permission."""
    return _PERMISSION.search(body.decode("utf-8", "replace")) is not None


def answered(status: int, quote: str) -> str:
    """A status with the platform's own words, as the end of a sentence."""
    return f"status {status}, the platform says: {quote.rstrip('.')}." if quote else f"status {status}."
