"""Requests with a parameter that a platform may reject."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from campus.capabilities import Capabilities
from campus.http.errors import Forbidden, Refused

T = TypeVar("T")


async def unless_rejected(
    capabilities: Capabilities,
    path: str,
    parameter: Mapping[str, str],
    ask: Callable[[Mapping[str, str]], Awaitable[T]],
) -> T:
    """The answer to a request with a parameter, or without the parameter where the platform rejects it.

    path: as the registry has it. ask: sends the request with this parameter, or with none. Raises what `ask`
    does without the parameter."""
    [name] = parameter
    if capabilities.rejects(path, name):
        return await ask({})
    try:
        return await ask(parameter)
    except (Refused, Forbidden):
        # Where the request without the parameter is refused as well, the parameter is not to blame.
        answer = await ask({})
        capabilities.reject(path, name)
        return answer
