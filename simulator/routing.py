"""How the handler of a request is found."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from simulator.http import Problem, Request, Response
from simulator.platform import Platform

Handler = Callable[[Platform, Request], Response]
Disturb = Callable[[Platform, Request, str, Random], None]


@dataclass(frozen=True)
class Route:
    """A path, who may ask for it, and what answers. {name} in the path stands for one segment."""

    method: str
    path: str
    handler: Handler
    scopes: tuple[str, ...] = ()  # one of these opens it
    v1_scope: str = ""  # what opens a path of v1, where this platform asks for a scope of its own
    anonymous: bool = False
    needs_school: bool = True
    disturb: Disturb | None = None  # moves rows of its list while somebody pages through


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
