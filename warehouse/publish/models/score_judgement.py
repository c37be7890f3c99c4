"""How the early-warning score does on unseen students, beside the level and the best single number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from warehouse.publish.models.score_fit import (
    FEWEST,
    WEEK,
    Integers,
    Numbers,
    area,
    chance,
    fit_logistic,
    smaller,
)

#: The standard normal quantile of a 95% interval.
Z = 1.959964
#: The fewest students with an outcome, and without, for a verdict.
FEWEST_OF_VERDICT = 30
#: What decimal(9, 4) of marts.early_warning_score_judgement can show.
GREATEST_SLOPE = 99_999.0
KEYS = ("school_id", "outcome", "week")
AREAS = ("auc", "level_auc", "single_auc", "auc_difference", "slope")
FIGURES = (*(f"{name}{end}" for name in AREAS for end in ("", "_low", "_high")), "brier", "base_rate_brier")


def judge_score(rows: pl.DataFrame) -> pl.DataFrame:
    """The figures by school, outcome and week. `rows`: unseen chances, with the level as a number."""
    groups = rows.sort("school_id", "semester_id", "student_id").partition_by(*KEYS, as_dict=True)
    judged = [dict(zip(KEYS, key, strict=True)) | _judge(frame) for key, frame in sorted(groups.items())]
    proven = {(row["school_id"], row["outcome"]) for row in judged if row["week"] == WEEK and _is_better(row)}
    return pl.DataFrame(
        [
            row | {"is_shown": (row["school_id"], row["outcome"]) in proven and _is_better(row)}
            for row in judged
        ],
        infer_schema_length=None,
    )


def slope(has_happened: Numbers, chances: Numbers, strata: Integers) -> tuple[float, float] | None:
    """The slope of a logistic regression of an outcome on its chance's logit, and its standard error.

    None: all students of each stratum have the same chance or outcome, or chances separate the outcomes."""
    logits = np.log(np.clip(chances, 1e-9, 1)) - np.log(np.clip(1 - chances, 1e-9, 1))
    # Other strata say nothing of the slope, and have no finite intercept.
    mixed = [
        stratum
        for stratum in np.unique(strata)
        if np.ptp(has_happened[strata == stratum]) and np.ptp(logits[strata == stratum]) > 1e-9
    ]
    if all(_is_separated(has_happened, logits, strata == stratum) for stratum in mixed) or all(
        _is_separated(has_happened, -logits, strata == stratum) for stratum in mixed
    ):
        return None
    rows = np.isin(strata, mixed)
    design = np.column_stack([logits, *((strata == stratum).astype(float) for stratum in mixed)])[rows]
    coefficients = fit_logistic(design, has_happened[rows], np.full(design.shape[1], 1e-9))
    fitted = chance(design @ coefficients)
    information = (design.T * (fitted * (1 - fitted))) @ design
    return float(coefficients[0]), math.sqrt(float(np.linalg.inv(information)[0, 0]))


def _judge(frame: pl.DataFrame) -> dict[str, Any]:
    has_happened = frame["has_happened"].cast(pl.Float64).to_numpy()
    chances, folds = frame["chance"].to_numpy(), frame["fold"].to_numpy()
    positives, share = int(has_happened.sum()), float(has_happened.mean())
    has_interval = smaller(has_happened) >= FEWEST
    risks = {"": chances, "single_": frame["single_chance"].to_numpy()}
    areas = {name: area(has_happened, risk, folds) for name, risk in risks.items()}
    difference = areas[""][0] - areas["single_"][0]
    half = _quantile(has_happened) * _error(frame, areas[""][1] - areas["single_"][1])
    figures: dict[str, Any] = {
        "students": frame.height,
        "with_outcome": positives,
        "semesters": frame["semester_id"].n_unique(),
        "best_single": frame["best_single"][0],
        "auc_difference": difference,
        "auc_difference_low": difference - half if has_interval else None,
        "auc_difference_high": difference + half if has_interval else None,
        "brier": float(np.mean((chances - has_happened) ** 2)),
        "base_rate_brier": share * (1 - share),
    }
    # An unknown level is no level.
    has_level = frame["level"].is_not_null().to_numpy()
    level = frame.filter(has_level)["level"].cast(pl.Float64).to_numpy()
    areas["level_"] = area(has_happened[has_level], level, folds[has_level])
    for name, (auc, influence) in areas.items():
        judged = has_level if name == "level_" else np.full(frame.height, True)
        low, high = None, None
        if smaller(has_happened[judged]) >= FEWEST:
            error = _error(frame.filter(judged), influence)
            low, high = _around_area(auc, _quantile(has_happened[judged]) * error)
        figures |= {f"{name}auc": auc, f"{name}auc_low": low, f"{name}auc_high": high}
    if has_interval and (line_and_error := slope(has_happened, chances, folds)):
        line, error = line_and_error
        ends = {"slope": line, "slope_low": line - Z * error, "slope_high": line + Z * error}
        if all(abs(end) <= GREATEST_SLOPE for end in ends.values()):
            figures |= ends
    return dict.fromkeys(FIGURES) | {name: value for name, value in figures.items() if value == value}


def _quantile(has_happened: Numbers) -> float:
    """Near Student's t: of few students with or without the outcome, the error itself is uncertain."""
    return Z + (Z**3 + Z) / 4 / max(smaller(has_happened) - 1, 1)


def _is_separated(has_happened: Numbers, logits: Numbers, rows: npt.NDArray[np.bool_]) -> bool:
    """Whether nobody without the outcome has a greater chance than anybody with it."""
    return bool(logits[rows & (has_happened > 0)].min() >= logits[rows & (has_happened == 0)].max())


def _error(frame: pl.DataFrame, influence: Numbers) -> float:
    """The standard error of a sum of influences. The semesters of a student are no independent cases."""
    by_student = frame.select("student_id", pl.Series("influence", influence)).group_by("student_id").sum()
    return math.sqrt(float((by_student["influence"] ** 2).sum()))


def _around_area(auc: float, half: float) -> tuple[float | None, float | None]:
    """The interval of an AUC by its logit; none at 0 and 1. `half`: half its width without the logit."""
    if not 0 < auc < 1:
        return None, None
    middle, reach = math.log(auc / (1 - auc)), half / (auc * (1 - auc))
    low, high = chance(np.array([middle - reach, middle + reach])).tolist()
    return low, high


def _is_better(row: Mapping[str, Any]) -> bool:
    """Whether a score is better than a coin and than the best single number, beyond chance."""
    if min(row["with_outcome"], row["students"] - row["with_outcome"]) < FEWEST_OF_VERDICT:
        return False
    return (row["auc_low"] or 0) > 0.5 and row["auc_difference_low"] > 0
