"""JSON as it was sent: numbers keep their spelling, so that 1.10 stays 1.10 and no integer is too great."""

import json
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


def compact(value: Any) -> str:
    """A value of `parse` as JSON without whitespace, keys sorted in objects of any depth, and characters
    beyond ASCII as they are."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return f"{{{','.join(f'{compact(name)}:{compact(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(compact, value))}]"
    return {None: "null", True: "true", False: "false"}[value]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
