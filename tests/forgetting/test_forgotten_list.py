"""The list of the forgotten: what it holds, who can read it, how two become one."""

from pathlib import Path

import pyarrow as pa
import pytest

from campus.contracts.fields import fields
from campus.registry import RESOURCES
from warehouse.forgetting import forgotten as lists
from warehouse.forgetting.columns import MENTIONS, OWN_IDS, SUBJECTS
from warehouse.forgetting.forgotten import Forgotten, change, matcher_of, merged, read, with_person
from warehouse.lake.delta import Lake

MARKS = [("v3", "4711"), ("v1", "4711"), ("number", "20231"), ("token", "s-20231"), ("name", "王小明")]


def test_list_is_private_and_has_only_hashes(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    assert matcher_of(lake, 101) is None and read(lake).is_empty
    change(lake, lambda before: with_person(before, 101, "student", MARKS, since="now", choices={})[0])
    path = tmp_path / "lake" / lists.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [value for _, value in MARKS if value in path.read_text()]
    known = matcher_of(lake, 101)
    assert known is not None and known.find("v3", "4711") in known.substitutes
    assert known.find("v3", "4712") is None and matcher_of(lake, 102) is None


def test_substitute_stays_when_a_person_is_forgotten_again() -> None:
    once, first = with_person(Forgotten(), 101, "student", MARKS[:2], since="now", choices={})
    twice, second = with_person(once, 101, "student", MARKS, since="later", choices={})
    assert first == second < 0 and twice.persons == 1
    assert len(str(first)) <= 15


def test_two_lists_become_one_of_all_persons(tmp_path: Path) -> None:
    """As after a restore: each list has a key of its own."""
    here, one = with_person(Forgotten(schools={7: "then"}), 101, "student", MARKS, since="a", choices={})
    there, other = with_person(Forgotten(), 101, "teacher", [("v3", "5")], since="b", choices={})
    both = merged([here, there, here])
    assert both.persons == 2 and both.schools == {7: "then"}
    known = lists.matcher(both, 101)
    assert known is not None
    assert (known.find("v3", "4711"), known.find("v3", "5")) == (one, other)
    lists.write_file(tmp_path / "list", both)
    assert lists.read_file(tmp_path / "list") == both


def test_a_change_is_seen_at_once_by_whoever_has_the_lake_open(tmp_path: Path) -> None:
    lake, other = Lake(str(tmp_path)), Lake(str(tmp_path))
    assert matcher_of(lake, 101) is None
    change(other, lambda before: with_person(before, 101, "student", MARKS, since="", choices={})[0])
    assert matcher_of(lake, 101) is not None


#: Numbers that are no ids of persons.
OF_THINGS = {
    *(
        "school_id",
        "parent_id",
        "academic_year_id",
        "category_id",
        "graduates_in_id",
        "subject_id",
        "domain_id",
    ),
    *("place_id", "class_id", "semester_id", "assessment_id", "item_id", "scope_id", "source_id", "stage_id"),
    *(
        "invalid_type_id",
        "dataset_id",
        "query_id",
        "report_id",
        "admin_class_ids",
        "structure_ids",
        "grade_ids",
    ),
    *("pid",),
}
PEOPLE = ("students", "teachers", "reflections", "v1_users")


@pytest.mark.parametrize("name", sorted(RESOURCES))
def test_every_id_column_is_sorted(name: str) -> None:
    """A new column with ids has to be said to be of a person, or of a thing, before it is stored."""
    known = {*SUBJECTS.get(name, ()), *OWN_IDS.get(name, ()), *MENTIONS.get(name, ()), *OF_THINGS}
    for field in fields(RESOURCES[name].contract):
        kind = field.arrow_type
        number = kind.value_type if pa.types.is_list(kind) else kind
        named_id = field.name.endswith(("_id", "_ids", "_by")) or field.name in ("id", "rid", "pid")
        if pa.types.is_integer(number) and named_id and (field.name != "id" or name in PEOPLE):
            assert field.name in known, f"{name}.{field.name}"
