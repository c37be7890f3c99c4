"""What tells about few students stays off the page of all schools."""

from typing import Any

from exports.board.comparison import Facts, level_rows, share_of_level, together, without_small_subjects
from warehouse.privacy import SMALL_GROUP


def band(school: int, subject: str, name: str, grades: int) -> dict[str, Any]:
    return {"school_id": school, "subject": subject, "band": name, "place": 1, "grades": grades}


def levels(at_risk: int, warning: int, judged: int) -> dict[str, Any]:
    return {"inputs_loaded": True, "at_risk": at_risk, "warning": warning, "judged": judged}


def test_a_subject_with_few_grades_has_no_bands() -> None:
    few = [band(1, "Art", "A", SMALL_GROUP - 2), band(1, "Art", "B", 1)]
    many = [band(1, "Music", "A", 1), band(1, "Music", "B", 4), band(2, "Art", "A", SMALL_GROUP)]
    assert without_small_subjects([*few, *many]) == many


def test_bands_of_all_schools_leave_out_hidden_ones() -> None:
    """Otherwise the hidden grades would be the difference to the schools that are shown."""
    shown = without_small_subjects([band(1, "Art", "A", 6), band(2, "Art", "A", 3), band(3, "Art", "A", 5)])
    [row] = together(shown, ("subject", "band", "place"), "grades")
    assert (row["subject"], row["band"], row["grades"]) == ("Art", "A", 11)


def test_quartiles_do_not_show_hidden_numbers() -> None:
    """1 to 4 students count as 2.5 of 50: 5%. Nobody counts as nobody."""
    assert {share_of_level(levels(number, 0, 50), "at_risk") for number in range(1, 5)} == {5}
    assert share_of_level(levels(0, 0, 50), "at_risk") == 0
    assert share_of_level(levels(5, 0, 50), "at_risk") == 10


def test_levels_that_are_not_known_have_no_share() -> None:
    assert share_of_level(None, "at_risk") is None
    assert share_of_level(levels(0, 0, 0), "at_risk") is None
    assert share_of_level({**levels(6, 0, 50), "inputs_loaded": False}, "at_risk") is None


def test_points_of_small_levels_are_left_out() -> None:
    facts = {1: Facts((), levels(4, 5, 50), {}, False), 2: Facts((), None, {}, False)}
    assert level_rows(facts) == [{"school_id": 1, "level": "warning", "students": 10.0}]
