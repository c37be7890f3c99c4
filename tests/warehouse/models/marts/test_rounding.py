"""Every published quotient is rounded once, half up, on exact numbers: beside Python's fractions."""

import re
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pytest

from tests.kits.models import marts
from tests.kits.models.builds import PROJECT

#: Divisions and roundings of doubles that make no published decimal: a share that a correlation is of, parts
#: of what `rounded` rounds, a share of 0 to 1 that is a double, and a double that is known to be whole.
OF_DOUBLES = {
    "attendance_and_grades": {"/": 1},
    "attendance_student_pattern": {"/": 2},
    "early_warning_backtest": {"/": 24},
    "early_warning_backtest_group": {"/": 1},
    "early_warning_score": {"/": 2},
    "early_warning_score_calibration": {"avg": 1},
    "grade_class_against_cohort": {"/": 7},
    "grade_class_exam_coursework": {"/": 5},
    "grade_publication_lag": {"round": 1},
    "grade_student_growth": {"/": 8, "avg": 5},
    "grade_student_semester": {"/": 2},
    "score_item_analysis": {"/": 7},
    "score_item_group_difference": {"/": 8},
}
DIVIDES_OR_ROUNDS = re.compile(r" (/) |\b(round|avg|mean|median|mad)\(")


@pytest.fixture(scope="module")
def macros() -> Any:
    """The macros of numbers, as the compiler renders them."""
    return marts.macros("numbers")


def _half_up(number: Fraction, places: int) -> Fraction:
    """Halves away from zero."""
    scaled = abs(number) * 10**places
    whole = scaled.numerator // scaled.denominator
    whole += scaled - whole >= Fraction(1, 2)
    return Fraction(whole, 10**places) * (1 if number >= 0 else -1)


def _decimals(expression: str, pairs: list[tuple[str, str]]) -> list[Fraction | None]:
    """What an expression of `part` and `whole` is for each of the pairs."""
    shown = [f"({part}::DECIMAL(18, 6), {whole}::DECIMAL(18, 6))" for part, whole in pairs]
    query = f"SELECT ({expression})::VARCHAR FROM (VALUES {', '.join(shown)}) AS pairs (part, whole)"
    with duckdb.connect() as connection:
        return [None if text is None else Fraction(text) for (text,) in connection.execute(query).fetchall()]


def _pairs() -> list[tuple[str, str]]:
    """Halves of every kind, and others: of points in halves, of marks with six decimals, below zero."""
    luck = Random(13)
    halves = [(f"{2 * n + 1}", f"{whole}") for n in range(200) for whole in (400, 2000, 80_000)]
    marks = [(f"{luck.uniform(-100, 100):.6f}", f"{luck.uniform(0.001, 300):.6f}") for _ in range(300)]
    return [*halves, *marks, *((f"-{part}", whole) for part, whole in halves)]


@pytest.mark.parametrize(("places", "shift"), [(2, 0), (4, 0), (2, 2), (4, 2), (6, 2)])
def test_quotients_are_rounded_as_on_paper(macros: Any, places: int, shift: int) -> None:
    made = macros.percent if shift else macros.ratio
    pairs = _pairs()
    expected = [_half_up(Fraction(part) * 10**shift / Fraction(whole), places) for part, whole in pairs]
    assert _decimals(str(made("part", "whole", places=places, digits=18)), pairs) == expected


def test_rates_of_counts_and_of_workbooks_are_the_same(macros: Any) -> None:
    counts = [
        (str(part), str(whole)) for whole in (1, 3, 7, 16, 800, 20_000) for part in range(min(whole, 300))
    ]
    expected = [_half_up(Fraction(100 * int(part), int(whole)), 2) for part, whole in counts]
    assert _decimals(str(macros.rate("part::BIGINT", "whole::BIGINT")), counts) == expected


def test_the_halves_that_were_rounded_down(macros: Any) -> None:
    # 2.425 and 1.025 days, 73.695 percent, and 0.45625 as a sum of doubles comes out.
    assert _decimals(str(macros.ratio("part", "whole", places=2)), [("2095200", "864000")]) == [
        Fraction("2.43")
    ]
    assert _decimals(str(macros.ratio("part", "whole", places=2)), [("885600", "864000")]) == [
        Fraction("1.03")
    ]
    assert _decimals(str(macros.percent("part", "whole", places=2)), [("147.39", "200")]) == [
        Fraction("73.7")
    ]
    missed = "0.45624999999999993::DOUBLE"
    assert _decimals(str(macros.rounded(missed)), [("0", "0")]) == [Fraction("0.4563")]


def test_what_cannot_be_told_is_null(macros: Any) -> None:
    nothing = [("1", "0"), ("NULL", "1"), ("1", "NULL"), ("999999999999", "0.000001")]
    assert _decimals(str(macros.ratio("part", "whole")), nothing) == [None] * 4
    assert _decimals(str(macros.rate("part::BIGINT", "whole::BIGINT")), nothing[:3]) == [None] * 3
    assert _decimals(str(macros.rounded("'nan'::DOUBLE")), [("0", "0")]) == [None]


def test_a_tolerance_is_exact_at_its_edge(macros: Any) -> None:
    within = macros.is_within("0.01", "2.84", "part", "whole")
    values = _decimals(f"({within})::INTEGER", [("2.85", "1"), ("8.55", "3"), ("8.550001", "3"), ("1", "0")])
    assert values == [1, 1, 0, None]


def test_models_divide_and_round_by_the_macros_alone() -> None:
    counts_by_model: dict[str, dict[str, int]] = {}
    for layer in ("core", "marts"):
        for file in sorted((PROJECT / "models" / layer).glob("*.sql")):
            code = re.sub(r"--.*|'[^']*'", "", file.read_text(encoding="utf-8"))
            for slash, name in DIVIDES_OR_ROUNDS.findall(code):
                counts = counts_by_model.setdefault(file.stem, {})
                counts[slash or name] = counts.get(slash or name, 0) + 1
    assert counts_by_model == OF_DOUBLES, "divide by ratio, percent or rate; round a statistic by rounded"
