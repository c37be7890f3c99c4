"""What is kept in tables, datasets and reports, as tests see it: the true rows and metadata, by key."""

from simulator.datasets.registry import ROWS as DATASET_ROWS
from simulator.datasets.table import Handle
from simulator.http.platform import Platform
from simulator.reports.metadata import ROWS as REPORT_ROWS
from simulator.reports.rendering import sent_rows
from simulator.resources.tables.keeping import keeper
from simulator.school.rows import Values


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
