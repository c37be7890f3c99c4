"""How far an answer without rows is believed.

A platform whose database is away, whose cache is cold or whose replica lags may also answer with status 200
and no rows. So such an answer counts only once further requests, with other parameters, agree.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.http.errors import Refused

T = TypeVar("T")


async def believed(
    capabilities: Capabilities,
    ask: Callable[[int], Awaitable[T]],
    is_empty: Callable[[T], bool],
    *,
    grave: Callable[[T], bool] = lambda _: True,
    varies: tuple[str, str] | None = None,
) -> T:
    """The first answer that has something; one that has nothing where all that are needed agree.

    ask: sends the request, and takes how often it was sent before, so that it can vary a parameter each time;
    where the varied request is refused, it is sent as at first. grave: of an empty answer, whether much
    depends on it. varies: the path, as the registry has it, and the parameter that is varied: once rejected,
    it is not varied again. Raises what `ask` does."""
    answer, asked = await ask(0), 0
    while is_empty(answer) and asked < capabilities.doubt.needed(grave=grave(answer)):
        asked += 1
        try:
            answer = await ask(0 if varies is not None and capabilities.rejects(*varies) else asked)
        except Refused:
            answer = await ask(0)
            if varies is not None:
                capabilities.reject(*varies)
    if asked and not is_empty(answer):
        capabilities.doubt.contradict()
    return answer


def asked_anew(params: Mapping[str, str | int], page: str, before: int) -> dict[str, str | int]:
    """The parameters of a request that is not paged and was sent `before` times: the number of a page makes
    it another question for what stands in between. page: the name of that parameter."""
    return {**params, page: before} if before else {**params}
