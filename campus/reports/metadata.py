"""Reads the parameters and queries of a school's report into two tables, and defines its fields."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from campus.account import Drift
from campus.decoding.definition import Definition, parse_definition
from campus.decoding.page import Page, decode_page
from campus.decoding.raw_json import JSON_ERRORS, raw_rows
from campus.fetch.answers import first_answer
from campus.fetch.collection import Collection
from campus.fetch.reader import Reader
from campus.http.client import segment
from campus.http.errors import CampusError, NotFound, Refused
from campus.paging import Outcome, page_unpaged_list
from campus.plan.units import Unit
from campus.registry import REPORT_PARAMETERS, REPORT_QUERIES, ResourceSpec
from campus.reports.selection import OfferedReport, Option, Parameter, Query
from campus.selections import Scalar
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import apply_row_rules, gathered_of

# The members of a field, in an answer of the platform or in a row of raw.report_fields.
Members = Mapping[str, Any]


def definition_of(title: str, label: str | None, fields: Iterable[Members]) -> Definition:
    """The definition of records with these fields. Unreadable fields go to its drift. label: of the query."""
    return parse_definition({"name": title, "label": label, "fields": list(map(_dataset_field, fields))})


def members_of(row: bytes | Raw) -> dict[str, Any]:
    """The members of a JSON object; none where it is unreadable."""
    try:
        return msgspec.json.decode(row, type=dict[str, Any])
    except JSON_ERRORS:
        return {}


def changed_fields(before: Iterable[Members], after: Iterable[Members]) -> list[Drift]:
    """The fields that are gone or of another kind. A dynamic field follows the data, and is no drift."""
    kinds = {field["name"]: field.get("kind") for field in after}
    drift = []
    for name, kind in ((field["name"], field.get("kind")) for field in before if not _is_dynamic(field)):
        if name not in kinds:
            drift.append(Drift("field_removed", name, str(kind)))
        elif kinds[name] != kind:
            drift.append(Drift("field_retyped", name, f"{kind} -> {kinds[name]}"))
    return drift


def _is_dynamic(field: Members) -> bool:
    return field.get("is_dynamic") == 1


def _dataset_field(field: Members) -> Members:
    """The field of a report under the names that a field of a dataset has."""
    label = field.get("label")
    path = field.get("label_in_path")
    titles = [title for title in path if isinstance(title, str)] if isinstance(path, list) else []
    return {
        "name": field.get("name"),
        "type": field.get("kind"),
        "position": field.get("position"),
        "label": None if titles and titles[-1] == label else label,
        "description": " / ".join(titles) or None,
    }


class UnknownReport(CampusError):
    """A report of the settings that the school does not have."""


async def read_report(
    reader: Reader, report: str, parameters: Collector, queries: Collector
) -> OfferedReport:
    """Read the parameters and queries of a report, and add their rows to the two collectors.

    report: its name or id. Raises UnknownReport where the school does not have it, else CampusError; then no
    row was added."""
    try:
        listing = await first_answer(
            reader.capabilities,
            lambda prefix: _list(reader, REPORT_QUERIES, prefix, report),
            lambda listed: not listed[0],
        )
    except Refused as error:
        # The platform can refuse nothing else in this request.
        raise _unknown(reader.school_id, report, f": {error.message}") from None
    if listing is None:
        raise _unknown(reader.school_id, report, ".")
    prefix, listed_queries = listing
    try:
        listed_parameters = await _list(reader, REPORT_PARAMETERS, prefix, report)
    except NotFound:
        # The report exists, so it takes no parameters.
        listed_parameters = [], Outcome(True, 0, (), "")
    for collector, (rows, outcome) in ((queries, listed_queries), (parameters, listed_parameters)):
        collector.add(_gathered(collector.spec, rows, outcome, report))
        collector.flush()
    return OfferedReport(
        prefix,
        tuple(filter(None, map(_parameter, listed_parameters[0]))),
        tuple(filter(None, map(_query, listed_queries[0]))),
    )


def _unknown(school_id: int | None, report: str, reason: str) -> UnknownReport:
    return UnknownReport(
        f"school {school_id} has no report {report!r}{reason}",
        "Check its name or id under reports in campus.yaml, or in CAMPUS_REPORTS.",
    )


async def _list(
    reader: Reader, spec: ResourceSpec, prefix: str, report: str
) -> tuple[list[bytes | Raw], Outcome]:
    path = prefix + spec.path.format(report=segment(report))
    paging = page_unpaged_list(reader.capabilities, prefix + spec.path)
    collection = Collection(path, {}, raw_rows, lambda rows: [bytes(row) for row in rows], paging)
    pages, outcome = await collection.read(reader)
    return [row for page in pages for row in page], outcome


def _gathered(spec: ResourceSpec, rows: Sequence[bytes | Raw], outcome: Outcome, report: str) -> Gathered:
    page: Page[Any] = decode_page(b"[%b]" % b",".join(bytes(row) for row in rows), spec.contract)
    gathered = apply_row_rules(gathered_of(page), spec, Unit(spec.path, defaults={"report": report}))
    gathered.total, gathered.complete, gathered.note = outcome.total, outcome.complete, outcome.note
    return gathered


def _parameter(row: bytes | Raw) -> Parameter | None:
    sent = members_of(row)
    name, options = sent.get("name"), sent.get("options")
    if not isinstance(name, str) or not name:
        return None
    return Parameter(
        name,
        _text(sent, "type"),
        _text(sent, "label"),
        sent.get("required") == 1,
        tuple(
            Option(option["key"], _text(option, "label"))
            for option in (options if isinstance(options, list) else [])
            if isinstance(option, dict) and isinstance(option.get("key"), Scalar)
        ),
        sent.get("default_value"),
    )


def _query(row: bytes | Raw) -> Query | None:
    sent = members_of(row)
    return Query(sent["id"], _text(sent, "label")) if type(sent.get("id")) is int else None


def _text(sent: dict[str, Any], name: str) -> str | None:
    value = sent.get(name)
    return value if isinstance(value, str) else None
