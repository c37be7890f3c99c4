"""The v3 reports: parameters, queries and records."""

from simulator.http.paging import PAGING
from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Request, Response, json_response
from simulator.readings import Readings
from simulator.reports.metadata import HIDDEN, PARAMETERS
from simulator.resources.tables import report_records as records

SCOPES = ("reporting.read_all",)


def parameters(platform: Platform, request: Request) -> Response:
    """The parameters of a report."""
    report = platform.reports.find(request.school_id, request.params["id_or_name"])
    rows = platform.reports.parameters(request.school_id, report)
    return json_response([{n: v for n, v in row.items() if n not in HIDDEN[PARAMETERS]} for row in rows])


def queries(platform: Platform, request: Request) -> Response:
    """The queries of a report."""
    report = platform.reports.find(request.school_id, request.params["id_or_name"])
    return json_response(platform.reports.queries(request.school_id, report))


def routes(readings: Readings) -> tuple[Route, ...]:
    """The paths, under this platform's prefix."""
    path = f"{readings.v3_prefix}/reporting/reports/{{id_or_name}}"
    return (
        Route("GET", f"{path}/parameters", parameters, scopes=SCOPES, parameters=frozenset()),
        Route("GET", f"{path}/queries", queries, scopes=SCOPES, parameters=frozenset()),
        Route(
            "GET",
            f"{path}/queries/{{query_id}}/records",
            records.answer,
            scopes=SCOPES,
            disturb=records.disturb,
            parameters=frozenset({"params", *PAGING}),
        ),
    )
