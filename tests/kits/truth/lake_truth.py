"""Where a lake is not what its platform has: base data, v1 with attendance, and datasets."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx

from campus.registry import BASE_DATA, RESOURCES, SCHOOLS, V1_DATA
from loading.custom_fields import users_table
from loading.tables import TABLES
from tests.kits.readings import base_data
from tests.kits.readings.choices import Reading
from tests.kits.truth import attendance_truth, v1_truth
from tests.kits.worlds import dataset_world
from tests.kits.worlds.world import World

Rows = Mapping[Any, Mapping[str, Any]]
SCHOOL = base_data.SCHOOL
#: Columns of the lake that say nothing of a row.
OF_THE_LAKE = ("_synced_at", "_deleted_at", "_semester_id")


def differences(
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
        **_base_data(world, unheeded),
        **_v1(world, v1_truth.Asked(world.platform, answers, SCHOOL, devices=devices, cards=cards)),
        "attendance_records": records,
    }
    return {
        **{name: _difference(stored, true) for name, (stored, true) in compared.items() if stored != true},
        **dataset_world.differences(world),
    }


def _difference(stored: Rows, true: Rows) -> str:
    keys = [key for key in {**true, **stored} if stored.get(key) != true.get(key)]
    start = f"{len(keys)} rows, first {keys[0]}"
    stored_row, true_row = stored.get(keys[0]), true.get(keys[0])
    if stored_row is None:
        return f"{start}: missing: {true_row}"
    if true_row is None:
        return f"{start}: not on the platform: {stored_row}"
    names = [name for name in {**true_row, **stored_row} if stored_row.get(name) != true_row.get(name)]
    values = (f"{name} {stored_row.get(name)!r} for {true_row.get(name)!r}" for name in names)
    return f"{start}: {', '.join(values)}"


def _base_data(world: World, unheeded: Iterable[str]) -> Mapping[str, tuple[Rows, Rows]]:
    semesters = [int(entry["key"]) for entry in world.platform.rows("semesters", SCHOOL)]
    result = {}
    for spec in (SCHOOLS, *BASE_DATA):
        true = [
            {name: value for name, value in row.items() if not name.startswith("_trashed")}
            for semester_id in (semesters if spec.sliced_by == "semester" else semesters[:1])
            for row in base_data.truth(world.platform, spec.name, semester_id, unheeded)
            if not row["_trashed"]
        ]
        stored = [_without_ours(row) for row in world.held(spec.name)]
        result[spec.name] = base_data.by_key(spec.name, stored), base_data.by_key(spec.name, true)
    return result


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


def _without_ours(row: Mapping[str, Any]) -> dict[str, Any]:
    """A stored row without the columns that no platform has."""
    return {name: value for name, value in row.items() if name == "_extra" or not name.startswith("_")}
