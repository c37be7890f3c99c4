"""Fetching one answer: request and decode it, and retry while the body is torn."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from campus.account import Tally
from campus.http.client import Client
from campus.http.pagination import Pagination
from campus.http.sending.exchange import decoded_response

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
    response, value = await decoded_response(exchange, decode, executor)
    return Answer(value, Pagination.of(response.headers))
