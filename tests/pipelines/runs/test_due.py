"""Which partitions a night loads, and in which runs."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from campus.registry import SCHOOLS
from loading.tables import TABLES
from pipelines.runs.partition_selection import (
    RANGE_END,
    RANGE_START,
    SCHOOL_TAG,
    SCHOOLS_TAG,
    due_keys,
    groups_of,
    night_tags,
    schools_in,
)
from warehouse.lake.delta import Lake


@given(st.sets(st.integers(1, 999)), st.integers(1, 9))
def test_each_school_is_in_one_run_and_none_has_more_than_are_wanted(schools: set[int], size: int) -> None:
    groups = groups_of(schools, size)
    assert [school for group in groups for school in group] == sorted(schools)
    assert all(len(group) == size for group in groups[:-1]) and all(groups)


def test_the_schools_of_a_run_are_in_its_tags(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.ensure([TABLES[SCHOOLS.name]])
    night = night_tags(lake, [101, 102, 105])
    assert night == {SCHOOLS_TAG: "101,102,105", SCHOOL_TAG: "101 to 105"}
    assert schools_in(night) == [101, 102, 105]
    assert schools_in({RANGE_START: "101:20", RANGE_END: "101:21"}) == [101]
    assert schools_in({"dagster/partition": "102:20"}) == [102]
    assert schools_in({}) == []


def test_a_night_loads_the_current_semester_and_what_was_never_loaded() -> None:
    keys, current, loaded = ["101:1", "101:2", "101:3"], {"101:3"}, {"101:1", "101:3"}
    assert due_keys(keys, current, loaded) == ["101:2", "101:3"]
