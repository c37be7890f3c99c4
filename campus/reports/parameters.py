"""What is asked of a report's queries: an operator's wishes, checked against what the report takes and offers
before any record is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from campus.http.errors import CampusError
from campus.reports.metadata import OfferedReport, Parameter, Query
from campus.reports.selection import DateRanges, ReportSelection, spelt
from campus.reports.values import choice, labelled, listed, sent_value
from campus.selections import Scalar, Unfit, nearest, noting


class ReportSelectionError(CampusError):
    """Wishes that the report cannot fulfil."""


@dataclass(frozen=True)
class ReportRequest:
    """One query with one combination of the matrix. `params`: values by the names of parameters, as they are
    sent; `matrix`: the combination, as it is written."""

    query: Query
    params: Mapping[str, Any]
    matrix: Mapping[str, Scalar]


def ask_for(selection: ReportSelection, offered: OfferedReport, school_id: int) -> tuple[ReportRequest, ...]:
    """The requests for a report: each of its queries that are wanted, with each combination of the matrix.

    Where nothing is given for a parameter, its default is sent. Raises ReportSelectionError with every
    mistake."""
    problems: list[str] = []
    sent = partial(sent_value, date_ranges=selection.date_ranges)
    known = {parameter.name: parameter for parameter in offered.parameters}
    queries = _queries(selection, offered, problems)
    given: dict[str, Any] = {}
    for name, value in selection.parameters.items():
        with noting(problems, f"parameters.{name}"):
            given[name] = sent(_named(known, name), value)
    varied: dict[tuple[str, str], Any] = {}
    for name, values in selection.matrix.items():
        with noting(problems, f"matrix.{name}"):
            for value in _axis(selection, _named(known, name), values):
                varied[name, spelt(value)] = sent(known[name], value)
    for parameter in offered.parameters:
        if parameter.name not in selection.parameters and parameter.name not in selection.matrix:
            with noting(problems, f"parameters.{parameter.name}"):
                given |= _default(parameter, selection.date_ranges)
    if problems:
        where = f"school {school_id}, report {selection.report!r}: campus.yaml, reports"
        raise ReportSelectionError("\n".join(f"{where}.{problem}" for problem in problems))
    return tuple(
        ReportRequest(query, given | {name: varied[name, spelt(value)] for name, value in one.items()}, one)
        for query in queries
        for one in selection.combinations()
    )


def _queries(selection: ReportSelection, offered: OfferedReport, problems: list[str]) -> list[Query]:
    """The queries that are wanted, each once, in the order of the report."""
    with noting(problems, "queries"):
        if not offered.queries:
            raise Unfit("the report has no queries")
    wanted: set[int] = set()
    for name in selection.queries:
        with noting(problems, "queries"):
            wanted.add(_query(offered.queries, spelt(name)).id)
    return [query for query in offered.queries if not selection.queries or query.id in wanted]


def _query(queries: Sequence[Query], name: str) -> Query:
    found = [query for query in queries if str(query.id) == name]
    found = found or [query for query in queries if query.label == name]
    if len(found) > 1:
        raise Unfit(f"{name!r} is the label of {listed(str(query.id) for query in found)}: give an id")
    if not found:
        names = [name for query in queries for name in (str(query.id), query.label) if name]
        there = listed(labelled(str(query.id), query.label) for query in queries)
        raise Unfit(f"there is no query {name!r}{nearest(name, names)}; there is {there}")
    return found[0]


def _named(known: Mapping[str, Parameter], name: str) -> Parameter:
    if name in known:
        return known[name]
    for parameter in known.values():
        if parameter.label == name:
            raise Unfit(f"{name!r} is the label of a parameter; its name is {parameter.name}")
    if not known:
        raise Unfit("the report takes no parameters")
    there = listed(labelled(each.name, each.label) for each in known.values())
    raise Unfit(f"there is no such parameter{nearest(name, known)}; there is {there}")


def _axis(selection: ReportSelection, parameter: Parameter, values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The values of a parameter in a matrix."""
    if parameter.name in selection.parameters:
        raise Unfit("it is one of the parameters too, and can be only one of both")
    if parameter.type == "date-range":
        raise Unfit("a date range is two dates, and each combination of a matrix has one value of it")
    if not values:
        raise Unfit("expected at least one value")
    twice = [spelt(value) for value in values]
    for text in dict.fromkeys(twice):
        if twice.count(text) > 1:
            raise Unfit(f"{text!r} is there twice")
    return values


def _default(parameter: Parameter, date_ranges: DateRanges) -> dict[str, Any]:
    """What is sent of a parameter that nothing is given for."""
    default = parameter.default
    if default is None or default in ("", []):
        if parameter.required:
            label = f" ({parameter.label})" if parameter.label else ""
            raise Unfit(f"a value is required{label}, and there is no default{choice(parameter)}")
        return {}
    value = tuple(default) if isinstance(default, list) else default
    try:
        return {parameter.name: sent_value(parameter, value, date_ranges)}
    except Unfit:
        # The platform knows what it takes by default.
        return {parameter.name: default}
