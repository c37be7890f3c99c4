"""The list of the forgotten: what it holds, who can read it, how two become one."""

from pathlib import Path

import pytest

from loading.tables import TABLES
from warehouse.forgetting import forgotten as lists
from warehouse.forgetting.columns import MENTIONS, OWN_IDS, SUBJECTS
from warehouse.forgetting.forgotten import Forgotten, change, matcher_of, merged, read, with_person
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Table

MARKS = [("v3", "4711"), ("v1", "4711"), ("number", "20231"), ("token", "s-20231"), ("name", "王小明")]


def test_list_is_private_and_has_only_hashes(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    assert matcher_of(lake, 101) is None and read(lake).is_empty
    change(lake, lambda before: with_person(before, 101, "student", MARKS, since="now", choices={})[0])
    path = tmp_path / "lake" / lists.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [value for _, value in MARKS if value in path.read_text()]
    matcher = matcher_of(lake, 101)
    assert matcher is not None and matcher.find("v3", "4711") in matcher.substitutes
    assert matcher.find("v3", "4712") is None and matcher_of(lake, 102) is None


def test_substitute_stays_when_a_person_is_forgotten_again() -> None:
    once, first = with_person(Forgotten(), 101, "student", MARKS[:2], since="now", choices={})
    twice, second = with_person(once, 101, "student", MARKS, since="later", choices={})
    assert first == second < 0 and twice.persons == 1
    assert len(str(first)) <= 15


def test_two_lists_become_one_of_all_persons(tmp_path: Path) -> None:
    """As after a restore: each list has a key of its own."""
    first, first_id = with_person(
        Forgotten(schools={7: "then"}), 101, "student", MARKS, since="a", choices={}
    )
    second, second_id = with_person(Forgotten(), 101, "teacher", [("v3", "5")], since="b", choices={})
    both = merged([first, second, first])
    assert both.persons == 2 and both.schools == {7: "then"}
    matcher = lists.matcher(both, 101)
    assert matcher is not None
    assert (matcher.find("v3", "4711"), matcher.find("v3", "5")) == (first_id, second_id)
    lists.write_file(tmp_path / "list", both)
    assert lists.read_file(tmp_path / "list") == both


def test_a_change_is_seen_at_once_by_whoever_has_the_lake_open(tmp_path: Path) -> None:
    lake, other = Lake(str(tmp_path)), Lake(str(tmp_path))
    assert matcher_of(lake, 101) is None
    change(other, lambda before: with_person(before, 101, "student", MARKS, since="", choices={})[0])
    assert matcher_of(lake, 101) is not None


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_id_of_a_person_is_known(table: Table) -> None:
    """A new column that the contract says to be a person's id is one that a forgotten person loses."""
    person_columns = {
        *SUBJECTS.get(table.name, ()),
        *OWN_IDS.get(table.name, ()),
        *MENTIONS.get(table.name, ()),
    }
    names = {column.name for column in table.columns}
    assert person_columns <= names
    assert {column.name for column in table.columns if column.privacy == "person"} <= person_columns
