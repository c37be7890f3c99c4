"""Routes, and the router that finds the route of a request."""

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
    """The possible scopes of a v1 path, which the specification leaves open."""

    plain: str
    twin: tuple[str, ...] = ()  # the scopes of the same data in v3
    own: str = ""  # a name outside the specification

    def alternatives(self, reading: str, *, writes: str = "reading") -> tuple[str, ...]:
        """The scopes of the path on this platform, any of which suffices. `writes`: the reading for
        writes."""
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
    """A path, its scopes and its handler. {name} in the path stands for a segment."""

    method: str
    path: str
    handler: Handler
    scopes: tuple[str, ...] = ()  # any of them suffices
    v1: V1Scope | None = None  # of a path of v1
    anonymous: bool = False
    needs_school: bool = True
    disturb: Disturb | None = None  # changes the list while a client pages
    parameters: frozenset[str] | None = None  # the parameters in the interface; None: any
    relations: frozenset[str] = frozenset()  # the names for `expand`; empty: any name


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._plain = {(route.method, route.path): route for route in routes if "{" not in route.path}
        self._patterns = [(_pattern(route.path), route) for route in routes if "{" in route.path]

    def find(self, request: Request) -> Route:
        """The route of a request; sets the request's path parameters. 404 or 405 if none matches."""
        route = self._plain.get((request.method, request.path))
        if route:
            return route
        other_method = any(path == request.path for _, path in self._plain)
        for pattern, candidate in self._patterns:
            match = pattern.fullmatch(request.path)
            if match and candidate.method == request.method:
                request.params = match.groupdict()
                return candidate
            other_method = other_method or match is not None
        raise (
            Problem(405, "method not allowed")
            if other_method
            else Problem(404, f"no such path: {request.path}")
        )


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
