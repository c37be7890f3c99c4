"""What is true of the attendance of a world, beside what its lake holds."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from campus.contracts.fields import column_names
from campus.registry import RESOURCES
from tests.kits.worlds.world import World

SCHOOL = 101
RECORDS = "attendance_records"


def truth(world: World) -> dict[int, dict[str, Any]]:
    """Every record that the platform has, of students who have left too, in the lake's words."""
    classes = {entry["key"] for entry in world.platform.rows("classes", SCHOOL) if not entry["trashed"]}
    usins = {entry["key"]: entry["row"]["usin"] for entry in world.platform.rows("reflections", SCHOOL)}
    # The platform of v1 may have classes under other ids.
    v1_ids = {entry["key"]: entry["row"]["id"] for entry in world.platform.rows("v1_classes", SCHOOL)}
    records = {}
    for entry in world.platform.rows(RECORDS, SCHOOL):
        row = {name: entry["row"].get(name) for name in column_names(RESOURCES[RECORDS].contract)}
        if entry["trashed"] or row["class_id"] not in classes:
            continue
        row["class_id"] = v1_ids[row["class_id"]]
        row["usin"] = usins[row["student_id"]]
        for name in ("checked_at", "created_date"):
            row[name] = date.fromisoformat(row[name])
        records[entry["key"]] = row
    return records


def of_present(world: World, records: Mapping[int, Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The records of students who have not left."""
    people = {entry["key"]: entry["trashed"] for entry in world.platform.rows("reflections", SCHOOL)}
    return {key: row for key, row in records.items() if not people[row["student_id"]]}


def held(world: World) -> dict[int, dict[str, Any]]:
    """The records that the lake holds."""
    columns = column_names(RESOURCES[RECORDS].contract)
    return {row["id"]: {name: row[name] for name in columns} for row in world.held(RECORDS)}
