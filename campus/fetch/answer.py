"""Fetching one answer: request, decode, and request again where the body is torn."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from campus.http.client import Client
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.http.events import Tally
from campus.http.pagination import Pagination

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A decoded body, and the pagination headers that came with it (None: none)."""

    value: T
    pagination: Pagination | None


async def fetch(
    client: Client,
    path: str,
    params: Mapping[str, str | int],
    *,
    school_id: int | None,
    scope: tuple[str, ...] = (),
    decode: Callable[[bytes], T],
    executor: Executor | None = None,
    tally: Tally | None = None,
    anonymous: bool = False,
) -> Answer[T]:
    """GET `path` and decode the body.

    decode: raises TornBody for a body to request again, and UnexpectedAnswer for one that would come again.
    executor: where to decode large bodies; None: in the event loop, which waits. The other arguments and
    errors are those of `Client.get`.
    """
    exchange = client.get(path, params, school_id=school_id, scope=scope, tally=tally, anonymous=anonymous)
    while True:
        response = await exchange.response()
        try:
            if executor is None:
                value = decode(response.body)
            else:
                value = await asyncio.get_running_loop().run_in_executor(executor, decode, response.body)
        except TornBody as torn:
            await exchange.retry(f"a torn or invalid body ({torn})")
        except UnexpectedAnswer as error:
            raise UnexpectedAnswer(f"{exchange.request}: {error.message}", error.advice) from None
        else:
            return Answer(value, Pagination.of(response.headers))
