"""Counts of flags against an outcome, with 95% intervals. Few students have no share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from warehouse.rounding import half_up, percent
from warehouse.variables import read_variables

#: The standard normal quantile of a 95% interval.
Z = 1.959964
TOO_FEW = "too few"
#: The fewest students of a share that is shown, in percent (views.backtest_week).
FEWEST_OF_SHARE: int = read_variables()["fewest_of_share"]


@dataclass(frozen=True)
class Flags:
    """How many of the students are flagged, have the outcome, and both."""

    students: int
    with_outcome: int
    #: Of whom enough is known for the rule.
    judged: int
    flagged: int
    hits: int
    #: The hits of the best single number among as many flags; None: not known.
    single_hits: Decimal | None = None
    best_single: str | None = None
    #: `chance_verdict` of marts.early_warning_backtest.
    verdict: str | None = None

    @property
    def cells(self) -> list[str]:
        """The cells below COLUMNS."""
        base = share(self.with_outcome, self.students)
        if not self.judged:
            return ["judges nobody", base, "-", "-", "-", "-"]
        single = "not known"
        if self.flagged < FEWEST_OF_SHARE:
            single = TOO_FEW
        elif self.single_hits is not None:
            single = f"{half_up(self.single_hits, 0)} of {self.flagged} ({self.best_single})"
        return [
            f"{self.flagged} of {self.students}",
            base,
            share(self.hits, self.flagged),
            share(self.hits, self.with_outcome),
            single,
            self.verdict or "-",
        ]


COLUMNS = [
    *("flagged", "of all, with it", "of the flagged, with it", "of those with it, flagged"),
    *("as many flags by one number", "against chance"),
]


def share(count: int, whole: int) -> str:
    """A share with its interval in words."""
    if whole < FEWEST_OF_SHARE:
        return TOO_FEW
    low, high = (half_up(100 * end, 0) for end in wilson(count, whole))
    return f"{count} of {whole}: {percent(count, whole, 0)}% ({low} to {high})"


def wilson(count: int, whole: int) -> tuple[float, float]:
    """The 95% interval of a share, by Wilson's score. `whole` is above 0."""
    share, square = count / whole, Z * Z / whole
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / whole + square / whole / 4) / (1 + square)
    return max(middle - half, 0), min(middle + half, 1)
