"""One simulated school as rows of `raw`, under any reading of the platform, and as any school of a file."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from simulator.readings import Readings
from simulator.resources import SOURCES
from simulator.school.rows import ids_of
from simulator.settings import Size
from simulator.store.store import Store
from simulator.wire.directory import Directory
from simulator.wire.transcripts import transcript

SCHOOL = 101
#: A score that a teacher may give in words.
WORD = "良好以上"
SIZE = Size(schools=1, students=40, semesters=2)
BASE = (
    *("schools", "terms", "reflections", "semesters", "students", "teachers", "classes", "class_members"),
    *("assessments", "assessment_items", "scores", "grades", "v1_classes"),
)
#: What the specification makes a row's parent, and the warehouse a column.
PARENTS = {"class_members": "class_id", "assessments": "class_id"}

Rows = dict[str, list[dict[str, Any]]]


def simulated(readings: Readings, *, transcripts: bool = False) -> Rows:
    """The rows of a school on a platform of these readings, by table; `transcripts`: those of v1 as well."""
    store = Store(SOURCES, SIZE, readings)
    rows: Rows = {resource: list(_rows(store, resource)) for resource in BASE}
    if transcripts:
        rows |= _transcripts(store, Directory(store, readings))
    return rows


def fill(file: Path, school_id: int, rows: Rows) -> None:
    """Add rows to a file that `create_raw` has made, as those of a school of this id."""
    with duckdb.connect(str(file)) as connection:
        for table, some in rows.items():
            columns = connection.execute(f"describe raw.{table}").fetchall()
            types = {name: type for name, type, *_ in columns}
            lines = file.with_name("rows.json")
            own = {"_school_id": school_id} | ({"id": school_id} if table == "schools" else {})
            stamped = ({"_synced_at": "2025-05-16 20:00:00"} | row | own for row in some)
            lines.write_text("\n".join(json.dumps(row) for row in stamped), encoding="utf-8")
            if some:
                connection.execute(
                    f"insert into raw.{table} by name select * from read_json($file, columns = {types})",
                    {"file": str(lines)},
                )


def _rows(store: Store, resource: str) -> Iterator[dict[str, Any]]:
    for parent in store.parents(resource, SCHOOL):
        for row in store.rows(resource, parent):
            values = dict(row.values)
            if resource in PARENTS:
                values[PARENTS[resource]] = parent
            for people in ("teachers", "students"):
                if people in values:
                    values[people] = [{"id": key} for key in ids_of(values[people])]
            if row.deleted_at:
                values["_deleted_at"] = row.deleted_at
            # Text that is no number is none in a column of numbers, as the loads have it.
            yield {name: None if value == "" else value for name, value in values.items()}


def _transcripts(store: Store, directory: Directory) -> Rows:
    totals, semesters, courses = [], [], []
    for student in store.rows("students", SCHOOL):
        whole = transcript(store, directory, SCHOOL, student.key)
        totals.append(_of(student.key, whole))
        for group in whole["grade_list"]:
            semester = {"semester_id": group["semester"]["id"]}
            semesters.append(_of(student.key, group) | semester)
            courses += [_of(student.key, course) | semester for course in group["grade_list"]]
    return {"transcripts": totals, "transcript_semesters": semesters, "transcript_courses": courses}


def _of(student: int, values: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in values.items() if name not in ("grade_list", "semester")}
    return row | {"student_id": student}
