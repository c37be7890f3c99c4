"""Who keeps the tables of datasets and reports, and how they change while somebody pages through them."""

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


def is_kept(resource: str) -> bool:
    """Whether a resource is kept in tables: rows or metadata of datasets or reports."""
    return resource in DATASET_METADATA or resource.startswith(DATASET_ROWS) or _is_of_reports(resource)


def keeper(platform: Platform, resource: str) -> Datasets | Reports:
    """Who keeps the tables of a resource."""
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
    """Change a table whose rows, those of these keys, somebody is paging through; see http.resource."""
    kept_by, page = keeper(platform, resource), page_of(platform.readings, request)
    if page is None or page.number < 2 or len(keys) < 2:
        return
    victim = keys[rng.randrange(min(len(keys), (page.number - 1) * page.size))]
    if change != "shrink":
        kept_by.insert(request.school_id, resource, {}, first=at_front)
    if change != "grow":
        kept_by.destroy(request.school_id, resource, victim)
