"""Finds in the lake which requests show the rows that a push names."""

from collections.abc import Callable, Mapping
from typing import Any

from campus.registry import RESOURCES, SEMESTERS, ResourceSpec
from loading.slices.commit import units_by_row
from loading.tables import TABLES
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice

PEOPLE = "reflections"
#: The parts of composite keys that may name the class or item of a request.
NAMED_IN_KEYS: Mapping[str, tuple[str, ...]] = {
    "class_members": ("class_id", "klass_id"),
    "assessments": ("class_id", "klass_id", "scope_id"),
    "assessment_items": ("class_id", "klass_id"),
    "scores": ("item_id",),
    "grades": ("class_id", "klass_id"),
}


#: A semester (None: the slice is of the whole school), and the id that a request names: of the row, or of its
#: class or item. None: no request shows the row.
Target = tuple[int | None, int] | None


def resolver(lake: Lake, spec: ResourceSpec, school_id: int) -> Callable[[Any], Target]:
    """Return a function that finds the target of a pushed key."""
    if spec.sliced_by == "school":
        by_id = bool(spec.id_filter) or spec.name == PEOPLE
        return lambda key: (None, unit_id) if by_id and (unit_id := row_id(key)) is not None else None
    above_of = _above(lake, spec, school_id)
    semester_of = _semesters(lake, "assessment_items" if spec.name == "scores" else "classes", school_id)
    current = current_semester(lake, school_id)

    def resolve(key: Any) -> Target:
        unit_id = _named(spec, key)
        if unit_id is None:
            named = row_id(key)
            unit_id = named if spec.id_filter or named is None else above_of.get(named)
        # A class that the lake does not have yet is of the current semester.
        return None if unit_id is None else (semester_of.get(unit_id, current), unit_id)

    return resolve


def current_semester(lake: Lake, school_id: int) -> int | None:
    """The semester that the platform marks as current, else the last. None: the lake has none."""
    rows = _rows(lake, SEMESTERS, school_id, ["id", "is_current", "start_at"])
    ranked = sorted(rows, key=lambda row: (bool(row["is_current"]), str(row["start_at"])))
    return ranked[-1]["id"] if ranked else None


def stored_ids(lake: Lake, spec: ResourceSpec, school_id: int, *, alive: bool) -> set[int]:
    """The ids of a school's rows in the lake."""
    return {row["id"] for row in _rows(lake, spec, school_id, ["id"], alive=alive)}


def _named(spec: ResourceSpec, key: Any) -> int | None:
    """The class or item that a composite key names."""
    if isinstance(key, dict):
        for name in NAMED_IN_KEYS.get(spec.name, ()):
            if isinstance(key.get(name), int):
                return int(key[name])
    return None


def row_id(key: Any) -> int | None:
    """The id that a pushed key is or has. None: it has none."""
    value = key.get("id") if isinstance(key, dict) else key
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _above(lake: Lake, spec: ResourceSpec, school_id: int) -> Mapping[int, int]:
    """The class or item that a request for each stored row names."""
    if spec.id_filter or "id" not in spec.primary_key:
        return {}
    unit = spec.unit_column or ""
    rows = {row["id"]: row[unit] for row in _rows(lake, spec, school_id, ["id", unit])}
    if spec.unit_via is None:
        return rows
    via = units_by_row(lake, spec, Slice.of(_school_id=school_id))
    return {row: via[between] for row, between in rows.items() if between in via}


def _semesters(lake: Lake, name: str, school_id: int) -> dict[int, int]:
    rows = _rows(lake, RESOURCES[name], school_id, ["id", "_semester_id"])
    return {row["id"]: row["_semester_id"] for row in rows}


def _rows(
    lake: Lake, spec: ResourceSpec, school_id: int, columns: list[str], *, alive: bool = False
) -> list[dict[str, Any]]:
    """Rows of a school, tombstones included unless `alive`."""
    table = TABLES[spec.name]
    if not lake.holds(table):
        return []
    rows: list[dict[str, Any]] = lake.read(
        table, Slice.of(_school_id=school_id), columns, alive=alive
    ).to_pylist()
    return rows
