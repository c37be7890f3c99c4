"""The writing paths of v1: people and their fields, attendance, cards and displays."""

from simulator.http.routing import Route
from simulator.readings import Readings
from simulator.resources.v1.writing import attendance, bindings, fields, people, swipes


def routes(readings: Readings) -> tuple[Route, ...]:
    """All paths that write. The reading `user_change` decides the method that changes a user."""
    return (
        *people.routes(readings),
        *fields.ROUTES,
        *attendance.ROUTES,
        *swipes.ROUTES,
        *bindings.ROUTES,
    )
