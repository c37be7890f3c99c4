"""Changes of members that make attendance of past weeks doubtful."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from campus.registry import RESOURCES
from loading.attendance.semester import ChangedMembers, changed_members
from loading.attendance.weeks import Timeline
from loading.semesters import Semesters
from loading.tables import TABLES, slice_of
from tests.kits.lake.readings import reading_of
from warehouse.lake.delta import Lake
from warehouse.load.commit import Guard, commit
from warehouse.load.logs.load_log import slice_statuses
from warehouse.load.stage import StageWriter

SCHOOL, SEMESTER, CLASS = 101, 10101, 7
TIMELINE = Timeline(Semesters(SCHOOL, [], [], {}, {}), {}, date(2025, 3, 14))
PEOPLE = ("v1_users", "v1_classes", "v1_class_students", "students", "classes", "class_members")


def night(day: int) -> datetime:
    return datetime(2025, 3, day, 2)


def lake_at(folder: Path) -> Lake:
    lake = Lake(str(folder / "lake"))
    lake.ensure(TABLES[name] for name in PEOPLE)
    return lake


def load(lake: Lake, folder: Path, name: str, day: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Commit all rows of a resource, as a night reads them."""
    table, slice = TABLES[name], slice_of(RESOURCES[name], SCHOOL, SEMESTER)
    schema = table.staging_schema
    batch = [dict.fromkeys(schema.names) | {"_trashed": False} | row for row in rows]
    with StageWriter(table, folder, synced_at=night(day)) as spool:
        spool.write(pa.RecordBatch.from_pylist(batch, schema=schema))
        reading = reading_of(spool.finish(), night(day), f"night-{day}")
        commit(lake, table, slice, reading, Guard(allowed=True), folder)


def listed(students: Iterable[int], day: int) -> list[dict[str, Any]]:
    """A class of v1 whose photos have another signed address each day."""
    return [
        {
            "class_id": CLASS,
            "student_id": student,
            "usin": str(student),
            "avatar_url": f"https://photos/{student}?{day}",
        }
        for student in students
    ]


def changed_since(lake: Lake, day: int) -> ChangedMembers:
    return changed_members(lake, TIMELINE, slice_statuses(lake, SCHOOL), SEMESTER, night(day))


def people(ids: Iterable[int]) -> list[dict[str, Any]]:
    return [{"id": person_id, "usin": str(person_id)} for person_id in ids]


def members(students: Iterable[int], teacher: int) -> list[dict[str, Any]]:
    """A class of v3."""
    kinds = [("student", reflection_id) for reflection_id in students] + [("teacher", teacher)]
    return [
        {"class_id": CLASS, "type": kind, "reflection_id": reflection_id, "membership": 1}
        for kind, reflection_id in kinds
    ]


@pytest.fixture
def class_of_two(tmp_path: Path) -> Lake:
    """One night has loaded a class of two students and a teacher."""
    lake = lake_at(tmp_path)
    codes = [{"id": CLASS, "csin": "c7", "name": "Class 7"}]
    rows = {"v1_classes": codes, "classes": codes, "students": people((1, 2))}
    for name, own in (rows | {"class_members": members((1, 2), 90)}).items():
        load(lake, tmp_path, name, 1, own)
    return lake


def test_new_photos_are_no_new_members(tmp_path: Path) -> None:
    """v3 has no memberships. One student joins and another leaves in nights that change every photo."""
    lake = lake_at(tmp_path)
    for day, students in ((1, (1, 2, 3)), (2, (1, 2, 3)), (3, (1, 2, 4)), (4, (1, 2, 4))):
        load(lake, tmp_path, "v1_class_students", day, listed(students, day))
        if day == 2:
            assert changed_since(lake, 1) == ChangedMembers()
    changes = {(CLASS, 4): night(3), (CLASS, 3): night(3)}
    assert changed_since(lake, 1) == ChangedMembers(changes)
    assert changed_since(lake, 3) == ChangedMembers()


def test_damaged_earlier_list_leaves_its_students_in_doubt(tmp_path: Path) -> None:
    """Nobody knows any more who was listed: whose row has changed counts as new, and the reason is said."""
    lake = lake_at(tmp_path)
    table, slice = TABLES["v1_class_students"], slice_of(RESOURCES["v1_class_students"], SCHOOL, SEMESTER)
    for day in (1, 2):
        load(lake, tmp_path, table.name, day, listed((1, 2), day))
        if day == 1:
            [earlier] = lake.files(table, slice)
    assert changed_since(lake, 1) == ChangedMembers()
    Path(earlier).write_bytes(Path(earlier).read_bytes()[:-9])
    moved = changed_since(lake, 1)
    assert moved.moments == {(CLASS, 1): night(2), (CLASS, 2): night(2)}
    assert "lake table v1_class_students cannot be read" in moved.damage
    Path(earlier).unlink()
    assert changed_since(lake, 1) == ChangedMembers()


def test_member_whose_student_failed_to_load_is_awaited(class_of_two: Lake, tmp_path: Path) -> None:
    lake = class_of_two
    load(lake, tmp_path, "class_members", 2, members((1, 3), 90))
    assert changed_since(lake, 1) == ChangedMembers({(CLASS, 2): night(2)}, awaits=True)
    load(lake, tmp_path, "students", 3, people((1, 2, 3)))
    assert changed_since(lake, 1) == ChangedMembers({(CLASS, 2): night(2), (CLASS, 3): night(2)})


def test_student_who_never_comes_is_awaited_one_night(class_of_two: Lake, tmp_path: Path) -> None:
    lake = class_of_two
    for name, rows in (("students", people((1, 2))), ("class_members", members((1, 2, 3), 90))):
        load(lake, tmp_path, name, 2, rows)
    assert changed_since(lake, 1).awaits
    load(lake, tmp_path, "students", 3, people((1, 2)))
    assert changed_since(lake, 1) == ChangedMembers()


def test_new_teacher_is_not_awaited(class_of_two: Lake, tmp_path: Path) -> None:
    load(class_of_two, tmp_path, "class_members", 2, members((1, 2), 91))
    assert changed_since(class_of_two, 1) == ChangedMembers()


def test_member_whose_class_failed_to_load_is_awaited(class_of_two: Lake, tmp_path: Path) -> None:
    lake, other = class_of_two, {"id": 8, "csin": "c8", "name": "Class 8"}
    load(lake, tmp_path, "classes", 2, [{"id": CLASS, "csin": "c7", "name": "Class 7"}, other])
    new = [*members((1, 2), 90), *({**member, "class_id": 8} for member in members((2,), 90))]
    load(lake, tmp_path, "class_members", 2, new)
    assert changed_since(lake, 1) == ChangedMembers(awaits=True)
    load(lake, tmp_path, "v1_classes", 3, [{"id": CLASS, "csin": "c7", "name": "Class 7"}, other])
    assert changed_since(lake, 1) == ChangedMembers({(8, 2): night(2)})
