"""The platform's resources, and its other paths."""

from simulator.http.platform import Platform
from simulator.http.resource import Resource
from simulator.http.routing import Route
from simulator.readings import Readings
from simulator.resources import tokens
from simulator.resources.tables import datasets, reports
from simulator.resources.v1 import admin_classes as v1_admin_classes
from simulator.resources.v1 import attendance, devices, schools, timetable, transcripts, users, writing
from simulator.resources.v1 import classes as v1_classes
from simulator.resources.v1 import semesters as v1_semesters
from simulator.resources.v3 import admin_classes, assessments, base_data, classes
from simulator.settings import Settings

RESOURCES: dict[str, Resource] = {
    resource.name: resource
    for resource in (
        *schools.RESOURCES,
        *base_data.RESOURCES,
        *admin_classes.RESOURCES,
        *classes.RESOURCES,
        *assessments.RESOURCES,
        *v1_semesters.RESOURCES,
        *users.RESOURCES,
        *v1_admin_classes.RESOURCES,
        *v1_classes.RESOURCES,
        *devices.RESOURCES,
        *attendance.RESOURCES,
    )
}
SOURCES = {name: resource.source for name, resource in RESOURCES.items()}
FORMS = {name: resource.form for name, resource in RESOURCES.items()}


def routes(readings: Readings) -> tuple[Route, ...]:
    """All paths of this platform. The reading `v3_prefix` decides the prefix of datasets and reports."""
    return (
        *tokens.ROUTES,
        *(route for resource in RESOURCES.values() for route in resource.paths),
        *timetable.ROUTES,
        *transcripts.ROUTES,
        *writing.routes(readings),
        *datasets.routes(readings),
        *reports.routes(readings),
    )


def scopes(readings: Readings) -> frozenset[str]:
    """All scopes of this platform's paths, by its readings."""
    opening: set[str] = set()
    for route in routes(readings):
        opening.update(route.scopes)
        if route.v1:
            writes = readings.write_scopes if route.method != "GET" else "reading"
            opening.update((route.v1.plain, *route.v1.alternatives(readings.v1_scopes, writes=writes)))
    return frozenset(opening)


def platform(settings: Settings) -> Platform:
    """A platform of these resources."""
    return Platform(settings, SOURCES, FORMS, scopes(settings.readings))
