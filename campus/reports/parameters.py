"""What is asked of a report's queries: an operator's wishes, checked against what the report takes and offers
before any record is asked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from campus.errors import CampusError
from campus.reports.metadata import Offered, Option, Parameter, Query
from campus.reports.selection import ParameterValue, ReportSelection, spelt
from campus.wishes import Scalar, Unfit, nearest, noting

# A message that lists more is read by nobody.
_MOST_SHOWN = 20
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class ReportSelectionError(CampusError):
    """Wishes that the report cannot fulfil."""


@dataclass(frozen=True)
class Question:
    """One query with one combination of the matrix. `params`: values by the names of parameters, as they are
    sent; `matrix`: the combination, as it is written."""

    query: Query
    params: Mapping[str, Any]
    matrix: Mapping[str, Scalar]


def ask_for(selection: ReportSelection, offered: Offered, school_id: int) -> tuple[Question, ...]:
    """The questions for a report: each of its queries that are wanted, with each combination of the matrix.

    Where nothing is given for a parameter, its default is sent. Raises ReportSelectionError with every
    mistake."""
    problems: list[str] = []
    known = {parameter.name: parameter for parameter in offered.parameters}
    queries = _queries(selection, offered, problems)
    given: dict[str, Any] = {}
    for name, value in selection.parameters.items():
        with noting(problems, f"parameters.{name}"):
            given[name] = _sent(_named(known, name), value)
    varied: dict[tuple[str, str], Any] = {}
    for name, values in selection.matrix.items():
        with noting(problems, f"matrix.{name}"):
            for value in _axis(selection, _named(known, name), values):
                varied[name, spelt(value)] = _sent(known[name], value)
    for parameter in offered.parameters:
        if parameter.name not in selection.parameters and parameter.name not in selection.matrix:
            with noting(problems, f"parameters.{parameter.name}"):
                given |= _default(parameter)
    if problems:
        where = f"school {school_id}, report {selection.report!r}: campus.yaml, reports"
        raise ReportSelectionError("\n".join(f"{where}.{problem}" for problem in problems))
    return tuple(
        Question(query, given | {name: varied[name, spelt(value)] for name, value in one.items()}, one)
        for query in queries
        for one in selection.combinations()
    )


def _queries(selection: ReportSelection, offered: Offered, problems: list[str]) -> list[Query]:
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
        raise Unfit(f"{name!r} is the label of {_listed(str(query.id) for query in found)}: give an id")
    if not found:
        names = [name for query in queries for name in (str(query.id), query.label) if name]
        there = _listed(_labelled(str(query.id), query.label) for query in queries)
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
    there = _listed(_labelled(each.name, each.label) for each in known.values())
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


def _default(parameter: Parameter) -> dict[str, Any]:
    """What is sent of a parameter that nothing is given for."""
    default = parameter.default
    if default is None or default in ("", []):
        if parameter.required:
            label = f" ({parameter.label})" if parameter.label else ""
            raise Unfit(f"a value is required{label}, and there is no default{_choice(parameter)}")
        return {}
    try:
        return {parameter.name: _sent(parameter, tuple(default) if isinstance(default, list) else default)}
    except Unfit:
        # The platform knows what it takes by default.
        return {parameter.name: default}


def _sent(parameter: Parameter, value: ParameterValue) -> Any:
    """A value in the form that the platform takes.

    Raises Unfit for one that the parameter cannot have."""
    match parameter.type:
        case "select" | "input" if isinstance(value, tuple):
            raise Unfit("expected one value, not a list")
        case "select":
            return _key(parameter, value)
        case "multi-select":
            values = value if isinstance(value, tuple) else (value,)
            if not values:
                raise Unfit(f"expected at least one value{_choice(parameter)}")
            return [_key(parameter, one) for one in values]
        case "date-range":
            return _date_range(value)
        case "input" if isinstance(value, bool):
            raise Unfit("expected text or a number")
    return list(value) if isinstance(value, tuple) else value


def _key(parameter: Parameter, value: ParameterValue) -> Scalar:
    """The key of the option that is meant, as the platform spells it; any value where it lists no options."""
    assert not isinstance(value, tuple)
    if not parameter.options:
        return value
    text = spelt(value)
    for option in parameter.options:
        if spelt(option.key) == text:
            return option.key
    for option in parameter.options:
        if option.label == text:
            raise Unfit(f"{text!r} is the label of an option; its key is {option.key!r}")
    keys = [spelt(option.key) for option in parameter.options]
    raise Unfit(f"there is no option {text!r}{nearest(text, keys)}{_choice(parameter)}")


def _date_range(value: ParameterValue) -> list[str]:
    match value:
        case (str(first), str(last)) if _is_date(first) and _is_date(last):
            if first > last:
                raise Unfit(f"the first day, {first}, is after the last, {last}")
            return [first, last]
    raise Unfit("expected two dates, the first and the last day, as YYYY-MM-DD")


def _is_date(text: str) -> bool:
    try:
        return bool(_ISO_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _choice(parameter: Parameter) -> str:
    """The end of a sentence: what there is to choose from."""
    options = parameter.options
    return f"; choose from {_listed(map(_option, options))}" if options else ""


def _option(option: Option) -> str:
    return _labelled(spelt(option.key), option.label)


def _labelled(name: str, label: str | None) -> str:
    return f"{name} ({label})" if label and label != name else name


def _listed(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = len(shown) - _MOST_SHOWN
    return ", ".join(shown[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
