"""Changes of members that make attendance of past weeks doubtful."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from campus.registry import RESOURCES
from loading.attendance.semester import moved_members
from loading.attendance.weeks import Timeline
from loading.semesters import Semesters
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake
from warehouse.load.commit import Guard, commit
from warehouse.load.slice_reading import SliceReading
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
        facts = {"sync_id": f"night-{day}", "run_id": f"run-{day}", "started_at": night(day)}
        reading = SliceReading(staged=spool.finish(), received=len(batch), complete=True, **facts)
        commit(lake, table, slice, reading, Guard(allowed=True), folder)


def listed(students: Iterable[int], day: int) -> list[dict[str, Any]]:
    """A class of v1 whose photos have another signed address each day."""
    return [
        {"class_id": CLASS, "student_id": one, "usin": str(one), "avatar_url": f"https://photos/{one}?{day}"}
        for one in students
    ]


def test_new_photos_are_no_new_members(tmp_path: Path) -> None:
    """v3 has no memberships. One student joins and another leaves in nights that change every photo."""
    lake = lake_at(tmp_path)
    for day, students in ((1, (1, 2, 3)), (2, (1, 2, 3)), (3, (1, 2, 4)), (4, (1, 2, 4))):
        load(lake, tmp_path, "v1_class_students", day, listed(students, day))
        if day == 2:
            assert moved_members(lake, SCHOOL, TIMELINE, SEMESTER, night(1)) == {}
    changes = {(CLASS, 4): night(3), (CLASS, 3): night(3)}
    assert moved_members(lake, SCHOOL, TIMELINE, SEMESTER, night(1)) == changes
    assert moved_members(lake, SCHOOL, TIMELINE, SEMESTER, night(3)) == {}
