"""Which schools need a look, why, and in which order; by numbers that were worked out by hand."""

from dataclasses import replace
from datetime import datetime, timedelta

import duckdb
import pytest

from exports.board.comparison import (
    Facts,
    Quartiles,
    quartiles,
    reasons_by_school,
    spread,
    urgency,
    with_quartiles,
)
from exports.board.data import MOST_NAMES, abridged
from exports.source import Origin, School
from exports.spreadsheet.sheets import Figure, Words
from warehouse.age import STALE, Age

NOW = datetime(2026, 3, 17, 1)
LABEL = Words("Present", "出勤率")
FRESH = Origin(School(1, "一中"), "20260317T0200", NOW, age=Age(NOW))


def facts(number: float | None = 95.0, **shares: float) -> Facts:
    """A school with one figure."""
    return Facts((Figure("present", LABEL, LABEL, LABEL, (), number),), None, shares, lacks_grades=False)


def names(age: Age, own: Facts | None = None, usual: dict[str, Quartiles] | None = None) -> list[str]:
    """The names of a school's reasons beside a school that was loaded just now."""
    [reasons] = reasons_by_school([replace(FRESH, age=age)], {1: own or facts()}, NOW, usual or {}).values()
    return [reason.name for reason in reasons]


def test_quartiles_are_interpolated() -> None:
    """Of six values the lower quartile is a quarter of the way from the second to the third."""
    assert quartiles([95, 90, 91, 94, 92, 93]) == Quartiles(91.25, 92.5, 93.75, 6)
    assert quartiles([50, 10, 20, 40, 30]) == Quartiles(20, 30, 40, 5)


def test_quartiles_are_those_of_duckdb() -> None:
    values = [88.1, 93.4, 90.0, 97.2, 91.5, 99.9, 72.3, 95.0]
    with duckdb.connect() as con:
        [(cuts,)] = con.execute(
            "SELECT quantile_cont(value, [0.25, 0.5, 0.75]) FROM (SELECT unnest($1::DOUBLE[]) AS value)",
            [values],
        ).fetchall()
    own = quartiles(values)
    assert own and (own.low, own.median, own.high) == pytest.approx(cuts, abs=0.005)


def test_few_schools_have_no_quartiles() -> None:
    assert quartiles([1, 2, 3, 4]) is None


def test_far_is_one_and_a_half_widths_outside() -> None:
    """The middle half from 20 to 40 is 20 wide: far are values above 70, or below -10."""
    usual = Quartiles(20, 30, 40, 25)
    assert [usual.beyond(value, less_is_worse=False) for value in (-11, 70, 70.1)] == [False, False, True]
    assert [usual.beyond(value, less_is_worse=True) for value in (-10.1, -10, 71)] == [True, False, False]


def test_a_school_that_was_loaded_is_fine() -> None:
    assert names(Age(NOW)) == []
    assert names(Age(NOW - STALE)) == []


def test_each_gap_in_the_data_is_a_reason() -> None:
    assert names(Age()) == ["never"]
    assert names(Age(NOW - STALE - timedelta(minutes=1))) == ["old"]
    assert names(Age(NOW, older=frozenset({"grades"}))) == ["failed"]
    assert names(Age(NOW, never={"scores": ()})) == ["part"]
    assert names(Age(NOW), facts(None)) == ["unknown"], "what is not known is not fine"


def test_a_school_is_far_only_in_the_worse_direction() -> None:
    usual = {name: Quartiles(20, 30, 40, 25) for name in ("present", "at_risk", "rolls")}
    low, high = -11.0, 71.0
    assert names(Age(NOW), facts(present=low, at_risk=low, rolls=low), usual) == ["present"]
    assert names(Age(NOW), facts(present=high, at_risk=high, rolls=high), usual) == ["at_risk", "rolls"]
    assert names(Age(NOW), facts(), usual) == [], "nothing is known to compare"


def test_the_detail_has_the_school_and_the_median() -> None:
    [[reason]] = reasons_by_school(
        [FRESH], {1: facts(present=71.26)}, NOW, {"present": Quartiles(93, 94.5, 96, 25)}
    ).values()
    assert reason.detail == Words("71.26%, median 94.50%", "71.26%，中位数94.50%")


def test_schools_are_sorted_by_their_reasons() -> None:
    """First by the number of reasons, then by the most urgent, then by the distance; the fine ones last."""
    usual = {"present": Quartiles(93, 94, 95, 25)}
    schools = {
        1: (Age(NOW), facts()),
        2: (Age(NOW), facts(present=80.0)),
        3: (Age(NOW), facts(present=70.0)),
        4: (Age(NOW - 2 * STALE), facts()),
        5: (Age(NOW - 3 * STALE), facts()),
        6: (Age(NOW, never={"scores": ()}), facts(None)),
        7: (Age(), facts()),
    }
    origins = [replace(FRESH, school=School(id, str(id)), age=age) for id, (age, _) in schools.items()]
    reasons = reasons_by_school(origins, {id: own for id, (_, own) in schools.items()}, NOW, usual)
    assert sorted(schools, key=lambda id: urgency(reasons[id])) == [6, 7, 5, 4, 3, 2, 1]


def test_schools_without_a_share_are_not_compared() -> None:
    """Of five schools the rolls are known, of four the attendance."""
    own = {id: facts(rolls=10.0 * id) for id in range(1, 6)} | {
        id: facts(present=90.0) for id in range(6, 10)
    }
    assert spread(own) == {"rolls": Quartiles(20, 30, 40, 5)}


def test_a_week_of_all_schools_has_their_quartiles() -> None:
    """The first week of five schools; the second of four, which say too little."""
    weeks = [
        {"kind": "class", "key": str(id), "week": week, "rate": 10.0 * id, "is_complete": id < 3}
        for week, schools in ((1, 5), (2, 4))
        for id in range(1, schools + 1)
    ]
    first, *schools = with_quartiles(weeks, weeks, "week", "rate")
    assert (first["kind"], first["week"], first["schools"]) == ("school", 1, 5)
    assert (first["low"], first["rate"], first["high"]) == (20, 30, 40)
    assert first["is_complete"] is False
    assert [(row["week"], row["rate"]) for row in schools] == [(row["week"], row["rate"]) for row in weeks]


def test_a_long_list_names_the_first_schools() -> None:
    schools = [str(number) for number in range(1, MOST_NAMES + 3)]
    assert abridged(schools[:2]) == Words("1, 2", "1、2")
    assert abridged(schools).en.endswith("9, 10 and 2 more")
    assert abridged(schools).zh.endswith("9、10等12所学校")
