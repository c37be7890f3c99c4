"""Requests with a parameter that a platform may reject."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.fetch.reader import Readings
from campus.http.errors import Forbidden, Refused

T = TypeVar("T")


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
