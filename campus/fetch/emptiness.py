"""Confirmation of empty answers.

A platform whose database is away, whose cache is cold or whose replica lags may answer with status 200 and no
rows. So an empty answer counts only once further requests, with varied parameters, are answered the same.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.http.errors import Refused

T = TypeVar("T")


async def confirmed(
    capabilities: Capabilities,
    ask: Callable[[int], Awaitable[T]],
    is_empty: Callable[[T], bool],
    *,
    is_unusual: Callable[[T], bool] = lambda _: True,
    varies: tuple[str, str] | None = None,
) -> T:
    """The first answer that is not empty, or the last one where enough empty answers agree.

    ask: sends the request and takes the number of its repeats so far, so that each repeat can vary a
    parameter. Where a varied request is refused, the request is sent unvaried. is_unusual: whether an empty
    answer is unusual here. varies: the path, as the registry has it, and the varied parameter; once rejected,
    the parameter is not varied again. Raises what `ask` raises."""
    answer, repeats = await ask(0), 0
    while is_empty(answer) and repeats < capabilities.confirmation.needed(is_unusual=is_unusual(answer)):
        repeats += 1
        try:
            answer = await ask(0 if varies is not None and capabilities.rejects(*varies) else repeats)
        except Refused:
            answer = await ask(0)
            if varies is not None:
                capabilities.reject(*varies)
    if repeats and not is_empty(answer):
        capabilities.confirmation.contradict()
    return answer


def repeated_params(params: Mapping[str, str | int], page_name: str, repeats: int) -> dict[str, str | int]:
    """The parameters of a request without pages that is repeated: each repeat names another page, so that no
    cache in between answers it."""
    return {**params, page_name: repeats} if repeats else {**params}
