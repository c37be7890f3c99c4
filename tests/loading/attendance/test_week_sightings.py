"""What the platform's current_week shows from night to night is kept, and decides where weeks begin."""

import re
from datetime import date, datetime
from pathlib import Path

import pytest

from campus.attendance.calendar import Sighting, decide
from loading.semesters import contradiction, rows_of_calendar, seen_now, semesters_of
from warehouse.lake.delta import Lake
from warehouse.load.logs.week_evidence import read_sightings, record_sightings

# A Thursday.
FIRST, LAST = datetime(2025, 2, 13), datetime(2025, 6, 27)
BOTH = {"name": None, "outer_id": None, "_deleted_at": None}


def v1(
    id: int, current_week: int | None, *, is_current: bool = True, **days: datetime | None
) -> dict[str, object]:
    shown = {"start_at": FIRST, "end_in": LAST, "is_current": is_current, "current_week": current_week}
    return {**BOTH, "id": id, "lesson_days": [], **shown, **days}


def v3(id: int, **days: datetime | None) -> dict[str, object]:
    return {**BOTH, "id": id, "start_at": FIRST, "end_at": LAST, "is_current": True, **days}


def test_what_was_seen_is_kept_by_school(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert read_sightings(lake, 101) == []
    seen = {"semester_id": 20, "first": date(2025, 2, 13), "earliest": date(2025, 2, 10)}
    seen |= {"latest": date(2025, 2, 13), "seen_on": date(2025, 3, 5)}
    for school_id in (101, 102):
        record_sightings(lake, school_id, [seen])
    record_sightings(lake, 101, [{**seen, "earliest": date(2025, 2, 11)}, {**seen, "semester_id": 21}])
    assert [row["semester_id"] for row in read_sightings(lake, 101)] == [20, 21]
    assert read_sightings(lake, 102) == [seen]


@pytest.mark.parametrize(
    ("rows", "moment", "seen"),
    [
        ([v1(20, 4)], datetime(2025, 3, 5, 2), [20]),
        # By a semester's own day it is close to midnight; not current; without a week.
        ([v1(20, 4)], datetime(2025, 3, 5, 0, 5), []),
        ([v1(20, 4)], datetime(2025, 3, 5, 23, 55), []),
        ([v1(20, 4, is_current=False)], datetime(2025, 3, 5, 2), []),
        ([v1(20, None)], datetime(2025, 3, 5, 2), []),
        # Its days are v3's where v1 shows none.
        ([v1(20, 4, start_at=None, end_in=None)], datetime(2025, 3, 5, 2), [20]),
    ],
)
def test_what_tells_anything(rows: list[dict[str, object]], moment: datetime, seen: list[int]) -> None:
    sightings = seen_now(semesters_of(101, rows, [v3(20)], {}), moment)
    assert [sighting.semester_id for sighting in sightings] == seen
    assert all(sighting.latest == date(2025, 2, 12) for sighting in sightings)


def test_what_is_not_clear_or_not_there_is_said_with_what_to_do() -> None:
    two = [v3(20), v3(21)]
    [words] = semesters_of(101, [v1(5020, 4)], two, {}).unclear
    assert words.startswith("school 101: semester 5020 (2025-02-13 to 2025-06-27) of v1 may be 20")
    assert re.search(r"^school 101: semester 5020 .* of v1 may be 20 .* or 21 .* of v3, ", words)
    assert "pairs: [{school: 101, v1: 5020, v3: 20}]" in words
    semesters = semesters_of(101, [v1(5020, 4)], two, {5020: 22, 5021: None})
    assert [words.split(" of campus.yaml ")[1] for words in semesters.unclear] == [
        "names semester 5021 of v1, which is not there. There are 5020.",
        "names semester 22 of v3, which is not there. There are 20, 21.",
    ]
    assert semesters_of(101, [v1(5020, 4)], two, {5020: 21}).unclear == []
    old = {"start_at": datetime(2019, 9, 1), "end_in": datetime(2020, 1, 20)}
    alone = semesters_of(101, [v1(20, 4), v1(3, 1, **old)], [v3(20)], {})
    assert alone.unclear == [] and "semester 3 (2019-09-01 to 2020-01-20) of v1" in alone.of_v1_alone
    assert semesters_of(101, [v1(3, 1, **old)], [], {}).of_v1_alone == ""


def test_a_semester_counts_by_the_rule_that_was_found() -> None:
    seen = Sighting(5020, FIRST.date(), date(2025, 2, 13), date(2025, 2, 13), date(2025, 3, 5))
    semesters = semesters_of(101, [v1(5020, 4), v1(20, 4, start_at=None, end_in=None)], [v3(20)], {})
    [matched, alone] = rows_of_calendar(semesters, decide("auto", [seen]), 7)
    assert (matched["semester_id"], matched["v1_semester_id"], matched["matched_by"]) == (20, 5020, "dates")
    assert (matched["week_1_on"], matched["weeks_begin"]) == (date(2025, 2, 13), "first_day")
    assert (matched["weeks_known_by"], matched["day_1_is"]) == ("current_week", 7)
    assert (alone["semester_id"], alone["v1_semester_id"], alone["week_1_on"]) == (-20, 20, None)
    message = contradiction(decide("monday", [seen]))
    assert "'monday' (setting)" in message and "2025-02-10" in message and "fits first_day" in message
