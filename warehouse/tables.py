"""What the lake holds, as data: tables of the platform's rows, and the slices in which they are replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, Self

import pyarrow as pa

#: Every timestamp of the lake: the platform's wall clock (Asia/Shanghai), without a zone.
TIMESTAMP = pa.timestamp("us")

SYNCED_AT, DELETED_AT, EXTRA = "_synced_at", "_deleted_at", "_extra"
TRASHED, TRASHED_AT = "_trashed", "_trashed_at"


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a table, under the interface's own name."""

    name: str
    type: pa.DataType
    comment: str
    personal: bool = False


#: What every table of platform rows carries beside the interface's own fields.
SCHOOL_ID = Column("_school_id", pa.int64(), "School that the row was read for")
BOOKKEEPING = (
    Column(SYNCED_AT, TIMESTAMP, "Start of the sync that last found the row new, changed, gone or back"),
    Column(DELETED_AT, TIMESTAMP, "When the platform deleted the row or a sync found it gone; null: alive"),
    Column(EXTRA, pa.string(), "JSON object of what the platform sent beyond the contract, verbatim"),
)


class Stored(Protocol):
    """What `Lake` needs to know of a table, whoever fills it."""

    @property
    def name(self) -> str: ...
    @property
    def comment(self) -> str: ...
    @property
    def slice_columns(self) -> tuple[str, ...]: ...
    @property
    def lake_schema(self) -> pa.Schema: ...


@dataclass(frozen=True)
class Table:
    """A table of platform rows; `primary_key` is unique within a slice.

    `slice_columns` are the lake's partition columns, all integers, `_school_id` first. `tracks_changes`
    sends what changes to the change log, `ignored_changes` aside.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    slice_columns: tuple[str, ...]
    comment: str
    tracks_changes: bool = False
    ignored_changes: frozenset[str] = frozenset({"updated_at"})

    @property
    def row_schema(self) -> pa.Schema:
        """The platform's fields and `_extra`: what is compared to tell whether a row changed."""
        return pa.schema([*_fields(self.columns), pa.field(EXTRA, pa.string())])

    @property
    def spool_schema(self) -> pa.Schema:
        """What a sync hands over: a row, and whether and since when the platform shows it as deleted."""
        return self.row_schema.append(pa.field(TRASHED, pa.bool_())).append(pa.field(TRASHED_AT, TIMESTAMP))

    @property
    def lake_schema(self) -> pa.Schema:
        """The platform's fields, the slice columns, then ours."""
        slices = [pa.field(name, pa.int64()) for name in self.slice_columns]
        return pa.schema([*_fields(self.columns), *slices, *_fields(BOOKKEEPING)])


def _fields(columns: tuple[Column, ...]) -> list[pa.Field[pa.DataType]]:
    return [pa.field(column.name, column.type) for column in columns]


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a table that one commit replaces: partition columns and their values, in the table's order.

    >>> str(Slice.of(_school_id=101, _semester_id=20))
    '101|20'
    """

    values: tuple[tuple[str, int | str], ...]

    @classmethod
    def of(cls, **values: int | str) -> Self:
        """Raises ValueError for text that could not stand as it is in a path, in SQL and in a name."""
        for name, value in values.items():
            if isinstance(value, str) and not re.fullmatch(r"[A-Za-z0-9_.-]+", value):
                raise ValueError(f"slice value {name}={value!r}: letters, digits, '_', '.' and '-' only")
        return cls(tuple(values.items()))

    @property
    def school_id(self) -> int:
        return int(dict(self.values)[SCHOOL_ID.name])

    @property
    def semester_id(self) -> int | None:
        value = dict(self.values).get("_semester_id")
        return None if value is None else int(value)

    @property
    def predicate(self) -> str:
        """The slice as a condition in Delta's SQL."""
        return " AND ".join(
            f"{name} = {value}" if isinstance(value, int) else f"{name} = '{value}'"
            for name, value in self.values
        )

    def __str__(self) -> str:
        return "|".join(str(value) for _, value in self.values)
