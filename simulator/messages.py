"""Requests and responses as the platform's handlers see them: plain values, no I/O."""

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
    """An answer other than success; `text` says what the caller can do. `errors`: where the interface names
    a list of them."""

    def __init__(self, status: int, text: str, *, errors: list[str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.errors = errors


@dataclass(slots=True)
class Request:
    """A request; `school_id` and `params` are filled in on the way to the handler."""

    method: str
    path: str
    target: str  # path and query as they came
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: bytes = b""
    school_id: int = 0
    params: Mapping[str, str] = field(default_factory=dict)

    def integer(self, name: str, default: int | None = None, *, least: int | None = None) -> int | None:
        """An integer of the query; 422 when it is none or too small."""
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
    """A success in what this platform puts around an answer."""
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
    """A problem with status 200, whose code and words are in the body."""
    return json_response({"code": problem.status, "message": problem.text, "data": None}, 200, headers)


def problem_response(problem: Problem, shape: str, headers: Headers | None = None) -> Response:
    """A problem in the shape that this platform gives its errors."""
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
    """Text as an integer of 64 bits; 422 when it is none."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Problem(422, f"{name} must be an integer, not {text[:40]!r}")
    return int(text)


def parse_integers(name: str, text: str) -> list[int]:
    """Comma-separated integers; 422 when one is none."""
    return [parse_integer(name, part.strip()) for part in text.split(",")]


def parse_flag(name: str, text: str) -> bool:
    """0, 1, true or false; 422 for anything else."""
    if text not in ("0", "1", "true", "false"):
        raise Problem(422, f"{name} must be 0, 1, true or false, not {text[:40]!r}")
    return text in ("1", "true")


def parse_moment(name: str, text: str) -> datetime:
    """A moment of the query; 422 when it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Problem(422, f"{name} must be YYYY-MM-DD HH:MM:SS, not {text[:40]!r}") from error


def decimal_of(value: object) -> Decimal | None:
    """The number that a string carries, if it does."""
    try:
        found = Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None
