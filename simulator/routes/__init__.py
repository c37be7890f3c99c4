"""The platform's endpoints, a module a part of the specification; a new part is a module and a line here."""

from simulator.routes import (
    assessments,
    base_data,
    classes,
    schools,
    tokens,
    v1_attendance,
    v1_classes,
    v1_devices,
    v1_timetable,
    v1_users,
)
from simulator.routing import Route

ROUTES: tuple[Route, ...] = (
    *tokens.ROUTES,
    *schools.ROUTES,
    *base_data.ROUTES,
    *classes.ROUTES,
    *assessments.ROUTES,
    *v1_classes.ROUTES,
    *v1_users.ROUTES,
    *v1_attendance.ROUTES,
    *v1_timetable.ROUTES,
    *v1_devices.ROUTES,
)
