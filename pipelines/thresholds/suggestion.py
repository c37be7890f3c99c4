"""Limits of early warning that find most students with an outcome, and flag no more than a budget.

The search begins with the rules in force, and moves one limit at a time while that helps. Limits of
attendance_rate stay, since they define chronic absence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import duckdb
import polars as pl

from pipelines.thresholds.flags import OUTCOME, POINT, Flags, Z

#: The fewest students with the outcome, and without, from whom limits are fitted.
FEWEST = 10
#: How many steps (`step` of a rule) a limit may move up or down.
STEPS = 10
FIXED = "attendance_rate"
RULES = """
    SELECT indicator, area, worse, warning, at_risk, cohort_percent, suffices, step
    FROM staging.stg_early_warning_rules WHERE school_id = $school_id ORDER BY indicator
"""
CASES = f"""
    SELECT week.* EXCLUDE (school_id), {POINT} AS point, {OUTCOME} AS has_happened
    FROM core.early_warning_week AS week
    JOIN core.early_warning_outcome AS outcome USING (school_id, semester_id, week, student_id)
    JOIN core.dim_semester AS semester USING (school_id, semester_id)
    WHERE school_id = $school_id AND point IS NOT NULL
    ORDER BY semester_id, week, student_id
"""

Limit = Decimal | None


@dataclass(frozen=True)
class Rule:
    """A rule in force; a limit of None raises nothing."""

    indicator: str
    area: str
    #: below, at_most or at_least.
    worse: str
    warning: Limit
    at_risk: Limit
    #: Percent of a cohort, the worst, among whom a warning is raised; None: among all.
    cohort_percent: Decimal | None
    #: Whether its warning suffices for the level.
    suffices: bool
    step: Decimal | None

    @property
    def is_consistent(self) -> bool:
        """Whether the limit at_risk is at least as grave as that of a warning."""
        if self.warning is None or self.at_risk is None:
            return True
        return self.at_risk >= self.warning if self.worse == "at_least" else self.at_risk <= self.warning

    @property
    def is_possible(self) -> bool:
        """Whether its limits are within the range of an indicator."""
        return all(0 < limit <= 100 for limit in (self.warning, self.at_risk) if limit is not None)


Rules = Mapping[str, Rule]


@dataclass(frozen=True)
class Suggestion:
    """Limits for a school, judged on semesters that they were not fitted on."""

    semesters: int
    #: None: there are too few cases to fit anything.
    proposed: Rules | None
    in_force: Rules
    #: By point, the flags of the rules in force, and of limits fitted on the other semesters. With a single
    #: semester: of limits fitted on it.
    before: Mapping[str, Flags]
    after: Mapping[str, Flags]
    #: Whether the proposed limits beat those in force on semesters that they were not fitted on.
    is_better: bool

    @property
    def changes(self) -> list[Rule]:
        """The proposed rules that differ from those in force."""
        return [rule for name, rule in (self.proposed or {}).items() if rule != self.in_force[name]]


class Cases:
    """Students at a week of closed semesters: their indicators, and whether the outcome happened later."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._masks = dict[tuple[str, Limit], pl.Series]()

    @cached_property
    def happened(self) -> pl.Series:
        return self.frame["has_happened"]

    def of(self, *, semester: int, others: bool) -> Cases:
        """The cases of a semester, or of all others."""
        condition = pl.col("semester_id") == semester
        return Cases(self.frame.filter(~condition if others else condition))

    def flags(self, rules: Rules) -> pl.Series:
        """Whether the level of each case is at least a warning (macros/early_warning.sql)."""
        nobody = pl.repeat(False, len(self.frame), eager=True)
        enough, areas = nobody, dict[str, pl.Series]()
        for rule in rules.values():
            at_risk = self._beyond(rule, rule.at_risk)
            warned = self._beyond(rule, rule.warning) & self.frame[f"{rule.indicator}_among_worst"]
            raised = at_risk | warned
            enough = enough | (raised if rule.suffices else at_risk)
            of_grades = self._missing_lowers_grades() if rule.indicator == "missing_rate" else nobody
            for area, members in ((rule.area, raised & ~of_grades), ("grades", raised & of_grades)):
                areas[area] = areas.get(area, nobody) | members
        count = sum((members.cast(pl.Int8) for members in areas.values()), nobody.cast(pl.Int8))
        return enough | (count >= 2)

    def count(self, flagged: pl.Series) -> dict[str, Flags]:
        """The flags by point."""
        groups = (
            self.frame.select("point", "has_happened", flagged=flagged)
            .group_by("point")
            .agg(
                pl.len().alias("students"),
                pl.col("has_happened").sum().alias("with_outcome"),
                pl.col("flagged").sum().alias("flagged"),
                (pl.col("flagged") & pl.col("has_happened")).sum().alias("hits"),
            )
        )
        return {row.pop("point"): Flags(**row) for row in groups.sort("point", descending=True).to_dicts()}

    def _beyond(self, rule: Rule, limit: Limit) -> pl.Series:
        """Whether the indicator is judged, and beyond a limit."""
        key = (rule.indicator, limit)
        if key not in self._masks:
            value, end = self.frame[rule.indicator].cast(pl.Float64), None if limit is None else float(limit)
            if end is None:
                beyond = pl.repeat(False, len(value), eager=True)
            elif rule.worse == "at_least":
                beyond = value >= end
            else:
                beyond = value < end if rule.worse == "below" else value <= end
            is_judged = self.frame[f"{rule.indicator}_level"].is_not_null()
            self._masks[key] = is_judged & beyond.fill_null(False)
        return self._masks[key]

    def _missing_lowers_grades(self) -> pl.Series:
        return self.frame["missing_lowers_grades"].fill_null(False)


def read_rules(con: duckdb.DuckDBPyConnection, school_id: int) -> Rules:
    """The rules in force in a school, by indicator."""
    rows = con.execute(RULES, {"school_id": school_id}).fetchall()
    return {row[0]: Rule(*row) for row in rows}


def read_cases(con: duckdb.DuckDBPyConnection, school_id: int, rules: Rules) -> Cases:
    """The cases of a school's closed semesters whose outcome is known."""
    frame = con.sql(CASES, params={"school_id": school_id}).pl()
    return Cases(
        frame.with_columns(map(_among_worst, rules.values())).filter(pl.col("has_happened").is_not_null())
    )


def _among_worst(rule: Rule) -> pl.Expr:
    """Whether fewer than `cohort_percent` percent of the others in the cohort are as bad or worse."""
    if rule.cohort_percent is None:
        among = pl.lit(True)
    else:
        value = pl.col(rule.indicator).cast(pl.Float64)
        judged = pl.when(pl.col(f"{rule.indicator}_level").is_not_null()).then(value)
        cohort = ("semester_id", "week", "cohort_id")
        as_bad = (-judged if rule.worse == "at_least" else judged).rank("max").over(cohort)
        others = judged.count().over(cohort) - 1
        among = 100.0 * (as_bad - 1.0) < float(rule.cohort_percent) * others
        among = among.fill_null(False) & pl.col("cohort_id").is_not_null()
    return among.alias(f"{rule.indicator}_among_worst")


def suggest(cases: Cases, rules: Rules, budget: float) -> Suggestion:
    """Fit limits to a school's closed semesters. `budget`: the greatest percentage of flagged students."""
    semesters = cases.frame["semester_id"].unique(maintain_order=True).to_list()
    positives = int(cases.happened.sum())
    if min(positives, len(cases.frame) - positives) < FEWEST:
        return Suggestion(len(semesters), None, rules, cases.count(cases.flags(rules)), {}, is_better=False)
    proposed = fit(cases, rules, budget)
    before = cases.flags(rules)
    if len(semesters) == 1:
        after = cases.flags(proposed)
    else:
        after = pl.concat(
            cases.of(semester=semester, others=False).flags(
                fit(cases.of(semester=semester, others=True), rules, budget)
            )
            for semester in semesters
        )
    return Suggestion(
        len(semesters),
        proposed,
        rules,
        cases.count(before),
        cases.count(after),
        is_better=len(semesters) > 1 and proposed != rules and _is_better(cases, before, after, budget),
    )


def fit(cases: Cases, rules: Rules, budget: float) -> Rules:
    """Move limits, one at a time, as long as more students with the outcome are found within the budget."""
    best, best_score = dict(rules), _score(cases, rules, budget)
    while True:
        start = best_score
        for rule in rules.values():
            for candidate in _candidates(rule, best[rule.indicator]):
                tried = best | {rule.indicator: candidate}
                score = _score(cases, tried, budget)
                if score > best_score:
                    best, best_score = tried, score
        if best_score == start:
            return best


def _candidates(in_force: Rule, now: Rule) -> list[Rule]:
    """The rule with one of its limits moved, the nearest to the limit in force first. A limit that it passes
    moves along, so that at_risk stays graver."""
    if in_force.indicator == FIXED or in_force.step is None:
        return []
    steps = [number * in_force.step for number in sorted(range(-STEPS, STEPS + 1), key=abs)]
    moved = list[Rule]()
    if in_force.warning is not None:
        for limit in (in_force.warning + step for step in steps):
            rule = replace(now, warning=limit)
            moved.append(rule if rule.is_consistent else replace(rule, at_risk=limit))
    if in_force.at_risk is not None:
        for limit in (in_force.at_risk + step for step in steps):
            rule = replace(now, at_risk=limit)
            moved.append(rule if rule.is_consistent else replace(rule, warning=limit))
    return [rule for rule in moved if rule != now and rule.is_possible]


def _score(cases: Cases, rules: Rules, budget: float) -> tuple[bool, float, int]:
    """The greater, the better: within the budget the hits, else how near the budget is; then fewer flags."""
    flagged = cases.flags(rules)
    share = _share(cases, flagged)
    hits, all_flagged = int((flagged & cases.happened).sum()), int(flagged.sum())
    if share <= budget:
        return True, hits, -all_flagged
    return False, -share, hits


def _share(cases: Cases, flagged: pl.Series) -> float:
    """The percentage of flagged students, at the week with the greater one."""
    return max(100 * flags.flagged / flags.students for flags in cases.count(flagged).values())


def _is_better(cases: Cases, before: pl.Series, after: pl.Series, budget: float) -> bool:
    """If the rules in force are within the budget: whether more students are found than by chance (McNemar's
    test). If they are over it: whether fewer are flagged, and no smaller share of these has the outcome."""
    if _share(cases, before) <= budget:
        flagged = cases.frame.select("semester_id", "student_id", before=before, after=after)
        students = (
            flagged.filter(cases.happened)
            .group_by("semester_id", "student_id")
            .agg(pl.col("before").any(), pl.col("after").any())
        )
        gained, lost = (
            int((students[name] & ~students[other]).sum())
            for name, other in (("after", "before"), ("before", "after"))
        )
        return gained - lost > Z * math.sqrt(gained + lost)
    precision = [int((cases.happened & flags).sum()) / max(int(flags.sum()), 1) for flags in (before, after)]
    return _share(cases, after) < _share(cases, before) and precision[1] >= precision[0]


def changed_limits(before: Rule, after: Rule) -> Sequence[tuple[str, Limit, Limit]]:
    """The limits that differ: level, before, after."""
    pairs = (("warning", before.warning, after.warning), ("at_risk", before.at_risk, after.at_risk))
    return [pair for pair in pairs if pair[1] != pair[2]]
