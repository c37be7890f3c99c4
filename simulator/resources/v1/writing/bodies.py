"""The bodies of writes: JSON, or the fields of a form."""

from typing import Any
from urllib.parse import parse_qsl

import msgspec

from simulator.http.platform import Platform
from simulator.messages import Problem, Request, Values

FORM = "application/x-www-form-urlencoded"


def _kind(request: Request) -> str:
    return request.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()


def json_of(request: Request) -> Any:
    """The JSON of the body, or 422."""
    if _kind(request) != "application/json":
        raise Problem(415, "the body must be application/json")
    try:
        return msgspec.json.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(422, f"the body is no JSON: {error}") from error


def object_of(request: Request) -> Values:
    """The JSON object of the body, or 422."""
    body = json_of(request)
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    return body


def form_of(platform: Platform, request: Request) -> dict[str, str]:
    """The fields of a form. By the reading, JSON is accepted too, or instead."""
    reading, kind = platform.readings.form_bodies, _kind(request)
    if kind == FORM and reading != "json":
        return dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    if kind == "application/json" and reading != "form":
        return {name: str(value) for name, value in object_of(request).items()}
    raise Problem(415, f"the body must be {'JSON' if reading == 'json' else FORM}")
