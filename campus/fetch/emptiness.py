"""Confirmation of empty answers.

A platform whose database is away, whose cache is cold or whose replica lags may answer with status 200 and no
rows. So an empty answer counts only once further requests, with varied parameters, are answered the same.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.fetch.reader import Readings
from campus.http.errors import Refused

T = TypeVar("T")


def confirmed(
    capabilities: Capabilities,
    ask: Callable[[int], Readings[T]],
    is_empty: Callable[[T], bool],
    *,
    is_unusual: Callable[[T], bool] = lambda _: True,
    varies: tuple[str, str] | None = None,
) -> Readings[T]:
    """The first answer that is not empty, or the last one where enough empty answers agree.

    ask: yields the request and takes the number of its repeats so far, so that each repeat can vary a
    parameter. Where a varied request is refused, the request is sent unvaried. is_unusual: whether an empty
    answer is unusual here. varies: the path, as the registry has it, and the varied parameter; once rejected,
    the parameter is not varied again. Raises the errors of the requests."""
    answer, repeats = (yield from ask(0)), 0
    while is_empty(answer) and repeats < capabilities.confirmation.needed(is_unusual=is_unusual(answer)):
        repeats += 1
        try:
            is_varied = varies is None or not capabilities.rejects(*varies)
            answer = yield from ask(repeats if is_varied else 0)
        except Refused:
            answer = yield from ask(0)
            if varies is not None:
                capabilities.reject(*varies)
    if repeats and not is_empty(answer):
        capabilities.confirmation.contradict()
    return answer


def repeated_params(params: Mapping[str, str | int], page_name: str, repeats: int) -> dict[str, str | int]:
    """The parameters of a request without pages that is repeated: each repeat names another page, so that no
    cache in between answers it."""
    return {**params, page_name: repeats} if repeats else {**params}
