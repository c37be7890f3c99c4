"""The work of `campus thresholds --suggest`: proposes limits from a school's closed semesters."""

from collections.abc import Sequence
from decimal import Decimal

import duckdb

from exports.source import records
from exports.workbooks.terms import INDICATORS, LEVELS
from pipelines.cli.actions.thresholds import names_of_schools
from pipelines.cli.terminal.display import USAGE, complain, console, fail, print_line, show
from pipelines.settings.settings import Settings
from pipelines.thresholds.flags import COLUMNS
from pipelines.thresholds.suggestion import (
    FEWEST,
    Rule,
    Suggestion,
    changed_limits,
    read_cases,
    read_rules,
    suggest,
)
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.thresholds import Row, ThresholdsWrong, put_rows
from warehouse.published.reading import opened

SEED = "early_warning_rules"
OWN = """
    SELECT * REPLACE ($school_id AS school_id) FROM seeds.early_warning_rules
    WHERE school_id = $school_id OR school_id IS NULL
    QUALIFY row_number() OVER (PARTITION BY indicator ORDER BY school_id NULLS LAST) = 1
"""


def run_suggest(settings: Settings, schools: Sequence[int], budget: float, *, accept: bool) -> int:
    """Show limits that flag at most `budget` percent; write them if accepted. Returns the exit status."""
    names = names_of_schools(settings, schools)
    if isinstance(names, str):
        return fail(names)
    rows = list[Row]()
    with opened(settings.published) as con:
        for school_id in schools or list(names):
            rules = read_rules(con, school_id)
            suggestion = suggest(read_cases(con, school_id, rules), rules, budget)
            console.print()
            if _show(f"School {school_id} {names[school_id]}", suggestion, budget):
                rows += _rows(con, school_id, suggestion.changes)
    console.print()
    if not rows:
        print_line("Nothing is proposed.")
        return 0
    if not accept:
        print_line("Nothing was written. To use the proposed limits, repeat the command with --accept.")
        return 0
    try:
        path = put_rows(settings.home, read_project(compiled()), SEED, rows)
    except ThresholdsWrong as error:
        for problem in error.problems:
            complain(problem)
        return USAGE
    print_line(
        f"Written to {path}. `campus thresholds` shows their effect, `campus build` puts them in force."
    )
    return 0


def _show(title: str, suggestion: Suggestion, budget: float) -> bool:
    """Show a school's suggestion; return whether limits are proposed."""
    if suggestion.proposed is None:
        print_line(
            f"{title}: too little to learn from. Closed semesters must have {FEWEST} students who failed two "
            f"courses or were chronically absent, and {FEWEST} who did not."
        )
        return False
    is_proven = suggestion.semesters > 1
    show(
        f"{title}: students of closed semesters who failed two courses or were chronically absent later",
        ["by", "limits", *COLUMNS],
        [
            [point, name, *flags[point].cells]
            for point in suggestion.before
            for name, flags in (("in force", suggestion.before), ("fitted", suggestion.after))
        ],
    )
    if is_proven:
        print_line("Fitted: each semester is judged by limits fitted on the other semesters.")
    else:
        print_line(
            "Fitted: on this same semester, the only closed one, so these figures are too good. "
            "A second closed semester is needed to prove limits."
        )
    if is_proven and not suggestion.is_better:
        print_line(f"No limits that flag at most {budget:g}% are proven to beat those in force.")
        return False
    show(
        "Proposed limits" if is_proven else "Fitted limits, not proven",
        ["indicator", "level", "in force", "proposed" if is_proven else "fitted"],
        [
            [INDICATORS[rule.indicator].en, LEVELS[level].en, _plain(before), _plain(after)]
            for rule in suggestion.changes
            for level, before, after in changed_limits(suggestion.in_force[rule.indicator], rule)
        ],
    )
    return is_proven


def _rows(con: duckdb.DuckDBPyConnection, school_id: int, rules: Sequence[Rule]) -> list[Row]:
    """The rows of the seed in force, with other limits."""
    in_force = records(con, OWN, {"school_id": school_id})
    changed = {rule.indicator: {"warning": rule.warning, "at_risk": rule.at_risk} for rule in rules}
    return [
        {name: _text(value) for name, value in (row | changed[row["indicator"]]).items()}
        for row in in_force
        if row["indicator"] in changed
    ]


def _text(value: object) -> str:
    """A value as a cell of a CSV file."""
    if isinstance(value, bool):
        return str(value).lower()
    return _plain(value) if isinstance(value, Decimal) else "" if value is None else str(value)


def _plain(number: Decimal | None) -> str:
    return "-" if number is None else f"{number.normalize():f}"
