"""The figures and the rows of charts of many schools: a few queries for all schools together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from exports.board.rows import LEVELS
from exports.board.schools.words import SCHOOLS
from exports.figures import Counts, at_risk_figure, never_loaded_of, never_words, present_figure, rolls_figure
from exports.library.view_rows import read_rows
from exports.spreadsheet.sheets import Figure, Words
from warehouse.rounding import half_up

#: Smaller numbers of students are hidden.
SMALLEST = 5
#: What a hidden number of students counts as in quartiles: the middle of 1 to 4.
HIDDEN = 2.5


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
    return 0 < students < SMALLEST


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
        and school.levels[level] >= SMALLEST
    ]


def without_small_subjects(bands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bands of the subjects of schools with enough grades to identify no student."""
    graded = Counter[tuple[int, str]]()
    for row in bands:
        graded[row["school_id"], row["subject"]] += row["grades"]
    return [row for row in bands if graded[row["school_id"], row["subject"]] >= SMALLEST]
