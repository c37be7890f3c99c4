"""What a report is made of: its metadata as data, and how the rows of a query are made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from simulator.reports.figures import Figures
from simulator.school.rows import Values

Key = str | int  # of an option


class Parameter(NamedTuple):
    """A parameter of a report, in the words of the specification.

    It filters the queries whose rows have a column of its name, whether that is among the fields or not:
    by equality with the keys chosen, by the text given, or by the dates from first to last.
    """

    type: str
    name: str
    label: str
    required: bool | None = False
    options: Mapping[str, str] | Mapping[int, str] | None = None  # label by key
    default: str | list[str] | None = None


class Field(NamedTuple):
    """A field of a query, in the words of the specification."""

    kind: str
    name: str
    label: str
    path: Sequence[str] = ()  # empty: the label alone
    is_dynamic: bool = False
    shown_for: Mapping[str, Sequence[Key]] = {}  # by parameter, the options that the field belongs to


class Query(NamedTuple):
    """One of the queries of a report: its fields, and all of its rows, whatever the parameters."""

    label: str
    fields: Callable[[Figures], Sequence[Field]]
    rows: Callable[[Figures], Iterable[Values]]


class Report(NamedTuple):
    """A report as every school has it."""

    name: str
    label: str
    parameters: Callable[[Figures], Sequence[Parameter]]
    queries: Sequence[Query]


def flat(*fields: Field) -> Callable[[Figures], Sequence[Field]]:
    """Fields that are the same whatever the school."""
    return lambda _: fields


def semester_parameter(figures: Figures, *, required: bool, current: bool) -> Parameter:
    """A choice among the semesters of the school, the current one by default or none."""
    options = {key: str(row.values["name"]) for key, row in figures.semesters.items()}
    now = [key for key, row in figures.semesters.items() if row.values["is_current"] is True]
    default = str(now[-1]) if current and now else None
    return Parameter("select", "semester", "学期", required, options, default)
