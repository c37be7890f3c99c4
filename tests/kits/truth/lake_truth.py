"""Where a lake is not what its platform has: base data, v1 with attendance, and datasets."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from campus.registry import RESOURCES, V1_DATA
from loading.custom_fields import users_table
from loading.tables import TABLES
from tests.kits.readings import base_data
from tests.kits.readings.choices import Reading
from tests.kits.truth import attendance_truth, v1_truth
from tests.kits.worlds import dataset_world
from tests.kits.worlds.world import Rows, World, difference, differences

SCHOOL = base_data.SCHOOL
#: Columns of the lake that say nothing of a row.
OF_THE_LAKE = ("_synced_at", "_deleted_at", "_semester_id")


def all_differences(
    world: World, reading: Reading, answers: httpx.Client, devices: Sequence[str], cards: Sequence[str]
) -> dict[str, str]:
    """By table, in how many rows it differs, and how the first of them does.

    reading: the platform's options. answers: a platform with the same rows that answers anybody on v1."""
    unheeded = {*reading.get("ignored", ())}
    if reading.get("with_trashed", "shown") != "shown":
        unheeded.add("with_trashed")
    records: tuple[Rows, Rows] = attendance_truth.held(world), attendance_truth.truth(world)
    if reading.get("left_attendance") == "hidden":
        # Of those who have left, the lake has what was seen.
        stored, true = (attendance_truth.of_present(world, rows) for rows in records)
        records = stored, true
    compared = {
        **_v1(world, v1_truth.Asked(world.platform, answers, SCHOOL, devices=devices, cards=cards)),
        "attendance_records": records,
    }
    return {
        **differences(world, unheeded=unheeded),
        **{name: difference(stored, true) for name, (stored, true) in compared.items() if stored != true},
        **dataset_world.differences(world),
    }


def _v1(world: World, school: v1_truth.Asked) -> Mapping[str, tuple[Rows, Rows]]:
    true = v1_truth.truth(school)
    return {
        spec.name: (
            v1_by_key(spec.name, v1_rows(world, spec.name)),
            v1_by_key(spec.name, [{**row, "_school_id": school.school_id} for row in true[spec.name]]),
        )
        for spec in V1_DATA
    }


def v1_rows(world: World, name: str) -> list[dict[str, Any]]:
    """The lake's living rows of a table of v1, with the custom fields of all schools."""
    table = users_table(world.lake) if name == "v1_users" else TABLES[name]
    return [
        {column: value for column, value in row.items() if column not in OF_THE_LAKE}
        | {"_extra": json.loads(row["_extra"]) if row["_extra"] else None}
        for row in world.lake.read(table).to_pylist()
    ]


def v1_by_key(name: str, rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Rows by key; what a school does not have is as good as null."""
    key = ("_school_id", *RESOURCES[name].primary_key)
    rows_by_key = {
        tuple(row[part] for part in key): {
            column: value for column, value in row.items() if value is not None
        }
        for row in rows
    }
    assert len(rows_by_key) == len(rows)
    return rows_by_key
