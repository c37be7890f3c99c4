"""Which weekday a platform's day 1 is, as the labels of its timetable say."""

from collections.abc import Sequence

import pytest

from campus.attendance.calendar import MONDAY, Meeting, first_weekday, meetings_of, weekday_of

SUNDAY = 7


@pytest.mark.parametrize(
    ("days", "first"),
    [
        ([(1, "周一"), (5, "星期五")], MONDAY),
        ([(1, "周日"), (2, "周一"), (7, "周六")], SUNDAY),
        ([(1, "星期天"), (2, " Monday "), (3, "Tue.")], SUNDAY),
        ([(2, "礼拜一"), (3, "第三天"), (None, "周五")], SUNDAY),
        # Labels that contradict each other, or name no weekday, leave it as the specification has it.
        ([(1, "周日"), (2, "周二")], MONDAY),
        ([(1, "D1"), (2, None), (3, "")], MONDAY),
        ([], MONDAY),
    ],
)
def test_labels_tell_the_first_day(days: Sequence[tuple[int | None, str | None]], first: int) -> None:
    assert first_weekday(days) == first


def test_days_are_weekdays_counted_from_the_first() -> None:
    assert [weekday_of(day, SUNDAY) for day in range(1, 8)] == [7, 1, 2, 3, 4, 5, 6]
    assert [weekday_of(day, MONDAY) for day in range(1, 8)] == [1, 2, 3, 4, 5, 6, 7]
    entries = [(2, 3), (1, 1), (0, 4), (9, 1), (3, 0), (None, 1)]
    assert meetings_of(entries, SUNDAY) == {Meeting(1, 3), Meeting(7, 1)}
