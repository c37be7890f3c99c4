"""Requests and responses of the platform's handlers, without I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

Headers = list[tuple[bytes, bytes]]
Values = dict[str, Any]
JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")


class Problem(Exception):
    """An error answer. `text` tells the caller what to do. `errors`: the list of errors, where the interface
    has one."""

    def __init__(self, status: int, text: str, *, errors: list[str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.errors = errors


@dataclass(slots=True)
class Request:
    """A request. The application sets `school_id` and the router sets `params`."""

    method: str
    path: str
    target: str  # path and query, undecoded
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: bytes = b""
    school_id: int = 0
    params: Mapping[str, str] = field(default_factory=dict)

    def integer(self, name: str, default: int | None = None, *, least: int | None = None) -> int | None:
        """An integer of the query; 422 if the text is no integer or too small."""
        text = self.query.get(name)
        if text is None:
            return default
        value = parse_integer(name, text)
        if least is not None and value < least:
            raise Problem(422, f"{name} must be at least {least}, not {value}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A boolean of the query, written 0, 1, true or false; 422 for anything else."""
        text = self.query.get(name)
        return default if text is None else parse_flag(name, text)

    def names(self, name: str) -> list[str]:
        """A comma-separated list of the query."""
        return [part for part in self.query.get(name, "").split(",") if part]


@dataclass(slots=True, frozen=True)
class Response:
    """A whole answer."""

    status: int
    body: bytes
    headers: Headers


def json_response(value: Any, status: int = 200, headers: Headers | None = None) -> Response:
    """A value as JSON."""
    return Response(status, msgspec.json.encode(value), [JSON_TYPE, *(headers or [])])


def enveloped(response: Response, shape: str) -> Response:
    """A successful answer inside this platform's envelope."""
    if shape == "none" or response.status != 200:
        return response
    content = msgspec.Raw(response.body)
    if shape == "list" and response.body.startswith(b"["):
        around: Values = {
            "list": content,
            "total": len(msgspec.json.decode(response.body, type=list[msgspec.Raw])),
        }
    else:
        around = {"code": 0, "message": "ok", "data": content} if shape == "code" else {"data": content}
    return Response(200, msgspec.json.encode(around), response.headers)


def coded(problem: Problem, headers: Headers | None = None) -> Response:
    """A problem with status 200, and the code and text in the body."""
    return json_response({"code": problem.status, "message": problem.text, "data": None}, 200, headers)


def problem_response(problem: Problem, shape: str, headers: Headers | None = None) -> Response:
    """A problem in this platform's shape of errors."""
    if problem.errors:
        return json_response({"errors": problem.errors}, problem.status, headers)
    if shape == "empty":
        return Response(problem.status, b"", headers or [])
    bodies: dict[str, Any] = {
        "message": {"message": problem.text},
        "error": {"error": {"code": problem.status, "message": problem.text}},
        "errors": {"errors": [problem.text]},
    }
    return json_response(bodies[shape], problem.status, headers)


def parse_integer(name: str, text: str) -> int:
    """Text as an integer of 64 bits, or 422."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Problem(422, f"{name} must be an integer, not {text[:40]!r}")
    return int(text)


def parse_integers(name: str, text: str) -> list[int]:
    """Comma-separated integers, or 422."""
    return [parse_integer(name, part.strip()) for part in text.split(",")]


def parse_flag(name: str, text: str) -> bool:
    """0, 1, true or false; 422 for anything else."""
    if text not in ("0", "1", "true", "false"):
        raise Problem(422, f"{name} must be 0, 1, true or false, not {text[:40]!r}")
    return text in ("1", "true")


def parse_moment(name: str, text: str) -> datetime:
    """A moment of the query, or 422."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Problem(422, f"{name} must be YYYY-MM-DD HH:MM:SS, not {text[:40]!r}") from error


def decimal_of(value: object) -> Decimal | None:
    """The number in a string, if any."""
    try:
        number = Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None
