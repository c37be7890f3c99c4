"""Which partitions a night loads, and in which runs."""

from hypothesis import given
from hypothesis import strategies as st

from loading.partition_keys import partition_key, semesters_by_school
from pipelines.due import PartitionRange, due_keys, school_ranges

KEYS = st.lists(st.builds(partition_key, st.integers(1, 4), st.integers(1, 40)), unique=True, max_size=40)


@given(KEYS, st.data())
def test_each_wanted_key_is_in_exactly_one_range_of_its_school(keys: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(keys))) if keys else set()
    ranges = list(school_ranges(keys, wanted))
    covered = [keys[keys.index(one.start) : keys.index(one.end) + 1] for one in ranges]
    assert sorted(key for stretch in covered for key in stretch) == sorted(wanted)
    for one, stretch in zip(ranges, covered, strict=True):
        assert set(semesters_by_school(stretch)) == {one.school_id}


@given(KEYS)
def test_semesters_of_a_school_that_stand_together_are_one_range(keys: list[str]) -> None:
    together = [key for school in _schools(keys) for key in keys if key.startswith(f"{school}:")]
    assert [one.school_id for one in school_ranges(together, together)] == _schools(keys)


def test_a_later_semester_stands_apart() -> None:
    keys = ["101:1", "101:2", "102:1", "101:3"]
    assert [(one.start, one.end) for one in school_ranges(keys, keys)] == [
        ("101:1", "101:2"),
        ("101:3", "101:3"),
        ("102:1", "102:1"),
    ]


def test_the_tags_are_those_that_dagster_reads_a_range_from() -> None:
    assert PartitionRange(101, "101:1", "101:2").tags == {
        "dagster/asset_partition_range_start": "101:1",
        "dagster/asset_partition_range_end": "101:2",
    }


def test_a_night_loads_the_current_semester_and_what_was_never_loaded() -> None:
    keys, current, loaded = ["101:1", "101:2", "101:3"], {"101:3"}, {"101:1", "101:3"}
    assert due_keys(keys, current, loaded, every_semester=False) == ["101:2", "101:3"]
    assert due_keys(keys, current, loaded, every_semester=True) == keys


def _schools(keys: list[str]) -> list[int]:
    return list(dict.fromkeys(int(key.split(":")[0]) for key in keys))
