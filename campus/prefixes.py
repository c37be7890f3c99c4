"""Where datasets and reports are: their paths are written with /v3, while the token's is under /api/v3."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from campus.errors import CampusError, NotFound

T = TypeVar("T")

# Which of them it is, is not shown.
PREFIXES = ("/v3", "/api/v3")


async def first_answer(ask: Callable[[str], Awaitable[T]]) -> tuple[str, T] | None:
    """The prefix under which the platform answers what `ask` asks, and the answer; None where neither has it.

    What stands at the other prefix may answer anything, a web page for one: an error counts only where no
    prefix answers. Then the first that is no 404 is raised."""
    errors: list[CampusError] = []
    for prefix in PREFIXES:
        try:
            return prefix, await ask(prefix)
        except CampusError as error:
            errors.append(error)
    for failure in errors:
        if not isinstance(failure, NotFound):
            raise failure
    return None
