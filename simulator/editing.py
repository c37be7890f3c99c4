"""What is kept in tables, datasets and reports, as tests see it: the true rows and metadata, by key."""

from collections.abc import Sequence
from random import Random

from simulator.datasets.metadata import METADATA as DATASET_METADATA
from simulator.datasets.registry import ROWS as DATASET_ROWS
from simulator.datasets.registry import Datasets
from simulator.datasets.table import Handle
from simulator.http import Request
from simulator.listing import page_of
from simulator.platform import Platform
from simulator.reports.metadata import METADATA as REPORT_METADATA
from simulator.reports.metadata import OF_QUERIES
from simulator.reports.metadata import ROWS as REPORT_ROWS
from simulator.reports.registry import Reports
from simulator.reports.rendering import sent_rows
from simulator.rows import Values


def is_kept(resource: str) -> bool:
    """Whether a resource is kept in tables: rows or metadata of datasets or reports."""
    return resource in DATASET_METADATA or resource.startswith(DATASET_ROWS) or _is_of_reports(resource)


def keeper(platform: Platform, resource: str) -> Datasets | Reports:
    """Who keeps the tables of a resource."""
    return platform.reports if _is_of_reports(resource) else platform.datasets


def _is_of_reports(resource: str) -> bool:
    return resource in REPORT_METADATA or resource.startswith(OF_QUERIES)


def entries(
    platform: Platform, resource: str, school_id: int, first: int | None, last: int | None
) -> list[Values]:
    """The rows with keys from first to last, both included."""
    rows = keeper(platform, resource).table(school_id, resource).select(first, last, ())
    return [entry(platform, resource, school_id, row) for row in rows]


def entry(platform: Platform, resource: str, school_id: int, row: Handle) -> Values:
    """A row as it is sent, a report's with the fields of all parameters, and how tests address it."""
    table = keeper(platform, resource).table(school_id, resource)
    values = table.values(row)
    if resource.startswith(DATASET_ROWS):
        described = platform.datasets.find(school_id, resource.removeprefix(DATASET_ROWS))
        values = platform.rendering(described, tuple(described.fields)).values(row)
    elif resource.startswith(REPORT_ROWS):
        fields = platform.reports.fields(school_id, int(resource.removeprefix(REPORT_ROWS)))
        [values] = sent_rows(platform.readings, fields, table, [row])
    return {"key": table.key(row), "parent": school_id, "trashed": False, "row": values}


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
    """Change a table whose rows, those of these keys, somebody is paging through; see listing.disturb."""
    kept_by, page = keeper(platform, resource), page_of(platform, request)
    if page is None or page.number < 2 or len(keys) < 2:
        return
    victim = keys[rng.randrange(min(len(keys), (page.number - 1) * page.size))]
    if change != "shrink":
        kept_by.insert(request.school_id, resource, {}, first=at_front)
    if change != "grow":
        kept_by.destroy(request.school_id, resource, victim)
