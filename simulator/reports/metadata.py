"""The metadata of a school's reports as rows of their own, so that tests change them as they change rows."""

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
# What the platform knows of metadata besides what it sends.
HIDDEN = {PARAMETERS: {"id", "report_id"}, FIELDS: {"shown_for", "made_kind"}}


def offset(readings: Readings, school_id: int) -> int:
    """What the ids of reports and queries are counted from in a school."""
    return school_id * 1_000 if readings.report_ids == "own" else 0


def queries(first_id: int) -> Iterator[tuple[int, int, Query]]:
    """The queries that the catalog makes: the id of the report, that of the query, and the query."""
    for report_id, report in enumerate(REPORTS, FIRST_REPORT):
        for place, query in enumerate(report.queries, 1):
            yield first_id + report_id, first_id + report_id * 10 + place, query


def tables(figures: Figures, first_id: int) -> dict[str, Table]:
    """The reports of one school, their parameters and queries, ids counted from `first_id`."""
    reports: list[Values] = []
    parameters: list[Values] = []
    for report_id, report in enumerate(REPORTS, first_id + FIRST_REPORT):
        reports.append({"id": report_id, "name": report.name, "label": report.label})
        for place, parameter in enumerate(report.parameters(figures), 1):
            parameters.append(_parameter(report_id, report_id * 100 + place, parameter))
    made = [
        {"id": query_id, "school_id": figures.school_id, "report_id": report_id, "label": query.label}
        for report_id, query_id, query in queries(first_id)
    ]
    rows = {REPORT: reports, PARAMETERS: parameters, QUERIES: made}
    return {name: Table([row["id"] for row in each], transposed(each)) for name, each in rows.items()}


def fields_table(fields: Iterable[Field]) -> Table:
    """The fields of a query; the key of each is its position."""
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
    """New metadata: as bare as can be but for `values`, and not like its neighbour."""
    name = str(values.get("name", f"{resource}{key}"))
    label = str(values.get("label", name))
    bare: dict[str, dict[str, Any]] = {
        REPORT: {"id": key, "name": name, "label": label},
        QUERIES: {"id": key, "label": label},
        PARAMETERS: _parameter(0, key, Parameter("input", name, label)),
        FIELDS: _field(key, Field(values.get("kind", "string"), name, label)),
    }
    return bare[resource if resource in METADATA else FIELDS] | values
