"""Where datasets and reports are: their paths are written with /v3, while the token's is under /api/v3."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.http.errors import CampusError, NotFound

T = TypeVar("T")

# The interface does not show which of them it is.
PREFIXES = ("/v3", "/api/v3")


async def first_answer(
    capabilities: Capabilities, ask: Callable[[str], Awaitable[T]], is_empty: Callable[[T], bool]
) -> tuple[str, T] | None:
    """The prefix under which the platform answers `ask`, and the answer; None where both answer 404.

    The other prefix may answer anything, such as a web page or an empty list: an empty answer counts only
    where no prefix has a fuller one. Where there is none at all, the first error that is no 404 is raised."""
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
