"""JSON as it was sent: numbers keep their spelling, so that 1.10 stays 1.10 and no integer is too great."""

import json
from collections.abc import Callable
from typing import Any


class NotJson(ValueError):
    """Bytes that are no JSON text."""


class Number(str):
    """A number, spelled as it was sent."""

    __slots__ = ()


def parse(body: bytes) -> Any:
    """The value of a JSON text in UTF-8; its numbers are `Number`. Raises NotJson."""
    try:
        return json.loads(body.decode("utf-8"), parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise NotJson("the body is no JSON") from error


def compact(value: Any, *, escaped_slashes: bool = False) -> str:
    """A value of `parse` as JSON without whitespace, keys sorted in objects of any depth, and characters
    beyond ASCII as they are. `escaped_slashes`: `/` is written `\\/`."""
    return _written(value, _escaped if escaped_slashes else _plain)


def _written(value: Any, text: Callable[[str], str]) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        members = (f"{text(name)}:{_written(value[name], text)}" for name in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(_written(each, text) for each in value)}]"
    if isinstance(value, str):
        return text(value)
    return {None: "null", True: "true", False: "false"}[value]


def _plain(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    return _plain(text).replace("/", "\\/")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
