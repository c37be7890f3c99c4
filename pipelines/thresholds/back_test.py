"""The back-test of thresholds in the last closed semester, by outcomes that a rule does not contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from exports.library.words import labels
from pipelines.thresholds.flags import COLUMNS, Flags
from warehouse.published.reading import records

#: Each rule, with an outcome that it does not look at in the same semester.
PAIRS = {
    ("attendance_reasons", "failed_courses"): ("a warning of attendance", "two failed courses"),
    ("grades_reasons", "chronic_absence"): ("a warning of grades", "chronic absence"),
    ("level_warning", "has_left"): ("level: warning or at risk", "left"),
    ("level_warning", "failed_next"): ("level: warning or at risk", "failed a course next semester"),
}
TITLE = "Back-test: what happened after the week in the last closed semester, by rules that do not contain it"
HEADINGS = ["flagged by", "outcome", "by", "thresholds", *COLUMNS]
#: Of each pair the weeks of the last closed semester in which the outcome is known.
LAST_CLOSED = f"""
    SELECT back_test.*
    FROM marts.early_warning_backtest AS back_test
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE school_id = $school_id AND (rule, outcome) IN {tuple(PAIRS)} AND NOT is_contained
    QUALIFY rank() OVER (PARTITION BY rule, outcome ORDER BY first_day DESC NULLS LAST, semester_id DESC) = 1
"""
QUERY = f"""
    SELECT
        rule, outcome, semester_name, week, students, with_outcome, judged, flagged, hits, single_hits,
        best_single, chance_verdict AS verdict
    FROM ({LAST_CLOSED})
    WHERE is_verdict_week OR week = 2 * (week + weeks_left) // 3
    ORDER BY list_position({list(PAIRS)}, (rule, outcome)), week
"""
STATUS = """
    SELECT outcome, semester_name, status_en, weeks_missing FROM marts.early_warning_backtest_status
    WHERE school_id = $school_id ORDER BY outcome, semester_id
"""

#: Rule, outcome and point.
Key = tuple[str, str, str]


def point_label(row: Mapping[str, Any]) -> str:
    """The semester and week of a row."""
    return f"{row['semester_name']}, week {row['week']}"


def back_test(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[Key, Flags]:
    """The flags of a school's last closed semester by rule, outcome and point."""
    flags = {}
    for row in records(con, QUERY, {"school_id": school_id}):
        key = row.pop("rule"), row.pop("outcome"), point_label(row)
        del row["semester_name"], row["week"]
        if single := row.pop("best_single"):
            row["best_single"] = labels("indicators")[single].en
        flags[key] = Flags(**row)
    return flags


def back_test_rows(
    published: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection, school_id: int
) -> list[list[str]]:
    """The rows below HEADINGS, of the thresholds in force and of those that are tried."""
    before, after = (back_test(con, school_id) for con in (published, rebuilt))
    rows = []
    for rule, outcome, point in {**after, **before}:
        was, now = (flags.get((rule, outcome, point)) for flags in (before, after))
        versions = {"published, now": now} if was == now else {"published": was, "now": now}
        rows += [
            [*PAIRS[rule, outcome], point, name, *flags.cells] for name, flags in versions.items() if flags
        ]
    return rows


def pending_rows(
    con: duckdb.DuckDBPyConnection, school_id: int, rows: Sequence[Sequence[str]]
) -> list[list[str | int | None]]:
    """Outcome, semester, status and weeks until it is possible, of outcomes that `rows` lack."""
    shown_outcomes = {row[1] for row in rows}
    labels = {outcome: outcome_label for (_, outcome), (_, outcome_label) in PAIRS.items()}
    return [
        [labels[row["outcome"]], row["semester_name"], row["status_en"], row["weeks_missing"]]
        for row in records(con, STATUS, {"school_id": school_id})
        if row["outcome"] in labels and labels[row["outcome"]] not in shown_outcomes
    ]
