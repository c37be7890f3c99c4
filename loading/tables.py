"""The lake's tables, derived from the registry of resources."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from campus.contracts.fields import fields
from campus.registry import INPUTS, RESOURCES, ResourceSpec
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PARTITION, Column, Slice, Table

SLICE_COLUMNS = {
    "school": ("_school_id",),
    "semester": ("_school_id", "_semester_id"),
    "week": ("_school_id", "_semester_id", "_week"),
    "report": ("_school_id", PARTITION),
}


def lake_table(spec: ResourceSpec) -> Table:
    """The lake table that keeps a resource's rows: its columns and comments are the contract's."""
    return Table(
        name=spec.name,
        columns=tuple(
            Column(
                field.name,
                field.arrow_type,
                field.description,
                field.personal,
                label_zh=field.label_zh,
                unit=field.unit,
                privacy=field.privacy,
                sent_as=_sent_as(spec, field.name, field.wire),
            )
            for field in fields(spec.contract)
        ),
        primary_key=spec.primary_key,
        nullable_key=spec.nullable_key,
        numbered=spec.numbered,
        filled_later=frozenset(spec.filled_later),
        slice_columns=SLICE_COLUMNS[spec.sliced_by],
        comment=" ".join((spec.contract.__doc__ or "").split()),
        tracks_changes=spec.tracks_changes,
        keeps_past=spec.keeps_past,
        label_zh=spec.contract.label_zh,
    )


def _sent_as(spec: ResourceSpec, column: str, wire: str) -> tuple[str, ...]:
    """The fields that fill a column; none fill the number that the request names, and a count of rows."""
    if column in (spec.unit_column, spec.numbered):
        return ()
    return spec.resolved.get(column, (wire,))


_SPECS = (*RESOURCES.values(), *INPUTS)
TABLES: dict[str, Table] = {spec.name: lake_table(spec) for spec in _SPECS}
#: Where each table's rows come from: a path of the platform, or of the home.
ENDPOINTS: dict[str, str] = {spec.name: spec.path for spec in _SPECS}


def slice_of(
    spec: ResourceSpec, school_id: int, semester_id: int | None = None, week: int | None = None
) -> Slice:
    """The slice of a resource's table that holds a school, one semester of it, or one week of that."""
    if spec.sliced_by == "school":
        return Slice.of(_school_id=school_id)
    assert semester_id is not None
    if spec.sliced_by == "semester":
        return Slice.of(_school_id=school_id, _semester_id=semester_id)
    assert week is not None
    return Slice.of(_school_id=school_id, _semester_id=semester_id, _week=week)


def read_rows(
    lake: Lake, spec: ResourceSpec, slice: Slice | None, columns: Sequence[str], *, alive: bool = True
) -> list[dict[str, Any]]:
    """The rows of a resource's small table. `slice` None: of all slices; `alive`: without tombstones."""
    return list(lake.read(TABLES[spec.name], slice, columns, alive=alive).to_pylist())


def values(rows: pa.Table, column: str) -> list[Any]:
    """One column of a small table as Python values."""
    return list(rows[column].to_pylist())
