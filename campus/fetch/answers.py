"""Which answer of the platform counts: whether an empty one is confirmed, which parameter is rejected, and
under which prefix datasets and reports answer.

A platform whose database is away, whose cache is cold or whose replica lags may answer with status 200 and no
rows. So an empty answer counts only once further requests, with varied parameters, are answered the same.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.fetch.reader import Readings
from campus.http.errors import CampusError, Forbidden, NotFound, Refused

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


def unless_rejected(
    capabilities: Capabilities,
    path: str,
    parameter: Mapping[str, str],
    ask: Callable[[Mapping[str, str]], Readings[T]],
) -> Readings[T]:
    """The answer to a request with a parameter, or without the parameter where the platform rejects it.

    path: as the registry has it. ask: yields the request with this parameter, or with none. Raises what `ask`
    does without the parameter."""
    [name] = parameter
    if capabilities.rejects(path, name):
        return (yield from ask({}))
    try:
        return (yield from ask(parameter))
    except (Refused, Forbidden):
        # Where the request without the parameter is refused as well, the parameter is not to blame.
        answer = yield from ask({})
        capabilities.reject(path, name)
        return answer


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
