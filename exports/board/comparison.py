"""Compares many schools: their figures by a few queries for all together, quartiles of percentages, and the
reasons to look at a school. Small numbers of students are hidden."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import Any

import duckdb

from exports.board.data import SCHOOLS
from exports.board.school import LEVELS
from exports.figures import Counts, at_risk_figure, never_loaded_of, never_words, present_figure, rolls_figure
from exports.library.view_rows import read_rows
from exports.source import Origin, joined
from exports.spreadsheet.sheets import Figure, Words
from warehouse.age import STALE, Age
from warehouse.privacy import SMALL_GROUP
from warehouse.rounding import half_up

#: What a hidden number of students counts as in quartiles: the middle of 1 to 4.
HIDDEN = 2.5
#: Quartiles of fewer schools say little.
FEWEST = 5
#: How many times the distance of the quartiles a value is beyond a quartile before it is far from the others:
#: the rule of box plots (Tukey, 1977).
REACH = 1.5
#: The names of all reasons, the most urgent first.
NAMES = tuple(SCHOOLS.reasons)
#: The figures that are compared between schools, and whether less is worse.
FAR = {"present": True, "at_risk": False, "rolls": False}
#: The group of all schools in charts.
OF_ALL: Mapping[str, Any] = {"kind": "school", "key": "", "cohort": "", "name": "", "order": 0}


@dataclass(frozen=True)
class Facts:
    """What the page says about a school."""

    figures: tuple[Figure, ...]
    #: The counts of students by level. None: there are no students.
    levels: Counts | None
    #: The percentages that are compared with other schools, by the name of the figure, without small numbers.
    shares: Mapping[str, float]
    #: Whether grades were never loaded, and there are none.
    lacks_grades: bool


def facts_of(con: duckdb.DuckDBPyConnection, school_ids: Sequence[int]) -> dict[int, Facts]:
    """The facts about schools by id."""
    rows = {
        name: {row["school_id"]: row for row in read_rows(con, SCHOOLS.rows[name], school_ids)}
        for name in ("days", "rolls", "levels", "graded")
    }
    missing = never_loaded_of(con, school_ids)
    return {
        id: _facts(
            *(rows[name].get(id) for name in ("days", "rolls", "levels")),
            missing=missing.get(id, {}),
            has_grades=id in rows["graded"],
        )
        for id in school_ids
    }


def _facts(
    day: Counts | None,
    roll: Counts | None,
    levels: Counts | None,
    *,
    missing: Mapping[str, Words],
    has_grades: bool,
) -> Facts:
    unattended, unjudged = (never_words(missing, name) for name in ("attendance", "levels"))
    # The page shows no changes since earlier days.
    present = present_figure({"last": day} if day else {}, unattended)
    at_risk = at_risk_figure(levels, unjudged)
    rolls = rolls_figure({"last": roll} if roll else {}, unattended)
    shares: dict[str, float] = {}
    if present.number is not None:
        shares["present"] = present.number
    if levels and at_risk.number is not None and not is_small(at_risk.number):
        shares["at_risk"] = 100 * levels["at_risk"] / levels["judged"]
    if roll:
        shares["rolls"] = 100 * roll["not_taken"] / roll["due"]
    return Facts((present, at_risk, rolls), levels, shares, "grades" in missing and not has_grades)


def is_small(students: float) -> bool:
    """Whether a number of students is hidden."""
    return 0 < students < SMALL_GROUP


def share_of_level(levels: Counts | None, level: str) -> float | None:
    """The percentage of the judged students with a level, for quartiles. None: not known."""
    if not levels or not levels["inputs_loaded"] or not levels["judged"]:
        return None
    students: float = HIDDEN if is_small(levels[level]) else levels[level]
    return 100 * students / float(levels["judged"])


def level_rows(facts: Mapping[int, Facts]) -> list[dict[str, Any]]:
    """Students by level, of a hundred students whose level is known. Small numbers are left out."""
    return [
        {"school_id": id, "level": level, "students": float(half_up(share))}
        for id, school in facts.items()
        for level in LEVELS
        if (share := share_of_level(school.levels, level)) is not None
        and school.levels
        and school.levels[level] >= SMALL_GROUP
    ]


def without_small_subjects(bands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bands of the subjects of schools with enough grades to identify no student."""
    graded = Counter[tuple[int, str]]()
    for row in bands:
        graded[row["school_id"], row["subject"]] += row["grades"]
    return [row for row in bands if graded[row["school_id"], row["subject"]] >= SMALL_GROUP]


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
            detail = SCHOOLS.texts["spread"].format(half_up(share), half_up(quartile.median))
            yield Reason(name, detail, abs(share - quartile.median))


def urgency(reasons: Sequence[Reason]) -> tuple[int, list[int], float]:
    """The key that sorts schools: by the number of their reasons, then by the reasons, then by distance."""
    return (
        -len(reasons),
        [NAMES.index(reason.name) for reason in reasons],
        -sum(reason.distance for reason in reasons),
    )


def spread(facts: Mapping[int, Facts]) -> dict[str, Quartiles]:
    """The quartiles of the percentages that are compared, by the name of the figure."""
    values = {
        name: [school.shares[name] for school in facts.values() if name in school.shares] for name in FAR
    }
    values["at_risk"] = [row["students"] for row in judged_shares(facts) if row["level"] == "at_risk"]
    return {name: quartile for name, shares in values.items() if (quartile := quartiles(shares))}


def reasons_by_school(
    origins: Iterable[Origin],
    facts: Mapping[int, Facts],
    newest: datetime | None,
    usual: Mapping[str, Quartiles],
) -> dict[int, tuple[Reason, ...]]:
    """The reasons to look at schools, by school id.

    Args:
        newest: When the data of any school were loaded last.
        usual: The quartiles of the schools by the name of the figure. Empty: schools are not compared."""
    return {
        origin.school.id: (
            *reasons_of_data(origin.age, newest),
            *reasons_of_figures(facts[origin.school.id].figures, facts[origin.school.id].shares, usual),
        )
        for origin in origins
    }


def judged_shares(facts: Mapping[int, Facts]) -> list[dict[str, Any]]:
    """The percentage of each level at each school where it is known."""
    return [
        {"level": level, "students": share}
        for level in LEVELS
        for school in facts.values()
        if (share := share_of_level(school.levels, level)) is not None
    ]


def with_quartiles(
    rows: Sequence[dict[str, Any]], compared: Iterable[Mapping[str, Any]], key: str, value: str
) -> list[dict[str, Any]]:
    """The rows of schools after a row of all schools for each value of a column, with the quartiles.

    Args:
        compared: The rows with the values of the quartiles.
        key: The column of the groups. A week is complete once it is complete at each school.
        value: The column with the values; of all schools it is the median."""
    groups = defaultdict[Any, list[Mapping[str, Any]]](list)
    for row in compared:
        groups[row[key]].append(row)
    spreads = {group: quartiles([row[value] for row in members]) for group, members in sorted(groups.items())}
    of_all = [
        {
            **OF_ALL,
            key: group,
            "is_complete": all(row.get("is_complete", True) for row in groups[group]),
            value: quartile.median,
            "low": quartile.low,
            "high": quartile.high,
            "schools": quartile.schools,
        }
        for group, quartile in spreads.items()
        if quartile
    ]
    nothing = {"is_complete": True, "low": None, "high": None, "schools": None}
    return [*of_all, *({**nothing, **row} for row in rows)] if of_all else []


def together(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], value: str) -> list[dict[str, Any]]:
    """The rows of all schools together, with the sum of a value for each value of some columns.

    `rows`: those that are shown of each school, so that no difference shows hidden numbers."""
    sums = Counter[tuple[Any, ...]]()
    for row in rows:
        sums[tuple(row[name] for name in columns)] += row[value]
    return [{**OF_ALL, **dict(zip(columns, key, strict=True)), value: total} for key, total in sums.items()]
