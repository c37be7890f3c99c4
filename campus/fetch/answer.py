"""Fetching one answer: request and decode it, and retry while the body is torn."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from campus.http.client import Client
from campus.http.events import Tally
from campus.http.request import Pagination

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

    decode: raises TornBody for a body that a retry may mend, and UnexpectedAnswer for any other bad body.
    executor: decodes large bodies; None: the event loop does. The other arguments and errors are those of
    `Client.get`.
    """
    exchange = client.get(path, params, school_id=school_id, scope=scope, tally=tally, anonymous=anonymous)
    response, value = await exchange.decoded(decode, executor)
    return Answer(value, Pagination.of(response.headers))
