"""The platform's endpoints, a module a part of the specification; a new part is a module and a line here."""

from simulator.routes import assessments, base_data, classes, schools, tokens
from simulator.routing import Route

ROUTES: tuple[Route, ...] = (
    *tokens.ROUTES,
    *schools.ROUTES,
    *base_data.ROUTES,
    *classes.ROUTES,
    *assessments.ROUTES,
)
