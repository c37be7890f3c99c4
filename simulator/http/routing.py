"""How the handler of a request is found."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from simulator.http.platform import Platform
from simulator.messages import Problem, Request, Response

Handler = Callable[[Platform, Request], Response]
Disturb = Callable[[Platform, Request, str, Random], None]


@dataclass(frozen=True)
class V1Scope:
    """What opens a path of v1, of which the specification says nothing: platforms ask for one of these."""

    plain: str
    twin: tuple[str, ...] = ()  # what v3 asks for where it has the same
    own: str = ""  # a name that the specification does not have

    def alternatives(self, reading: str, *, writes: str = "reading") -> tuple[str, ...]:
        """The scopes of which one opens the path, as this platform decided. writes: of a path that writes."""
        if writes == "own":
            return (self.own or self.plain,)
        if reading == "none":
            return ()
        if reading == "twin":
            return self.twin or (self.plain,)
        if reading == "own":
            return (self.own or self.plain,)
        return (self.plain,) if reading == "each" else (reading,)


@dataclass(frozen=True)
class Route:
    """A path, who may ask for it, and what answers. {name} in the path stands for one segment."""

    method: str
    path: str
    handler: Handler
    scopes: tuple[str, ...] = ()  # one of these opens it
    v1: V1Scope | None = None  # of a path of v1
    anonymous: bool = False
    needs_school: bool = True
    disturb: Disturb | None = None  # moves rows of its list while somebody pages through
    parameters: frozenset[str] | None = None  # those that the interface lists for it; None: any
    relations: frozenset[str] = frozenset()  # what `expand` may name; none: anything


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._plain = {(route.method, route.path): route for route in routes if "{" not in route.path}
        self._patterns = [(_pattern(route.path), route) for route in routes if "{" in route.path]

    def find(self, request: Request) -> Route:
        """The route, with the path's parameters put into the request; 404 or 405 without one."""
        route = self._plain.get((request.method, request.path))
        if route:
            return route
        other_method = any(path == request.path for _, path in self._plain)
        for pattern, candidate in self._patterns:
            found = pattern.fullmatch(request.path)
            if found and candidate.method == request.method:
                request.params = found.groupdict()
                return candidate
            other_method = other_method or found is not None
        raise (
            Problem(405, "method not allowed")
            if other_method
            else Problem(404, f"no such path: {request.path}")
        )


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
