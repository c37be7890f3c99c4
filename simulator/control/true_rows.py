"""The true rows and metadata of datasets and reports, by key, for tests."""

from simulator.datasets.registry import ROWS as DATASET_ROWS
from simulator.datasets.table import Handle
from simulator.http.platform import Platform
from simulator.reports.metadata import ROWS as REPORT_ROWS
from simulator.reports.rendering import sent_rows
from simulator.resources.tables.registries import registry_of
from simulator.school.rows import Values


def entries(
    platform: Platform, resource: str, school_id: int, first: int | None, last: int | None
) -> list[Values]:
    """The rows with keys from first to last, both included."""
    rows = registry_of(platform, resource).table(school_id, resource).select(first, last, ())
    return [entry(platform, resource, school_id, row) for row in rows]


def entry(platform: Platform, resource: str, school_id: int, row: Handle) -> Values:
    """A row as the platform sends it, with its key for tests. A report's row has the fields of all
    parameters."""
    table = registry_of(platform, resource).table(school_id, resource)
    values = table.values(row)
    if resource.startswith(DATASET_ROWS):
        described = platform.datasets.find(school_id, resource.removeprefix(DATASET_ROWS))
        values = platform.rendering(described, tuple(described.fields)).values(row)
    elif resource.startswith(REPORT_ROWS):
        fields = platform.reports.fields(school_id, int(resource.removeprefix(REPORT_ROWS)))
        [values] = sent_rows(platform.readings, fields, table, [row])
    return {"key": table.key(row), "parent": school_id, "trashed": False, "row": values}
