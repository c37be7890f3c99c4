"""Selects reports and their parameters as campus.yaml says, checks the selection against the report's
parameters and queries, and plans the requests with values in the platform's form.

A mistake is found before any record is requested."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import product
from typing import Any, Literal

import msgspec

from campus.http.errors import CampusError
from campus.selections import InvalidSelection, Scalar, collecting, nearest

# `["2025-09-01", "2026-01-31"]`, `"2025-09-01,2026-01-31"`, `{"start": "2025-09-01", "end": "2026-01-31"}`:
# the specification does not say which.
DateRanges = Literal["array", "text", "object"]
ParameterValue = Scalar | tuple[Scalar, ...]
# Characters that are encoded: all but letters of any script, digits and `_.:-`; and the first of three dots,
# which the name of a partition must not have.
_ENCODED = re.compile(r"[^\w.:-]|\.(?=\.\.)")


@dataclass(frozen=True)
class Option:
    """A value that a parameter may have."""

    # The value that is sent, as the platform spells it.
    key: Scalar
    label: str | None = None


@dataclass(frozen=True)
class Parameter:
    """A parameter of a report. A member that is missing or unreadable is None."""

    name: str
    type: str | None = None
    label: str | None = None
    required: bool = False
    # Empty where the platform lists none.
    options: tuple[Option, ...] = ()
    # Any JSON value.
    default: Any = None


@dataclass(frozen=True)
class Query:
    """A query of a report."""

    id: int
    label: str | None = None


@dataclass(frozen=True)
class OfferedReport:
    """The parameters and queries of a report."""

    # Of its paths.
    prefix: str
    parameters: tuple[Parameter, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class ReportSelection:
    """The selection of one report."""

    # Its name or id.
    report: str
    # Ids or labels; empty: all of them.
    queries: tuple[str | int, ...] = ()
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    # Values of parameters. Each combination of them is a request of its own.
    matrix: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    # The platform's form of a date range.
    date_ranges: DateRanges = "array"

    def combinations(self) -> list[dict[str, Scalar]]:
        """The combinations of the matrix; without a matrix the empty combination."""
        return [dict(zip(self.matrix, values, strict=True)) for values in product(*self.matrix.values())]


def combination_text(matrix: Mapping[str, Scalar]) -> str:
    """Write a combination of a matrix as one text, such as `grade=7&semester=20`, in the order of the names;
    empty without a matrix. See `escaped` for names and values."""
    return "&".join(f"{escaped(name)}={escaped(as_text(value))}" for name, value in sorted(matrix.items()))


def as_text(value: Scalar) -> str:
    """A text as it is, any other value as its JSON: 7 and "7" are the same."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def escaped(text: str) -> str:
    """Percent-encode all but letters, digits, `_`, `.`, `:` and `-`; `urllib.parse.unquote` undoes it."""
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


_MOST_LISTED = 20
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def encode_value(parameter: Parameter, value: ParameterValue, date_ranges: DateRanges) -> Any:
    """Write a value in the platform's form: an option by its key, as the platform spells the key.

    A parameter of unknown type takes any value. Raises InvalidSelection for a value that does not fit."""
    kind = parameter.type
    if kind == "date-range":
        return _date_range(value, date_ranges)
    if kind == "multi-select":
        values = value if isinstance(value, tuple) else (value,)
        if not values:
            raise InvalidSelection(f"expected at least one value{choices(parameter)}")
        return [_key(parameter, item) for item in values]
    if isinstance(value, tuple):
        if kind in ("input", "select"):
            raise InvalidSelection("expected one value, not a list")
        return list(value)
    if kind == "input" and isinstance(value, bool):
        raise InvalidSelection("expected text or a number")
    return _key(parameter, value) if kind == "select" else value


def choices(parameter: Parameter) -> str:
    """The options of a parameter, to end a sentence with."""
    options = [with_label(as_text(option.key), option.label) for option in parameter.options]
    return f"; choose from {listing(options)}" if options else ""


def with_label(name: str, label: str | None) -> str:
    """A name with its label in brackets, where the label differs."""
    return f"{name} ({label})" if label and label != name else name


def listing(texts: Iterable[str]) -> str:
    """List the first texts, and count the rest."""
    items = list(texts)
    rest = len(items) - _MOST_LISTED
    return ", ".join(items[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _key(parameter: Parameter, value: Scalar) -> Scalar:
    """The key of the selected option; any value where the platform lists no options."""
    if not parameter.options:
        return value
    text = as_text(value)
    for option in parameter.options:
        if as_text(option.key) == text:
            return option.key
    for option in parameter.options:
        if option.label == text:
            raise InvalidSelection(f"{text!r} is the label of an option; its key is {option.key!r}")
    keys = [as_text(option.key) for option in parameter.options]
    raise InvalidSelection(f"there is no option {text!r}{nearest(text, keys)}{choices(parameter)}")


def _date_range(value: ParameterValue, date_ranges: DateRanges) -> Any:
    match value:
        case (str(first), str(last)) if _is_date(first) and _is_date(last):
            if first > last:
                raise InvalidSelection(f"the first day, {first}, is after the last, {last}")
        case _:
            raise InvalidSelection("expected two dates, the first and the last day, as YYYY-MM-DD")
    match date_ranges:
        case "array":
            return [first, last]
        case "text":
            return f"{first},{last}"
        case "object":
            return {"start": first, "end": last}


def _is_date(text: str) -> bool:
    try:
        return bool(_ISO_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


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
