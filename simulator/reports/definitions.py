"""The definition of a report: metadata, and functions for the rows of its queries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from simulator.reports.figures import Figures
from simulator.school.rows import Values

Key = str | int  # of an option


class Parameter(NamedTuple):
    """A parameter of a report, with the specification's names.

    It filters queries whose rows have a column of its name, also a column that is not among the fields: by
    the chosen keys, by a text, or by a range of dates."""

    type: str
    name: str
    label: str
    required: bool | None = False
    options: Mapping[str, str] | Mapping[int, str] | None = None  # label by key
    default: str | list[str] | None = None


class Field(NamedTuple):
    """A field of a query, with the specification's names."""

    kind: str
    name: str
    label: str
    path: Sequence[str] = ()  # empty: the label alone
    is_dynamic: bool = False
    shown_for: Mapping[str, Sequence[Key]] = {}  # the options that show the field, by parameter


class Query(NamedTuple):
    """A query of a report: its fields, and its rows before any filter."""

    label: str
    fields: Callable[[Figures], Sequence[Field]]
    rows: Callable[[Figures], Iterable[Values]]


class Report(NamedTuple):
    """A report of every school."""

    name: str
    label: str
    parameters: Callable[[Figures], Sequence[Parameter]]
    queries: Sequence[Query]


def flat(*fields: Field) -> Callable[[Figures], Sequence[Field]]:
    """The same fields for every school."""
    return lambda _: fields


def semester_parameter(figures: Figures, *, required: bool, current: bool) -> Parameter:
    """A choice of semesters. `current`: the current semester is the default."""
    options = {key: str(row.values["name"]) for key, row in figures.semesters.items()}
    now = [key for key, row in figures.semesters.items() if row.values["is_current"] is True]
    default = str(now[-1]) if current and now else None
    return Parameter("select", "semester", "学期", required, options, default)
