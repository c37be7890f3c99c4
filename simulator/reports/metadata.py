"""The metadata of a school's reports as tables, so that tests can change the metadata like rows."""

from collections.abc import Iterable, Iterator
from typing import Any

from simulator.datasets.definitions import transposed
from simulator.datasets.table import Table
from simulator.readings import Readings
from simulator.reports.catalog import REPORTS
from simulator.reports.definitions import Field, Parameter, Query
from simulator.reports.figures import Figures
from simulator.school.rows import Values

REPORT, PARAMETERS, QUERIES = METADATA = ("reports", "report_parameters", "report_queries")
ROWS, FIELDS = OF_QUERIES = ("reports/", "report_fields/")  # before the id of a query
FIRST_REPORT = 50
# The members of metadata that the platform does not send.
HIDDEN = {PARAMETERS: {"id", "report_id"}, FIELDS: {"shown_for", "made_kind"}}


def offset(readings: Readings, school_id: int) -> int:
    """The offset of the ids of reports and queries in a school."""
    return school_id * 1_000 if readings.report_ids == "own" else 0


def queries(first_id: int) -> Iterator[tuple[int, int, Query]]:
    """The queries of the catalog: the report's id, the query's id, and the query."""
    for report_id, report in enumerate(REPORTS, FIRST_REPORT):
        for place, query in enumerate(report.queries, 1):
            yield first_id + report_id, first_id + report_id * 10 + place, query


def tables(figures: Figures, first_id: int) -> dict[str, Table]:
    """The reports of a school, with parameters and queries. Ids start at `first_id`."""
    reports: list[Values] = []
    parameters: list[Values] = []
    for report_id, report in enumerate(REPORTS, first_id + FIRST_REPORT):
        reports.append({"id": report_id, "name": report.name, "label": report.label})
        for place, parameter in enumerate(report.parameters(figures), 1):
            parameters.append(_parameter(report_id, report_id * 100 + place, parameter))
    query_rows = [
        {"id": query_id, "school_id": figures.school_id, "report_id": report_id, "label": query.label}
        for report_id, query_id, query in queries(first_id)
    ]
    rows = {REPORT: reports, PARAMETERS: parameters, QUERIES: query_rows}
    return {
        name: Table([row["id"] for row in entries], transposed(entries)) for name, entries in rows.items()
    }


def fields_table(fields: Iterable[Field]) -> Table:
    """The fields of a query, by position."""
    rows = [_field(position, field) for position, field in enumerate(fields, 1)]
    return Table([row["position"] for row in rows], transposed(rows))


def _parameter(report_id: int, key: int, parameter: Parameter) -> Values:
    options = parameter.options
    return {
        "id": key,
        "report_id": report_id,
        "type": parameter.type,
        "name": parameter.name,
        "label": parameter.label,
        "required": parameter.required,
        "options": None if options is None else [{"key": k, "label": v} for k, v in options.items()],
        "default_value": parameter.default,
    }


def _field(position: int, field: Field) -> Values:
    return {
        "shown_for": field.shown_for,
        "made_kind": field.kind,
        "kind": field.kind,
        "position": position,
        "name": field.name,
        "label": field.label,
        "label_in_path": list(field.path or [field.label]),
        "is_dynamic": field.is_dynamic,
    }


def new(resource: str, key: int, values: Values) -> Values:
    """Minimal new metadata with these values, different from its neighbour."""
    name = str(values.get("name", f"{resource}{key}"))
    label = str(values.get("label", name))
    bare: dict[str, dict[str, Any]] = {
        REPORT: {"id": key, "name": name, "label": label},
        QUERIES: {"id": key, "label": label},
        PARAMETERS: _parameter(0, key, Parameter("input", name, label)),
        FIELDS: _field(key, Field(values.get("kind", "string"), name, label)),
    }
    return bare[resource if resource in METADATA else FIELDS] | values
