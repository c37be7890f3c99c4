"""Why schools need a look, and which schools need a look first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles

from exports.board.schools.words import SCHOOLS, TEXTS
from exports.source import joined
from exports.spreadsheet.sheets import Figure, Words
from warehouse.age import STALE, Age
from warehouse.rounding import half_up

#: Quartiles of fewer schools say little.
FEWEST = 5
#: How many times the distance of the quartiles a value is beyond a quartile before it is far from the others:
#: the rule of box plots (Tukey, 1977).
REACH = 1.5
#: The names of all reasons, the most urgent first.
NAMES = tuple(SCHOOLS.reasons)
#: The figures that are compared between schools, and whether less is worse.
FAR = {"present": True, "at_risk": False, "rolls": False}


@dataclass(frozen=True)
class Quartiles:
    """The quartiles of a value over schools."""

    low: float
    median: float
    high: float
    #: The number of schools with the value.
    schools: int

    def beyond(self, value: float, *, less_is_worse: bool) -> bool:
        """Whether a value is worse than those of the other schools by far."""
        reach = REACH * (self.high - self.low)
        return value < self.low - reach if less_is_worse else value > self.high + reach


@dataclass(frozen=True)
class Reason:
    """A reason to look at a school."""

    name: str
    #: What is special about this school. None: other parts of the page say that.
    detail: Words | None = None
    #: How far the school is from the others; in the unit of the reason.
    distance: float = 0.0


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """The quartiles of values, interpolated as by DuckDB's quantile_cont. None: there are too few."""
    if len(values) < FEWEST:
        return None
    low, median, high = (float(half_up(cut)) for cut in quantiles(values, n=4, method="inclusive"))
    return Quartiles(low, median, high, len(values))


def reasons_of_data(age: Age, newest: datetime | None) -> Iterator[Reason]:
    """The reasons in the loads of a school. `newest`: when the data of any school were loaded last."""
    if age.as_of is None:
        yield Reason("never")
        return
    if newest is not None and newest - age.as_of > STALE:
        yield Reason("old", distance=(newest - age.as_of).total_seconds())
    if age.older:
        yield Reason("failed")
    if age.never:
        yield Reason("part")


def reasons_of_figures(
    figures: Sequence[Figure], shares: Mapping[str, float], usual: Mapping[str, Quartiles]
) -> Iterator[Reason]:
    """The reasons in the figures of a school: a figure is not known, or worse than elsewhere by far.

    Args:
        shares: The percentages of the school that are compared, by the name of the figure.
        usual: The quartiles of the schools by the name of the figure. Empty: schools are not compared."""
    unknown = [figure.label for figure in figures if figure.number is None]
    if unknown:
        yield Reason("unknown", joined(unknown))
    for name, quartile in usual.items():
        share = shares.get(name)
        if share is not None and quartile.beyond(share, less_is_worse=FAR[name]):
            detail = TEXTS["spread"].format(half_up(share), half_up(quartile.median))
            yield Reason(name, detail, abs(share - quartile.median))


def urgency(reasons: Sequence[Reason]) -> tuple[int, list[int], float]:
    """The key that sorts schools: by the number of their reasons, then by the reasons, then by distance."""
    return (
        -len(reasons),
        [NAMES.index(reason.name) for reason in reasons],
        -sum(reason.distance for reason in reasons),
    )
