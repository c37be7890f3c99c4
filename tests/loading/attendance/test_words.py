"""How the weeks of a reading are told."""

import pytest

from loading.attendance.weeks import in_spans


@pytest.mark.parametrize(
    ("weeks", "words"), [([], ""), ([3], "3"), ([1, 2, 3], "1-3"), ([9, 1, 2, 4, 5], "1-2, 4-5, 9")]
)
def test_weeks_in_a_row_are_a_span(weeks: list[int], words: str) -> None:
    assert in_spans(weeks) == words
