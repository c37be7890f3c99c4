"""Plans the requests of a report: checks its selection against its parameters and queries.

A mistake is found before any record is requested."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from campus.http.errors import CampusError
from campus.reports.metadata import OfferedReport, Parameter, Query
from campus.reports.selection import DateRanges, ReportSelection, as_text
from campus.reports.values import choices, encode_value, listing, with_label
from campus.selections import InvalidSelection, Scalar, collecting, nearest


class ReportSelectionError(CampusError):
    """The selection of a report does not fit its parameters or queries."""


@dataclass(frozen=True)
class ReportRequest:
    """One query with one combination of the matrix."""

    query: Query
    # Values in the platform's form, by the names of parameters.
    params: Mapping[str, Any]
    # The combination, in the form of campus.yaml.
    matrix: Mapping[str, Scalar]


def plan_requests(
    selection: ReportSelection, offered: OfferedReport, school_id: int
) -> tuple[ReportRequest, ...]:
    """Plan a request for each selected query with each combination of the matrix.

    A parameter without a value is sent with its default. Raises ReportSelectionError with every mistake."""
    problems: list[str] = []
    encode = partial(encode_value, date_ranges=selection.date_ranges)
    parameters = {parameter.name: parameter for parameter in offered.parameters}
    queries = _selected_queries(selection, offered, problems)
    fixed: dict[str, Any] = {}
    for name, value in selection.parameters.items():
        with collecting(problems, f"parameters.{name}"):
            fixed[name] = encode(_parameter(parameters, name), value)
    varied: dict[tuple[str, str], Any] = {}
    for name, values in selection.matrix.items():
        with collecting(problems, f"matrix.{name}"):
            _check_axis(selection, _parameter(parameters, name), values)
            for value in values:
                varied[name, as_text(value)] = encode(parameters[name], value)
    for parameter in offered.parameters:
        if parameter.name not in selection.parameters and parameter.name not in selection.matrix:
            with collecting(problems, f"parameters.{parameter.name}"):
                fixed |= _default(parameter, selection.date_ranges)
    if problems:
        place = f"school {school_id}, report {selection.report!r}: campus.yaml, reports"
        raise ReportSelectionError("\n".join(f"{place}.{problem}" for problem in problems))
    return tuple(
        ReportRequest(
            query, fixed | {name: varied[name, as_text(value)] for name, value in matrix.items()}, matrix
        )
        for query in queries
        for matrix in selection.combinations()
    )


def _selected_queries(selection: ReportSelection, offered: OfferedReport, problems: list[str]) -> list[Query]:
    """The selected queries, each once, in the order of the report."""
    with collecting(problems, "queries"):
        if not offered.queries:
            raise InvalidSelection("the report has no queries")
    ids: set[int] = set()
    for name in selection.queries:
        with collecting(problems, "queries"):
            ids.add(_query(offered.queries, as_text(name)).id)
    return [query for query in offered.queries if not selection.queries or query.id in ids]


def _query(queries: Sequence[Query], name: str) -> Query:
    matches = [query for query in queries if str(query.id) == name]
    matches = matches or [query for query in queries if query.label == name]
    if len(matches) > 1:
        ids = listing(str(query.id) for query in matches)
        raise InvalidSelection(f"{name!r} is the label of {ids}: give an id")
    if not matches:
        names = [name for query in queries for name in (str(query.id), query.label) if name]
        offered = listing(with_label(str(query.id), query.label) for query in queries)
        raise InvalidSelection(f"there is no query {name!r}{nearest(name, names)}; there is {offered}")
    return matches[0]


def _parameter(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    if name in parameters:
        return parameters[name]
    for parameter in parameters.values():
        if parameter.label == name:
            raise InvalidSelection(f"{name!r} is the label of a parameter; its name is {parameter.name}")
    if not parameters:
        raise InvalidSelection("the report takes no parameters")
    offered = listing(with_label(parameter.name, parameter.label) for parameter in parameters.values())
    raise InvalidSelection(f"there is no such parameter{nearest(name, parameters)}; there is {offered}")


def _check_axis(selection: ReportSelection, parameter: Parameter, values: tuple[Scalar, ...]) -> None:
    """Check the values of a parameter in a matrix."""
    if parameter.name in selection.parameters:
        raise InvalidSelection("it is one of the parameters too, and can be only one of both")
    if parameter.type == "date-range":
        raise InvalidSelection(
            "a date range is two dates, and each combination of a matrix has one value of it"
        )
    if not values:
        raise InvalidSelection("expected at least one value")
    for text, times in Counter(map(as_text, values)).items():
        if times > 1:
            raise InvalidSelection(f"{text!r} is there twice")


def _default(parameter: Parameter, date_ranges: DateRanges) -> dict[str, Any]:
    """The default of a parameter, by its name; empty where it needs no value and has no default."""
    default = parameter.default
    if default is None or default in ("", []):
        if parameter.required:
            label = f" ({parameter.label})" if parameter.label else ""
            raise InvalidSelection(f"a value is required{label}, and there is no default{choices(parameter)}")
        return {}
    value = tuple(default) if isinstance(default, list) else default
    try:
        return {parameter.name: encode_value(parameter, value, date_ranges)}
    except InvalidSelection:
        # A default may take a form of its own.
        return {parameter.name: default}
