"""The prefix of datasets and reports: the interface writes /v3 for them, and /api/v3 for tokens."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.http.errors import CampusError, NotFound

T = TypeVar("T")

PREFIXES = ("/v3", "/api/v3")


async def first_answer(
    capabilities: Capabilities, ask: Callable[[str], Awaitable[T]], is_empty: Callable[[T], bool]
) -> tuple[str, T] | None:
    """The prefix under which the platform answers `ask`, and the answer; None where both answer 404.

    The wrong prefix may be answered too, with a web page or an empty list: an empty answer counts only where
    no prefix has rows. Without any answer, raises the first error that is no NotFound."""
    errors: list[CampusError] = []
    empty: list[tuple[str, T]] = []
    for prefix in sorted(PREFIXES, key=lambda prefix: prefix != capabilities.prefix):
        try:
            answer = await ask(prefix)
        except CampusError as error:
            errors.append(error)
            continue
        if not is_empty(answer):
            capabilities.prefix = prefix
            return prefix, answer
        empty.append((prefix, answer))
    if empty:
        return empty[0]
    for failure in errors:
        if not isinstance(failure, NotFound):
            raise failure
    return None
