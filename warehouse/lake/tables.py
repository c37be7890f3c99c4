"""The tables of the lake as data: columns, tables of the platform's rows, and slices."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from warehouse import identifiers

#: Separates the parts of a slice's label and of a partition key; not `|`, at which Dagster's UI splits a key.
SEPARATOR = ":"

#: The zone of the platform's wall clock; campus.contracts.fields states it too, since neither room imports
#: the other.
PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
#: The type of every timestamp in the lake: the platform's wall clock, without a zone.
TIMESTAMP = pa.timestamp("us")

SYNCED_AT, DELETED_AT, EXTRA = "_synced_at", "_deleted_at", "_extra"
TRASHED, TRASHED_AT = "_trashed", "_trashed_at"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, under the interface's own name."""

    name: str
    type: pa.DataType
    comment: str
    #: Whether it names or describes a single person.
    personal: bool = False
    #: For the dictionary, as is the unit.
    label_zh: str = field(default="", compare=False, kw_only=True)
    unit: str = field(default="", compare=False, kw_only=True)
    #: A class of warehouse.privacy.
    privacy: str = field(default="", compare=False, kw_only=True)
    #: The interface's fields that it comes from, the first with a value; empty: it is not sent.
    sent_as: tuple[str, ...] = field(default=(), compare=False, kw_only=True)


#: The key of a dataset that has no key of its own; not published.
ROW_KEY = Column("_row", pa.string(), "Hash of the row, and its number among equal rows")
SEGMENT = "_segment"
SEMESTER_ID = "_semester_id"

#: Columns added to the fields of a report.
ROW_NUMBER = Column(
    identifiers.ROW_NUMBER, pa.int64(), "Place of the row in the report, from 1", label_zh="行号"
)
PARAMS = Column(
    identifiers.PARAMS,
    pa.string(),
    "Parameter values of the query that returned the row, such as semester=20",
    label_zh="参数组合",
)
PARTITION = "_partition"

#: Columns added to every table of the platform's rows.
SCHOOL_ID = Column(
    "_school_id", pa.int64(), "School that the row was read for", label_zh="学校ID", privacy="id"
)
BOOKKEEPING = (
    Column(
        SYNCED_AT,
        TIMESTAMP,
        "Start of the sync that last saw the row appear, change, disappear or return",
        label_zh="同步时间",
        privacy="plain",
    ),
    Column(
        DELETED_AT,
        TIMESTAMP,
        "When the platform deleted the row or a sync found it missing; null: not deleted",
        label_zh="删除时间",
        privacy="moment",
    ),
    Column(
        EXTRA,
        pa.string(),
        "JSON object of the fields beyond the contract, as the platform sent them",
        label_zh="其他字段",
        privacy="mixed",
    ),
)


class Stored(Protocol):
    """The properties of a table that `Lake` needs."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def comment(self) -> str: ...
    @property
    def slice_columns(self) -> tuple[str, ...]: ...
    @property
    def lake_schema(self) -> pa.Schema: ...


@dataclass(frozen=True)
class Table:
    """A table of the platform's rows."""

    name: str
    columns: tuple[Column, ...]
    #: Unique within a slice.
    primary_key: tuple[str, ...]
    #: The lake's partition columns, `_school_id` first; all are integers except PARTITION.
    slice_columns: tuple[str, ...]
    comment: str
    #: Whether changes go to the change log, except those of `ignored_changes`.
    tracks_changes: bool = False
    #: Whether each row is kept as it was before a change.
    keeps_past: bool = False
    ignored_changes: frozenset[str] = frozenset({"updated_at"})
    #: Columns that not every reading requests: their first value is no change of the row.
    filled_later: frozenset[str] = frozenset()
    #: Parts of the key that may be null; null is a value like others.
    nullable_key: tuple[str, ...] = ()
    #: The part of the key that numbers rows with equal other parts. A row stored before this column existed
    #: is the first.
    numbered: str | None = None
    #: Whether the platform also sends rows that it has deleted.
    shows_deleted: bool = True
    #: Whether a reading replaces the whole slice, without tombstones.
    is_snapshot: bool = False
    #: Columns that are stored but no longer read, whose values stay.
    retired: tuple[Column, ...] = ()
    label_zh: str = ""

    @property
    def folder(self) -> str:
        """The folder below the lake's root; never inside another table, whose vacuum would empty it."""
        return ascii_name(self.name)

    @property
    def row_schema(self) -> pa.Schema:
        """The platform's fields and `_extra`, which are compared to detect changes."""
        return pa.schema([*_fields(self.columns), pa.field(EXTRA, pa.string())])

    @property
    def staging_schema(self) -> pa.Schema:
        """The schema of staged rows: the row, and whether and since when the platform shows it as deleted."""
        if not self.shows_deleted:
            return self.row_schema
        return self.row_schema.append(pa.field(TRASHED, pa.bool_())).append(pa.field(TRASHED_AT, TIMESTAMP))

    @property
    def lake_schema(self) -> pa.Schema:
        """The platform's fields, the slice columns, then the columns that the warehouse adds."""
        slices = [
            pa.field(name, pa.string() if name == PARTITION else pa.int64()) for name in self.slice_columns
        ]
        return pa.schema([*_fields(self.columns), *_fields(self.retired), *slices, *_fields(BOOKKEEPING)])


def dataset_table(table: str, columns: Sequence[Column], primary_key: tuple[str, ...], comment: str) -> Table:
    """The lake table of a dataset, for all schools, sliced by ranges of ids.

    A dataset without a key has ROW_KEY among its columns and `(ROW_KEY.name,)` as its `primary_key`.
    """
    return Table(
        name=f"datasets.{table}",
        columns=tuple(columns),
        primary_key=primary_key,
        slice_columns=(SCHOOL_ID.name, SEGMENT),
        comment=comment,
        shows_deleted=False,
    )


def report_table(table: str, columns: Sequence[Column], comment: str) -> Table:
    """The lake table of a report's query, for all schools, sliced by the partitions of its loads."""
    return Table(
        name=f"reports.{table}",
        columns=(ROW_NUMBER, *columns),
        primary_key=(ROW_NUMBER.name,),
        slice_columns=(SCHOOL_ID.name, PARTITION),
        comment=comment,
        shows_deleted=False,
        is_snapshot=True,
    )


def comments(columns: Iterable[Column]) -> dict[str, str]:
    """The comment of each column, marked if the column is personal."""
    return {
        column.name: f"{column.comment} (personal)" if column.personal else column.comment
        for column in columns
    }


def school_condition(schools: Iterable[int]) -> str:
    """The condition for rows of some schools, in the SQL of Delta and DuckDB."""
    return f"{SCHOOL_ID.name} IN ({', '.join(map(str, sorted(schools)))})"


def school_filter(schools: Iterable[int]) -> pc.Expression:
    """The same condition for `Lake.scan`."""
    return pc.field(SCHOOL_ID.name).isin(sorted(schools))


def file_schema(table: Stored) -> pa.Schema:
    """The schema of a table's data files: without the slice columns, which are in their paths."""
    return pa.schema([field for field in table.lake_schema if field.name not in table.slice_columns])


def ascii_name(name: str, longest: int = 240) -> str:
    """The name itself if it is plain ASCII and fit for a folder, else its fitting characters and a hash."""
    if re.fullmatch(r"[\w.]+", name, re.ASCII) and len(name) <= longest:
        return name
    slug = re.sub(r"[^\w.]+", "_", name, flags=re.ASCII)[: longest - 9]
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _fields(columns: tuple[Column, ...]) -> list[pa.Field[pa.DataType]]:
    return [pa.field(column.name, column.type) for column in columns]


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a table that one commit replaces: partition columns and values, in the table's order.

    >>> str(Slice.of(_school_id=101, _semester_id=20))
    '101:20'
    """

    values: tuple[tuple[str, int | str], ...]

    @classmethod
    def of(cls, **values: int | str) -> Self:
        """Raises ValueError for text that is unsafe in a path, in SQL or in a name."""
        for name, value in values.items():
            if isinstance(value, str) and not re.fullmatch(r"[A-Za-z0-9_.-]+", value):
                raise ValueError(f"slice value {name}={value!r}: letters, digits, '_', '.' and '-' only")
        return cls(tuple(values.items()))

    @property
    def school_id(self) -> int:
        return int(dict(self.values)[SCHOOL_ID.name])

    @property
    def semester_id(self) -> int | None:
        return self._number(SEMESTER_ID)

    @property
    def week(self) -> int | None:
        return self._number("_week")

    @property
    def predicate(self) -> str:
        """The slice as a condition in Delta's SQL."""
        return " AND ".join(
            f"{name} = {value}" if isinstance(value, int) else f"{name} = '{value}'"
            for name, value in self.values
        )

    @property
    def folder(self) -> str:
        """The folder of the slice's files below its table."""
        return "/".join(f"{name}={value}" for name, value in self.values)

    @property
    def counter(self) -> str:
        """The name of the Delta transaction that counts the slice's commits: `101|20`."""
        return str(self).replace(SEPARATOR, "|")

    def __str__(self) -> str:
        return SEPARATOR.join(str(value) for _, value in self.values)

    def _number(self, name: str) -> int | None:
        value = dict(self.values).get(name)
        return None if value is None else int(value)
