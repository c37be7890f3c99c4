"""Requests by the real client, decoded as plain JSON."""

from typing import Any

import msgspec

from campus.fetch.answer import fetch
from campus.http.client import Client
from campus.http.errors import TornBody

PATH = "/api/v3/klass/classes"


def parse(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise TornBody(str(error)) from None


async def get(client: Client, path: str = PATH, **options: Any) -> Any:
    return (await fetch(client, path, {}, **{"school_id": 101, "decode": parse, **options})).value
