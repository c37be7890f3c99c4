"""Datasets as tests see them: the true rows and metadata, by resource and key."""

from simulator.datasets.metadata import METADATA
from simulator.datasets.registry import ROWS
from simulator.datasets.table import Handle
from simulator.platform import Platform
from simulator.rows import Values


def is_dataset(resource: str) -> bool:
    """Whether a resource is the rows of a dataset, or metadata."""
    return resource in METADATA or resource.startswith(ROWS)


def entries(
    platform: Platform, resource: str, school_id: int, first: int | None, last: int | None
) -> list[Values]:
    """The rows with keys from first to last, both included."""
    rows = platform.datasets.table(school_id, resource).select(first, last, ())
    return [entry(platform, resource, school_id, row) for row in rows]


def entry(platform: Platform, resource: str, school_id: int, row: Handle) -> Values:
    """A row as it is sent, and how tests address it."""
    table = platform.datasets.table(school_id, resource)
    values = table.values(row)
    if resource not in METADATA:
        described = platform.datasets.find(school_id, resource.removeprefix(ROWS))
        values = platform.rendering(described, tuple(described.fields)).values(row)
    return {"key": table.key(row), "parent": school_id, "trashed": False, "row": values}
