"""The registries with the tables of datasets and reports, and changes of the tables while a client pages."""

from collections.abc import Sequence
from random import Random

from simulator.datasets.metadata import METADATA as DATASET_METADATA
from simulator.datasets.registry import ROWS as DATASET_ROWS
from simulator.datasets.registry import Datasets
from simulator.http.paging import page_of
from simulator.http.platform import Platform
from simulator.messages import Request
from simulator.reports.metadata import METADATA as REPORT_METADATA
from simulator.reports.metadata import OF_QUERIES
from simulator.reports.registry import Reports


def has_registry(resource: str) -> bool:
    """Whether a resource is in a registry: rows or metadata of datasets or reports."""
    return resource in DATASET_METADATA or resource.startswith(DATASET_ROWS) or _is_of_reports(resource)


def registry_of(platform: Platform, resource: str) -> Datasets | Reports:
    """The registry with the table of a resource."""
    return platform.reports if _is_of_reports(resource) else platform.datasets


def _is_of_reports(resource: str) -> bool:
    return resource in REPORT_METADATA or resource.startswith(OF_QUERIES)


def disturb(
    platform: Platform,
    request: Request,
    resource: str,
    keys: Sequence[int],
    change: str,
    rng: Random,
    *,
    at_front: bool,
) -> None:
    """Change a table while a client pages through the rows of these keys; see http.resource."""
    registry, page = registry_of(platform, resource), page_of(platform.readings, request)
    if page is None or page.number < 2 or len(keys) < 2:
        return
    victim = keys[rng.randrange(min(len(keys), (page.number - 1) * page.size))]
    if change != "shrink":
        registry.insert(request.school_id, resource, {}, first=at_front)
    if change != "grow":
        registry.destroy(request.school_id, resource, victim)
