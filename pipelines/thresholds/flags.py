"""Counts of flags against an outcome, with 95% intervals, at the two weeks that thresholds are tried at."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: The outcome that thresholds are tried against.
OUTCOME = "failed_or_chronic"
#: Which of the two weeks a row is of, by its `week` and the semester's `week_count`; null: neither.
POINT = "CASE WHEN week = 8 THEN 'week 8' WHEN week > 8 AND week = 2 * week_count // 3 THEN 'two thirds' END"
#: The standard normal quantile of a 95% interval.
Z = 1.959964


@dataclass(frozen=True)
class Flags:
    """How many of the students are flagged, have the outcome, and both."""

    students: int
    with_outcome: int
    flagged: int
    hits: int

    @property
    def missed(self) -> int:
        return self.with_outcome - self.hits

    @property
    def false_alarms(self) -> int:
        return self.flagged - self.hits

    @property
    def cells(self) -> list[str | int]:
        """The cells below COLUMNS."""
        return [
            f"{self.flagged} ({_percent(self.flagged, self.students)})",
            f"{self.hits} of {self.with_outcome}",
            self.missed,
            self.false_alarms,
            _with_interval(self.hits, self.with_outcome),
            _with_interval(self.hits, self.flagged),
        ]


COLUMNS = ["flagged", "found", "missed", "for nothing", "of those with it, found", "of the flagged, with it"]


def wilson(part: int, whole: int) -> tuple[float, float]:
    """The 95% interval of a share, by Wilson's score. `whole` is above 0."""
    share, square = part / whole, Z * Z / whole
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / whole + square / whole / 4) / (1 + square)
    return max(middle - half, 0), min(middle + half, 1)


def _with_interval(part: int, whole: int) -> str:
    if whole == 0:
        return "-"
    low, high = wilson(part, whole)
    return f"{_percent(part, whole)} ({100 * low:.0f} to {100 * high:.0f})"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"
