"""The net benefit of ways to choose students for a talk, if it is worth it where one in so many needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import duckdb

from exports.source import records
from exports.workbooks.terms import INDICATORS
from pipelines.thresholds.flags import FEWEST_OF_SHARE

#: The week that is judged everywhere, chosen beforehand.
WEEK = 8
OUTCOMES = {"failed_courses": "two failed courses", "chronic_absence": "chronic absence"}
#: A row of QUERY.
Counts = Mapping[str, Any]
#: Numbers that are no indicators, in words.
SINGLES = {
    **{name: words.en for name, words in INDICATORS.items()},
    "failed_so_far": "Failed courses",
    "failed_last_semester": "A failed course last semester",
    "earlier_z_score": "Last semester's place in the cohort",
}
#: is_off_track stands in for Chicago's rule (credits earned, at most one failed core course): more than one
#: failed course in the student's last semester with grades, or under five sevenths of its credits gained.
QUERY = f"""
    WITH last_grades AS (
        SELECT
            semesters.school_id, semesters.semester_id, grades.student_id,
            arg_max(
                grades.failed_courses > 1 OR coalesce(7 * grades.gained_credits < 5 * grades.credits, false),
                earlier.first_day
            ) AS is_off_track
        FROM core.dim_semester AS semesters
        JOIN core.dim_semester AS earlier
            ON earlier.school_id = semesters.school_id AND earlier.first_day < semesters.first_day
        JOIN marts.grade_student_semester AS grades
            ON grades.school_id = earlier.school_id AND grades.semester_id = earlier.semester_id
        GROUP BY ALL
    ),
    cases AS (
        SELECT
            outcomes.outcome, outcomes.has_happened, level IN ('warning', 'at_risk') AS by_level,
            chance >= $chance AS by_score, single_chance >= $chance AS by_single, best_single, is_off_track
        FROM core.early_warning_week
        JOIN (
            UNPIVOT core.early_warning_outcome ON {", ".join(OUTCOMES)} INTO NAME outcome VALUE has_happened
        ) AS outcomes USING (school_id, semester_id, week, student_id)
        LEFT JOIN core.early_warning_score_unseen USING (school_id, semester_id, week, student_id, outcome)
        LEFT JOIN last_grades USING (school_id, semester_id, student_id)
        WHERE school_id = $school_id AND week = {WEEK}
    )
    SELECT
        outcome, count(*) AS students, count(*) FILTER (has_happened) AS with_outcome,
        any_value(best_single) AS best_single, coalesce(any_value(is_shown), false) AS is_shown,
        {
    ", ".join(
        f"count({rule}) AS judged_{rule}, count(*) FILTER ({rule}) AS flagged_{rule}, "
        f"count(*) FILTER ({rule} AND has_happened) AS hits_{rule}"
        for rule in ("by_level", "by_score", "by_single", "is_off_track")
    )
}
    FROM cases
    LEFT JOIN (
        SELECT outcome, is_shown FROM marts.early_warning_score_judgement
        WHERE school_id = $school_id AND week = {WEEK}
    ) AS judgements USING (outcome)
    GROUP BY outcome
"""
COLUMNS = ["outcome", "talks with", "talks", "needed", "net benefit per 100 students"]


def decision_title(one_in: int) -> str:
    """The title of the table."""
    return (
        f"A talk is worth it if one in {one_in} needs it: by week {WEEK} of closed semesters, "
        f"needed talks less 1/{one_in - 1} of the others"
    )


def decision_rows(
    published: duckdb.DuckDBPyConnection,
    rebuilt: duckdb.DuckDBPyConnection,
    school_id: int,
    one_in: int,
) -> list[list[str | int | Decimal]]:
    """The rows below COLUMNS, of the levels in force and of those of the thresholds that are tried."""
    before, after = (_outcomes(con, school_id, one_in) for con in (published, rebuilt))
    return [row for outcome in OUTCOMES if outcome in after for row in _rows(before, after, outcome, one_in)]


def net_benefit(talks: int, needed: int, students: int, one_in: int) -> Decimal:
    """The net benefit per 100 students: of one in N, an unneeded talk costs 1 / (N - 1) of a needed one."""
    benefit = 100 * (Decimal(needed) - Decimal(talks - needed) / (one_in - 1)) / students
    return benefit.quantize(Decimal("0.1"))


def _rows(
    before: Mapping[str, Counts], after: Mapping[str, Counts], outcome: str, one_in: int
) -> Iterator[list[str | int | Decimal]]:
    counts, label = after[outcome], OUTCOMES[outcome]
    students, with_outcome = counts["students"], counts["with_outcome"]
    if with_outcome < FEWEST_OF_SHARE:
        yield [label, f"too few: {with_outcome} of {students} students have it", "-", "-", "-"]
        return
    level, score = (
        "level: warning or at risk",
        "score" if counts["is_shown"] else "score (not proven, not shown)",
    )
    single = SINGLES.get(counts["best_single"], "")
    names = ("flagged_by_level", "hits_by_level", "students")
    was = before.get(outcome)
    is_same = was is not None and all(was[name] == counts[name] for name in names)
    choices = [
        (f"{level}, published", "by_level", None if is_same else was),
        (level if is_same else f"{level}, now", "by_level", counts),
        (score, "by_score", counts),
        (f"best single number: {single}", "by_single", counts),
        ("off track last semester (after Chicago)", "is_off_track", counts),
    ]
    for name, rule, of_rule in choices:
        if of_rule is not None and of_rule[f"judged_{rule}"]:
            talks, needed = of_rule[f"flagged_{rule}"], of_rule[f"hits_{rule}"]
            yield [label, name, talks, needed, net_benefit(talks, needed, of_rule["students"], one_in)]
        elif of_rule is not None:
            yield [label, name.partition(":")[0] if rule == "by_single" else name, "not known", "-", "-"]
    yield [label, "everybody", students, with_outcome, net_benefit(students, with_outcome, students, one_in)]
    yield [label, "nobody", 0, 0, net_benefit(0, 0, students, one_in)]


def _outcomes(con: duckdb.DuckDBPyConnection, school_id: int, one_in: int) -> dict[str, Counts]:
    rows = records(con, QUERY, {"school_id": school_id, "chance": 1 / one_in})
    return {row["outcome"]: row for row in rows}
