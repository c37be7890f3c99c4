"""Requests by the real client, decoded as plain JSON."""

from collections.abc import Callable
from typing import Any

import msgspec

from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import TornBody

PATH = "/api/v3/klass/classes"


def parse(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise TornBody(str(error)) from None


async def get(
    client: Client,
    path: str = PATH,
    school_id: int | None = 101,
    decode: Callable[[bytes], Any] = parse,
    scope: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    return (await Reader(client, school_id, scope, **options).fetch(path, {}, decode)).value
