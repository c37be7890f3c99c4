"""What tells about few students stays off the page of all schools."""

from exports.board.schools import SMALLEST, of_many


def test_a_subject_with_few_grades_has_no_bands() -> None:
    few = [
        {"subject": "Art", "band": "A", "grades": SMALLEST - 2},
        {"subject": "Art", "band": "B", "grades": 1},
    ]
    many = [{"subject": "Music", "band": "A", "grades": 1}, {"subject": "Music", "band": "B", "grades": 4}]
    assert of_many([*few, *many]) == many
