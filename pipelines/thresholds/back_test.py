"""The back-test of thresholds: rules against outcomes that they do not contain, in closed semesters."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from exports.source import records
from exports.workbooks.terms import INDICATORS
from pipelines.thresholds.flags import COLUMNS, Flags

#: Each rule, with an outcome that it does not look at in the same semester.
PAIRS = {
    ("attendance_reasons", "failed_courses"): ("a warning of attendance", "two failed courses"),
    ("grades_reasons", "chronic_absence"): ("a warning of grades", "chronic absence"),
    ("level_warning", "has_left"): ("level: warning or at risk", "left"),
    ("level_warning", "failed_next"): ("level: warning or at risk", "failed a course next semester"),
}
TITLE = (
    "Back-test: what happened after the week to students of closed semesters, by rules that do not contain it"
)
HEADINGS = ["flagged by", "outcome", "by", "thresholds", *COLUMNS]
#: Which of the two weeks a row is of, by its `week` and the semester's `week_count`; null: neither.
POINT = "CASE WHEN week = 8 THEN 'week 8' WHEN week > 8 AND week = 2 * week_count // 3 THEN 'two thirds' END"
QUERY = f"""
    SELECT
        rule, outcome, {POINT} AS point, sum(students)::BIGINT AS students,
        sum(with_outcome)::BIGINT AS with_outcome, sum(judged)::BIGINT AS judged,
        sum(flagged)::BIGINT AS flagged, sum(hits)::BIGINT AS hits,
        if(count(single_hits) = count(*), sum(single_hits), NULL) AS single_hits,
        list(DISTINCT best_single) FILTER (best_single IS NOT NULL) AS singles
    FROM (SELECT *, week + weeks_left AS week_count FROM marts.early_warning_backtest)
    WHERE school_id = $school_id AND (rule, outcome) IN {tuple(PAIRS)} AND point IS NOT NULL
    GROUP BY rule, outcome, point
"""
STATUS = """
    SELECT outcome, semester_name, status_en, weeks_missing FROM marts.early_warning_backtest_status
    WHERE school_id = $school_id ORDER BY outcome, semester_id
"""

#: Rule, outcome and point.
Key = tuple[str, str, str]


def back_test(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[Key, Flags]:
    """The flags of a school's closed semesters by rule, outcome and point."""
    flags = {}
    for row in records(con, QUERY, {"school_id": school_id}):
        key = row.pop("rule"), row.pop("outcome"), row.pop("point")
        singles = [INDICATORS[name].en for name in row.pop("singles") or ()]
        flags[key] = Flags(**row, best_single=" or ".join(sorted(singles)))
    return flags


def back_test_rows(
    published: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection, school_id: int
) -> list[list[str]]:
    """The rows below HEADINGS, of the thresholds in force and of those that are tried."""
    before, after = (back_test(con, school_id) for con in (published, rebuilt))
    rows = []
    for (rule, outcome), labels in PAIRS.items():
        for point in ("week 8", "two thirds"):
            was, now = (flags.get((rule, outcome, point)) for flags in (before, after))
            versions = {"published, now": now} if was == now else {"published": was, "now": now}
            rows += [[*labels, point, name, *flags.cells] for name, flags in versions.items() if flags]
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
