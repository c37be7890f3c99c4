"""The check of a strict platform: refuses parameters and relations that the interface does not list."""

from simulator.http.routing import Route
from simulator.messages import Problem, Request


def check_listed(route: Route, request: Request, status: int) -> None:
    """Refuse a GET with parameters or relations that the interface does not list for the path."""
    if route.parameters is None or request.method != "GET":
        return
    unknown = sorted(request.query.keys() - route.parameters)
    if unknown:
        raise Problem(status, f"unknown parameters: {', '.join(unknown)}")
    strangers = {*request.names("expand")} - route.relations if route.relations else set()
    if strangers:
        raise Problem(status, f"expand: unknown relations {', '.join(sorted(strangers))}")
