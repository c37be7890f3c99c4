"""How often the early-warning score is shown, and how often its intervals hold the truth, in made-up schools.

    python -m benchmarks.early_warning_score [--worlds 1000] [--students 250]

Worlds: `nothing`: outcomes are dealt at random; `one number`: the attendance rate alone foretells them;
`several`: attendance, lateness and missing work do. For the intervals of AUC and of its difference, two fixed
numbers stand for the score and the best single number: their true AUC is that of 400,000 other students.
"""

import argparse
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

from warehouse.publish.models.score_fit import OUTCOMES, SINGLES, WEEK, area, chance, unseen_chances
from warehouse.publish.models.score_judgement import judge_score

#: The weight of standardized numbers in the logit of the outcome.
WORLDS: Mapping[str, Mapping[str, float]] = {
    "nothing": {},
    "one number": {"attendance_rate": -1.0},
    "several": {"attendance_rate": -0.7, "lateness_rate": 0.7, "missing_rate": 0.5},
}
#: The logit of the outcome where nothing foretells it: a student in eight.
BASE = -2.0
STUDENTS_OF_TRUTH = 400_000


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--students", type=int, nargs="+", default=[250])
    options = parser.parse_args()
    truth = _figures(world(np.random.default_rng(1), "several", STUDENTS_OF_TRUTH, 1))
    for students in options.students:
        for semesters in (1, 3):
            size = f"{students} students, {semesters} semesters"
            print(f"{size}: {coverage(students, semesters, options.worlds, *truth)}", flush=True)
            for name in WORLDS:
                print(f"{size}, {name}: {verdicts(name, students, semesters, options.worlds)}", flush=True)


def world(random: np.random.Generator, name: str, students: int, semesters: int) -> pl.DataFrame:
    """Closed semesters of the same students, in WEEK. Half of a number's variance stays with the student."""
    stays = {number: random.normal(size=students) for number in SINGLES}
    frames = []
    for semester in range(semesters):
        numbers = {number: (stays[number] + random.normal(size=students)) / np.sqrt(2) for number in SINGLES}
        logit = BASE + sum(weight * numbers[number] for number, weight in WORLDS[name].items())
        ids = {
            "school_id": 1,
            "semester_id": semester,
            "first_day": date(2020, 9, 1) + timedelta(days=180 * semester),
            "week": WEEK,
            "student_id": np.arange(students),
        }
        outcomes = {
            OUTCOMES[0]: random.random(students) < chance(np.full(students, 0.0) + logit),
            OUTCOMES[1]: None,
        }
        frames.append(pl.DataFrame(ids | numbers | outcomes))
    return pl.concat(frames)


def coverage(students: int, semesters: int, worlds: int, auc: float, difference: float) -> str:
    """How often the intervals of AUC and of the difference hold the truth."""
    holds_area, holds_difference = [], []
    for seed in range(worlds):
        rows = world(np.random.default_rng([seed, students, semesters]), "several", students, semesters)
        risks = [chance(risk) for risk in _risks(rows)]
        judged = judge_score(
            rows.select(
                *("school_id", "semester_id", "week", "student_id"),
                outcome=pl.lit(OUTCOMES[0]),
                fold=pl.col("semester_id"),
                has_happened=OUTCOMES[0],
                chance=pl.Series(risks[0]),
                single_chance=pl.Series(risks[1]),
                best_single=pl.lit(""),
                level=pl.lit(0),
            )
        ).to_dicts()[0]
        if judged["auc_low"] is not None:
            holds_area.append(judged["auc_low"] <= auc <= judged["auc_high"])
            low, high = judged["auc_difference_low"], judged["auc_difference_high"]
            holds_difference.append(low <= difference <= high)
    return f"intervals hold the AUC {np.mean(holds_area):.1%}, the difference {np.mean(holds_difference):.1%}"


def verdicts(name: str, students: int, semesters: int, worlds: int) -> str:
    """How often the score is shown, and how it is calibrated."""
    judged: list[dict[str, Any]] = []
    for seed in range(worlds):
        rows = world(np.random.default_rng([seed, students, semesters]), name, students, semesters)
        unseen = unseen_chances(rows)
        if unseen.height:
            judged += judge_score(unseen.with_columns(level=pl.lit(0))).to_dicts()
    lines = [row for row in judged if row["slope"] is not None]
    holds = [row["slope_low"] <= 1 <= row["slope_high"] for row in lines]
    return (
        f"shown {np.mean([row['is_shown'] for row in judged]):.1%}, "
        f"AUC {np.mean([row['auc'] for row in judged]):.3f} "
        f"beside {np.mean([row['single_auc'] for row in judged]):.3f}, "
        f"slope {np.median([row['slope'] for row in lines]):.2f}, its interval holds 1 {np.mean(holds):.1%}"
    )


def _risks(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Two fixed numbers: attendance with lateness, and attendance alone."""
    attendance, lateness = rows["attendance_rate"].to_numpy(), rows["lateness_rate"].to_numpy()
    return lateness - attendance, -attendance


def _figures(rows: pl.DataFrame) -> tuple[float, float]:
    """The AUC of the first fixed number, and its difference from that of the second."""
    has_happened = rows[OUTCOMES[0]].cast(pl.Float64).to_numpy()
    first, second = (area(has_happened, risk, np.zeros(rows.height, np.int64))[0] for risk in _risks(rows))
    return first, first - second


if __name__ == "__main__":
    main()
