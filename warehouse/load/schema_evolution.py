"""Schema evolution of datasets: the lake's table follows the platform's definition without losing values.

The lake's table has every field that any school's definition ever named. An added field is null in existing
rows. A removed field keeps its values, also in rows that are read again. A field whose type changes gets a
second column, such as `score__decimal_12_3`; a row that is read again fills the second and empties the first.
A column's metadata names its `field`, its `comment`, and whether it is `personal`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema

from campus.account import Drift
from warehouse.identifiers import folded
from warehouse.lake.delta import Lake, stored_schema, until_committed
from warehouse.lake.tables import BOOKKEEPING, Column, Table

_TYPE_NAMES = {
    pa.int64(): "integer",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


@dataclass(frozen=True)
class StoredColumn:
    """A column of a dataset in the lake."""

    column: Column
    #: The platform's field.
    field: str


@dataclass(frozen=True)
class Placement:
    """The columns of the lake that store the wanted columns."""

    #: By wanted column.
    names: dict[str, str]
    missing: list[StoredColumn]
    superseded: list[StoredColumn]


@dataclass(frozen=True)
class Evolved:
    """The lake's table of a dataset."""

    #: With the superseded columns, which a reading leaves empty.
    table: Table
    #: The lake's name of each wanted column.
    columns: dict[str, str]

    def shaped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the wanted table's `staging_schema` as one of `table.staging_schema`."""
        stored = {self.columns.get(name, name): batch.column(name) for name in batch.schema.names}
        schema = self.table.staging_schema
        arrays = [stored.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def evolve(lake: Lake, wanted: Table) -> Evolved:
    """Create the lake's table, or add the columns that `wanted` needs. Idempotent, also in parallel.

    Concurrent commits conflict and are retried. Raises ValueError if two column names are equal to DuckDB.
    """
    names = [folded(column.name) for column in wanted.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"{wanted.name}: two columns of the same name among {', '.join(sorted(names))}")
    return until_committed(partial(_evolve, lake, wanted))


def changes(before: Table, after: Table) -> list[Drift]:
    """The changes of a school's definition of a dataset: field_added, _removed, _retyped or _widened."""
    old = {folded(column.name): column for column in before.columns}
    new = {folded(column.name): column for column in after.columns}
    drift = [
        Drift(kind, columns[key].name, type_name(columns[key].type))
        for kind, columns, others in (("field_added", new, old), ("field_removed", old, new))
        for key in columns
        if key not in others
    ]
    for key in new:
        if key in old and old[key].type != new[key].type:
            kind = "field_widened" if widens(old[key].type, new[key].type) else "field_retyped"
            value = f"{type_name(old[key].type)} -> {type_name(new[key].type)}"
            drift.append(Drift(kind, new[key].name, value))
    return drift


def widens(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether `new` has every value of `old`."""
    if pa.types.is_integer(old):
        old = pa.decimal128(19, 0)
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return {*old} <= {*new}
    return (
        pa.types.is_decimal(old)
        and pa.types.is_decimal(new)
        and new.scale >= old.scale
        and new.precision - new.scale >= old.precision - old.scale
    )


def stored_columns(table: Table, opened: DeltaTable) -> list[StoredColumn]:
    """The columns of a dataset in a snapshot, the oldest of a field first."""
    added = {*table.slice_columns, *(column.name for column in BOOKKEEPING)}
    return [_stored_column(field) for field in stored_schema(opened) if field.name not in added]


def _stored_column(field: pa.Field[pa.DataType]) -> StoredColumn:
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    column = Column(field.name, field.type, metadata.get("comment", ""), personal="personal" in metadata)
    return StoredColumn(column, metadata.get("field", field.name))


def place(wanted: Table, stored: Sequence[StoredColumn]) -> Placement:
    """Find the lake's columns of the wanted columns."""
    taken = {folded(existing.column.name) for existing in stored}
    reserved = {folded(column.name) for column in wanted.columns}
    names: dict[str, str] = {}
    missing: list[StoredColumn] = []
    superseded: list[StoredColumn] = []
    for column in wanted.columns:
        versions = [existing for existing in stored if folded(existing.field) == folded(column.name)]
        own = [existing for existing in versions if existing.column.type == _lake_type(column.type)]
        superseded += [existing for existing in versions if existing not in own]
        if not own:
            own = [StoredColumn(replace(column, name=_free_name(column, taken, reserved)), column.name)]
            taken.add(folded(own[0].column.name))
            missing += own
        names[column.name] = own[0].column.name
    return Placement(names, missing, superseded)


def _evolve(lake: Lake, wanted: Table) -> Evolved:
    lake.create(replace(wanted, columns=()))
    opened = lake.open(wanted)
    placement = place(wanted, stored_columns(wanted, opened))
    if placement.missing:
        opened.alter.add_columns(list(map(_delta_field, placement.missing)))
    names = placement.names
    columns = [replace(column, name=names[column.name]) for column in wanted.columns]
    table = replace(
        wanted,
        columns=(*columns, *(old.column for old in placement.superseded)),
        primary_key=tuple(names[key] for key in wanted.primary_key),
    )
    return Evolved(table, names)


def _free_name(column: Column, taken: set[str], reserved: set[str]) -> str:
    if folded(column.name) not in taken:
        return column.name
    return typed_name(column.name, column.type, taken | reserved)


def typed_name(field: str, type: pa.DataType, taken: Collection[str]) -> str:
    """A name for a second column of a field, such as `score__decimal_12_3`, that is not `taken` (folded)."""
    typed = f"{field}__{re.sub('[^a-z0-9]+', '_', type_name(type)).strip('_')}"
    candidates = (typed if n == 1 else f"{typed}_{n}" for n in count(1))
    return next(name for name in candidates if folded(name) not in taken)


def _delta_field(stored: StoredColumn) -> Field:
    column = pa.field(stored.column.name, stored.column.type)
    [field] = Schema.from_arrow(pa.schema([column])).fields
    metadata = {"field": stored.field, "comment": stored.column.comment}
    return Field(
        field.name, field.type, metadata=metadata | ({"personal": "yes"} if stored.column.personal else {})
    )


def _lake_type(type: pa.DataType) -> pa.DataType:
    """The type after a round trip through Delta."""
    schema: Any = Schema.from_arrow(pa.schema([pa.field("column", type)]))
    stored: pa.DataType = pa.schema(schema).field("column").type
    return stored


def type_name(type: pa.DataType) -> str:
    """A type in the platform's words, fit for a message."""
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    if pa.types.is_nested(type):
        return f"object {hashlib.sha256(str(type).encode()).hexdigest()[:8]}"
    return _TYPE_NAMES.get(type, str(type))
