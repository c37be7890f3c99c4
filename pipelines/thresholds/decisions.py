"""The net benefit of ways to choose students for a talk, if it is worth it where one in so many needs it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import duckdb

from exports.library.words import labels
from pipelines.thresholds.back_test import LAST_CLOSED, PAIRS, point_label
from pipelines.thresholds.flags import FEWEST_OF_SHARE, wilson
from warehouse.published.reading import records
from warehouse.rounding import half_up

#: The outcomes that a level contains, with the labels of the area that does not, and of the outcome.
OUTCOMES = {outcome: labels for (rule, outcome), labels in PAIRS.items() if rule != "level_warning"}
#: A row of QUERY.
Counts = Mapping[str, Any]
#: Numbers that are no indicators, in words.
SINGLES = {
    **{name: words.en for name, words in labels("indicators").items()},
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
    areas AS (
        SELECT
            school_id, semester_id, semester_name, week, outcome, students, with_outcome,
            judged AS judged_by_area, flagged AS flagged_by_area, hits AS hits_by_area
        FROM ({LAST_CLOSED})
        WHERE is_verdict_week AND outcome IN {tuple(OUTCOMES)}
    ),
    cases AS (
        SELECT
            outcomes.outcome, outcomes.week, outcomes.has_happened, chance >= $chance AS by_score,
            single_chance >= $chance AS by_single, best_single, is_off_track
        FROM (
            UNPIVOT core.early_warning_outcome ON {", ".join(OUTCOMES)} INTO NAME outcome VALUE has_happened
        ) AS outcomes
        SEMI JOIN areas USING (school_id, semester_id, week, outcome)
        LEFT JOIN core.early_warning_score_unseen USING (school_id, semester_id, week, student_id, outcome)
        LEFT JOIN last_grades USING (school_id, semester_id, student_id)
    )
    SELECT
        areas.* EXCLUDE (school_id, semester_id), any_value(cases.best_single) AS best_single,
        coalesce(any_value(is_shown), false) AS is_shown,
        {
    ", ".join(
        f"count({rule}) AS judged_{rule}, count(*) FILTER ({rule}) AS flagged_{rule}, "
        f"count(*) FILTER ({rule} AND has_happened) AS hits_{rule}"
        for rule in ("by_score", "by_single", "is_off_track")
    )
}
    FROM areas
    JOIN cases USING (outcome, week)
    LEFT JOIN marts.early_warning_score_judgement AS judgements USING (school_id, outcome, week)
    GROUP BY areas.*
"""
COLUMNS = ["outcome", "by", "talks with", "talks", "needed", "net benefit per 100 students"]
NOTE = (
    "In brackets: the 95% interval over the students of that semester. The table does not say whether two "
    "ways differ by more than chance."
)


def decision_title(one_in: int) -> str:
    """The title of the table."""
    return (
        f"A talk is worth it if one in {one_in} needs it: in the last closed semester, "
        f"needed talks less 1/{one_in - 1} of the others"
    )


def decision_rows(
    published: duckdb.DuckDBPyConnection,
    rebuilt: duckdb.DuckDBPyConnection,
    school_id: int,
    one_in: int,
) -> list[list[str | int]]:
    """The rows below COLUMNS, of the reasons in force and of those of the thresholds that are tried."""
    before, after = (_outcomes(con, school_id, one_in) for con in (published, rebuilt))
    return [row for outcome in OUTCOMES if outcome in after for row in _rows(before, after, outcome, one_in)]


def net_benefit(talks: int, needed: int, students: int, one_in: int) -> Decimal:
    """The net benefit per 100 students: of one in N, an unneeded talk costs 1 / (N - 1) of a needed one."""
    benefit = 100 * (Decimal(needed) - Decimal(talks - needed) / (one_in - 1)) / students
    return half_up(benefit, 1)


def net_benefit_interval(talks: int, needed: int, students: int, one_in: int) -> tuple[float, float]:
    """Its 95% interval. `students` is above 0.

    Made of Wilson's intervals of the shares of needed and of unneeded talks, whose correlation is that of a
    multinomial distribution: Zou (2007), Psychological Methods 12, 399.
    """
    cost, unneeded = 1 / (one_in - 1), talks - needed
    (low, high), (low_unneeded, high_unneeded) = wilson(needed, students), wilson(unneeded, students)
    share, share_unneeded = needed / students, unneeded / students
    spread = needed * (students - needed) * unneeded * (students - unneeded)
    correlation = -needed * unneeded / math.sqrt(spread) if spread else 0.0
    benefit = share - cost * share_unneeded
    below, above = (
        math.sqrt(a * a + b * b - 2 * correlation * a * b)
        for a, b in (
            (share - low, cost * (high_unneeded - share_unneeded)),
            (high - share, cost * (share_unneeded - low_unneeded)),
        )
    )
    return 100 * (benefit - below), 100 * (benefit + above)


def _benefit(talks: int, needed: int, students: int, one_in: int) -> str:
    low, high = net_benefit_interval(talks, needed, students, one_in)
    return f"{net_benefit(talks, needed, students, one_in)} ({half_up(low, 1)} to {half_up(high, 1)})"


def _rows(
    before: Mapping[str, Counts], after: Mapping[str, Counts], outcome: str, one_in: int
) -> Iterator[list[str | int]]:
    counts, (area, label) = after[outcome], OUTCOMES[outcome]
    students, with_outcome, first = counts["students"], counts["with_outcome"], [label, point_label(counts)]
    if with_outcome < FEWEST_OF_SHARE:
        yield [*first, f"too few: {with_outcome} of {students} students have it", "-", "-", "-"]
        return
    score = "score" if counts["is_shown"] else "score (not proven, not shown)"
    single = SINGLES.get(counts["best_single"], "")
    names = ("flagged_by_area", "hits_by_area", "students", "semester_name")
    was = before.get(outcome)
    is_same = was is not None and all(was[name] == counts[name] for name in names)
    choices = [
        (f"{area}, published", "by_area", None if is_same else was),
        (area if is_same else f"{area}, now", "by_area", counts),
        (score, "by_score", counts),
        (f"best single number: {single}", "by_single", counts),
        ("off track last semester (after Chicago)", "is_off_track", counts),
    ]
    for name, rule, of_rule in choices:
        if of_rule is not None and of_rule[f"judged_{rule}"]:
            talks, needed = of_rule[f"flagged_{rule}"], of_rule[f"hits_{rule}"]
            benefit = _benefit(talks, needed, of_rule["students"], one_in)
            yield [label, point_label(of_rule), name, talks, needed, benefit]
        elif of_rule is not None:
            name = name.partition(":")[0] if rule == "by_single" else name
            yield [label, point_label(of_rule), name, "not known", "-", "-"]
    yield [*first, "everybody", students, with_outcome, _benefit(students, with_outcome, students, one_in)]
    yield [*first, "nobody", 0, 0, "0.0"]


def _outcomes(con: duckdb.DuckDBPyConnection, school_id: int, one_in: int) -> dict[str, Counts]:
    rows = records(con, QUERY, {"school_id": school_id, "chance": 1 / one_in})
    return {row["outcome"]: row for row in rows}
