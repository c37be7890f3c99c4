"""Drift is what changed since the last sync, of a resource and school: not what stands."""

from datetime import datetime

from campus.account import Drift
from tests.kits.lake.small_lake import MARKS, at, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import DIFFERENCES, DRIFT
from warehouse.lake.tables import Slice
from warehouse.load.logs.drift import Difference, latest_drift, record_drift
from warehouse.load.logs.load_log import record_differences
from warehouse.load.slice_reading import RetainedRows

NEXT = Slice.of(_school_id=101, _semester_id=21)
OTHER_SCHOOL = Slice.of(_school_id=102, _semester_id=30)


def unknown(*names: str, kind: str = "unknown_field") -> dict[Drift, int]:
    return {Drift(kind, name): 1 for name in names}


def told(lake: Lake, number: int) -> list[str]:
    """What a settlement tells as new."""
    schools = {("marks", 101), ("marks", 102)}
    return [difference.words for difference in record_drift(lake, schools, f"night-{number}", at(number))]


def logged(lake: Lake) -> list[tuple[str, str, datetime]]:
    rows = lake.read(DRIFT).sort_by([("seen_at", "ascending"), ("field", "ascending")]).to_pylist()
    return [(row["field"], row["change"], row["seen_at"]) for row in rows]


def test_a_difference_is_told_when_it_begins_and_again_once_it_had_gone(lake: Lake) -> None:
    sync(lake, 0, [row(1)], drift=unknown("mood"))
    assert told(lake, 0) == ["unknown_field mood"]
    sync(lake, 1, [row(1)], drift=unknown("mood"))
    assert told(lake, 1) == []
    sync(lake, 2, [row(1)], drift=unknown("mood", "rank"))
    assert told(lake, 2) == ["unknown_field rank"]
    assert latest_drift(lake) == [Difference("marks", 101, "unknown_field", "rank", None)]
    sync(lake, 3, [row(1)], drift=unknown("rank"))
    assert told(lake, 3) == [] and latest_drift(lake) == []
    sync(lake, 4, [row(1)], drift=unknown("mood", "rank"))
    assert told(lake, 4) == ["unknown_field mood"]
    assert logged(lake) == [
        ("mood", "began", at(0)),
        ("rank", "began", at(2)),
        ("mood", "ended", at(3)),
        ("mood", "began", at(4)),
    ]
    stand = lake.read(DIFFERENCES).sort_by("field").to_pylist()
    assert [(entry["field"], entry["first_seen"], entry["last_seen"]) for entry in stand] == [
        ("mood", at(4), at(4)),
        ("rank", at(2), at(4)),
    ]


def test_another_slice_of_the_school_has_no_news_and_another_school_has(lake: Lake) -> None:
    sync(lake, 0, [row(1)], drift=unknown("mood"))
    assert told(lake, 0) == ["unknown_field mood"]
    sync(lake, 1, [row(1)], slice=NEXT, drift=unknown("mood"))
    assert told(lake, 1) == []
    sync(lake, 2, [row(1)], slice=OTHER_SCHOOL, drift=unknown("mood"))
    assert told(lake, 2) == ["unknown_field mood"]
    # The first slice is rid of it, the next one was not asked for: it stands.
    sync(lake, 3, [row(1)])
    assert told(lake, 3) == []
    assert [change for _, change, _ in logged(lake)] == ["began", "began"]


def test_what_a_reading_in_part_does_not_meet_did_not_go(lake: Lake) -> None:
    sync(lake, 0, [row(1)], drift=unknown("mood"))
    assert told(lake, 0)
    for number, said in enumerate(
        [{"incremental": True}, {"retained": (RetainedRows("class_id", (7,)),)}], 1
    ):
        sync(lake, number, [], **said)
        assert told(lake, number) == []
    sync(lake, 3, [row(1)], drift=unknown("mood"))
    assert told(lake, 3) == []


def test_what_a_crash_left_out_is_told_by_the_next_run(lake: Lake) -> None:
    sync(lake, 0, [row(1)], drift=unknown("mood"))
    sync(lake, 1, [row(1)], drift=unknown("mood"))
    assert told(lake, 1) == ["unknown_field mood"]


def test_a_change_of_a_definition_is_news_each_time(lake: Lake) -> None:
    for number in (0, 2):
        record_differences(lake, MARKS, 101, [Drift("field_added", "rank", "integer")], at(number))
        assert told(lake, number) == ["field_added rank integer"]
        record_differences(lake, MARKS, 101, [], at(number + 1))
        assert told(lake, number + 1) == []
    assert [change for _, change, _ in logged(lake)] == ["began", "began"]
