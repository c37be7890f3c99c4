"""GET .../queries/{query_id}/records: a page of the filtered rows, and the fields."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from simulator.datasets.table import Handle, Table
from simulator.http.paging import page_of
from simulator.http.platform import Platform
from simulator.messages import Request, Response, json_response, parse_integer
from simulator.reports.metadata import ROWS
from simulator.reports.parameter_tests import Predicate, tests_of
from simulator.reports.rendering import sent_fields, sent_rows
from simulator.resources.tables import registries
from simulator.school.rows import Values


class Answer(NamedTuple):
    """The whole answer of a query, before paging."""

    query_id: int
    fields: Sequence[Values]
    table: Table
    rows: Sequence[Handle]


def answer(platform: Platform, request: Request) -> Response:
    """The requested page of rows, and the fields."""
    whole = _whole(platform, request)
    readings = platform.readings
    page = page_of(platform.readings, request)
    part, headers = page.cut(len(whole.rows), readings) if page else (slice(None), [])
    rows = sent_rows(readings, whole.fields, whole.table, whole.rows[part])
    fields = sent_fields(readings, whole.fields)
    if page and page.number > 1 and readings.report_fields_on == "first_page":
        fields = []
    if not rows and readings.report_empty_fields == "empty":
        fields = []
    is_null = not rows and readings.report_empty_rows == "null"
    return json_response({"fields": fields, "rows": None if is_null else rows}, headers=headers)


def disturb(platform: Platform, request: Request, change: str, rng: Random) -> None:
    """Change the rows while a client pages through them; see http.resource.disturb."""
    whole = _whole(platform, request)
    keys = [whole.table.key(row) for row in whole.rows]
    resource = f"{ROWS}{whole.query_id}"
    registries.disturb(platform, request, resource, keys, change, rng, at_front=change == "grow")


def _whole(platform: Platform, request: Request) -> Answer:
    reports, school_id = platform.reports, request.school_id
    report = reports.find(school_id, request.params["id_or_name"])
    query_id = parse_integer("query_id", request.params["query_id"])
    reports.query(school_id, report, query_id)
    tests = tests_of(platform.readings, reports.parameters(school_id, report), request.query.get("params"))
    fields = [field for field in reports.fields(school_id, query_id) if _is_shown(field, tests)]
    table = reports.table(school_id, f"{ROWS}{query_id}")
    rows = table.select(None, None, [(name, test) for name, test in tests.items() if name in table.columns])
    if platform.readings.report_order == "shuffled":
        rows = list(rows)
        Random(request.target).shuffle(rows)
    return Answer(query_id, fields, table, rows)


def _is_shown(field: Values, tests: Mapping[str, Predicate]) -> bool:
    """Whether the chosen options show a field."""
    return all(name not in tests or any(map(tests[name], keys)) for name, keys in field["shown_for"].items())
