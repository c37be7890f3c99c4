"""The figures and the rows of charts of many schools: a few queries for all schools together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from exports.figures import (
    ATTENDANCE,
    ATTENDED_COUNTS,
    IS_DUE,
    LEVEL_COUNTS,
    ROLL_COUNTS,
    WARNINGS,
    Counts,
    at_risk_figure,
    last_day_of,
    never_loaded_of,
    never_words,
    present_figure,
    rolls_figure,
)
from exports.source import records
from exports.spreadsheet.sheets import Figure, Words
from exports.workbooks.queries import BAND, NOT_DELETED, of_schools, rate
from warehouse.rounding import half_up

#: Smaller numbers of students are hidden.
SMALLEST = 5
#: What a hidden number of students counts as in quartiles: the middle of 1 to 4.
HIDDEN = 2.5

# Each query reads the tables of `last_day_of`, which stand before it.
#: The attendance of the last school day of each school, and its rolls of the seven days up to that day.
DAYS = f"""
    , last_days AS (SELECT school_id, date AS day FROM last),
    attended AS (
        SELECT school_id, {ATTENDED_COUNTS}
        FROM marts.attendance_student_day JOIN last_days USING (school_id)
        WHERE date = day AND recorded > 0
        GROUP BY school_id
    ),
    rolls AS (
        SELECT school_id, {ROLL_COUNTS}
        FROM marts.attendance_class_session JOIN last_days USING (school_id)
        WHERE {IS_DUE.format(day="day")}
        GROUP BY school_id
    )
    FROM last_days LEFT JOIN attended USING (school_id) LEFT JOIN rolls USING (school_id)
"""
LEVELS = f"""
    SELECT school_id, {LEVEL_COUNTS}
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {NOT_DELETED}
    GROUP BY school_id
"""
#: The schools with grades.
GRADED = """
    SELECT DISTINCT school_id
    FROM marts.grade_distribution JOIN shown USING (school_id, semester_id)
    WHERE group_type = 'school' AND mean IS NOT NULL
"""
WEEKS = f"""
    SELECT
        school_id, week, bool_and(is_complete) AS is_complete,
        {rate("sum(present)", "sum(recorded)")}::DOUBLE AS rate
    FROM marts.attendance_group_week JOIN shown USING (school_id, semester_id)
    WHERE group_type = 'school' AND week IS NOT NULL AND recorded > 0
    GROUP BY ALL ORDER BY school_id, week
"""
BANDS = f"""
    , counted AS (
        SELECT school_id, group_name AS subject, band, sum(grades)::BIGINT AS grades
        FROM marts.grade_distribution_band JOIN shown USING (school_id, semester_id)
        WHERE group_type = 'subject' AND group_name IS NOT NULL AND grades > 0
        GROUP BY ALL
    )
    SELECT
        school_id, subject, {BAND} AS band,
        dense_rank() OVER (PARTITION BY school_id ORDER BY lower_percent DESC NULLS LAST) AS place, grades
    FROM counted JOIN staging.stg_grade_bands USING (school_id, band)
    ORDER BY ALL
"""


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
    days, levels, graded = (_by_school(con, query, school_ids) for query in (DAYS, LEVELS, GRADED))
    missing = never_loaded_of(con, school_ids, {*ATTENDANCE, *WARNINGS})
    return {
        id: _facts(days.get(id), levels.get(id), missing.get(id, {}), has_grades=id in graded)
        for id in school_ids
    }


def _facts(
    day: Counts | None, levels: Counts | None, missing: Mapping[str, Words], *, has_grades: bool
) -> Facts:
    unattended, unjudged = (never_words(missing, resources) for resources in (ATTENDANCE, WARNINGS))
    # The page shows no changes since earlier days.
    by_day = [day, None, None]
    present = present_figure(by_day, day, unattended)
    at_risk = at_risk_figure(levels, unjudged)
    rolls = rolls_figure(by_day, unattended)
    shares: dict[str, float] = {}
    if present.number is not None:
        shares["present"] = present.number
    if levels and at_risk.number is not None and not is_small(at_risk.number):
        shares["at_risk"] = 100 * levels["at_risk"] / levels["judged"]
    if day and rolls.number is not None:
        shares["rolls"] = 100 * day["not_taken"] / day["due"]
    return Facts((present, at_risk, rolls), levels, shares, "grades" in missing and not has_grades)


def is_small(students: float) -> bool:
    """Whether a number of students is hidden."""
    return 0 < students < SMALLEST


def share_of_level(levels: Counts | None, level: str) -> float | None:
    """The percentage of the judged students with a level, for quartiles. None: not known."""
    if not levels or not levels["is_known"] or not levels["judged"]:
        return None
    students: float = HIDDEN if is_small(levels[level]) else levels[level]
    return 100 * students / float(levels["judged"])


def week_rows(con: duckdb.DuckDBPyConnection, school_ids: Sequence[int]) -> list[dict[str, Any]]:
    """The attendance of each school and teaching week."""
    return _records(con, WEEKS, school_ids)


def level_rows(facts: Mapping[int, Facts]) -> list[dict[str, Any]]:
    """Students by level, of a hundred students whose level is known. Small numbers are left out."""
    return [
        {"school_id": id, "level": level, "students": float(half_up(share))}
        for id, school in facts.items()
        for level in ("at_risk", "warning")
        if (share := share_of_level(school.levels, level)) is not None
        and school.levels
        and school.levels[level] >= SMALLEST
    ]


def band_rows(con: duckdb.DuckDBPyConnection, school_ids: Sequence[int]) -> list[dict[str, Any]]:
    """The grades of each school by subject and band, without subjects with few grades."""
    return without_small_subjects(_records(con, BANDS, school_ids))


def without_small_subjects(bands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bands of the subjects of schools with enough grades to identify no student."""
    graded = Counter[tuple[int, str]]()
    for row in bands:
        graded[row["school_id"], row["subject"]] += row["grades"]
    return [row for row in bands if graded[row["school_id"], row["subject"]] >= SMALLEST]


def _by_school(
    con: duckdb.DuckDBPyConnection, query: str, school_ids: Sequence[int]
) -> dict[int, dict[str, Any]]:
    return {row["school_id"]: row for row in _records(con, query, school_ids)}


def _records(con: duckdb.DuckDBPyConnection, query: str, school_ids: Sequence[int]) -> list[dict[str, Any]]:
    return records(con, f"WITH {last_day_of(of_schools(school_ids))} {query}", {})
