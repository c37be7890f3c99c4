"""What the lake holds, as data: tables of the platform's rows, and the slices in which they are replaced."""

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

#: Between the parts of a slice's label and of a partition's key; not `|`, at which Dagster's UI splits a key.
SEPARATOR = ":"

#: The zone of the platform's wall clock, as campus.contracts.fields has it: neither room knows the other.
PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
#: Every timestamp of the lake: that wall clock, without a zone.
TIMESTAMP = pa.timestamp("us")

SYNCED_AT, DELETED_AT, EXTRA = "_synced_at", "_deleted_at", "_extra"
TRASHED, TRASHED_AT = "_trashed", "_trashed_at"


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a table, under the interface's own name. `label_zh`, `unit` and `privacy` (a class of
    warehouse.privacy) are for the dictionary."""

    name: str
    type: pa.DataType
    comment: str
    personal: bool = False
    label_zh: str = field(default="", compare=False, kw_only=True)
    unit: str = field(default="", compare=False, kw_only=True)
    privacy: str = field(default="", compare=False, kw_only=True)


#: What tells the rows of a dataset apart that has no key of its own; not published.
ROW_KEY = Column("_row", pa.string(), "Hash of the row, and its number among equal rows")
SEGMENT = "_segment"
SEMESTER_ID = "_semester_id"

#: Beside the fields of a report: the platform's order of its rows, and which of its results they are of.
ROW_NUMBER = Column(
    identifiers.ROW_NUMBER, pa.int64(), "Place of the row in the report, from 1", label_zh="行号"
)
PARAMS = Column(
    identifiers.PARAMS,
    pa.string(),
    "Values of the matrix that the row is of, such as semester=20",
    label_zh="参数组合",
)
PARTITION = "_partition"

#: What every table of platform rows carries beside the interface's own fields.
SCHOOL_ID = Column(
    "_school_id", pa.int64(), "School that the row was read for", label_zh="学校ID", privacy="id"
)
BOOKKEEPING = (
    Column(
        SYNCED_AT,
        TIMESTAMP,
        "Start of the sync that last found the row new, changed, gone or back",
        label_zh="同步时间",
        privacy="plain",
    ),
    Column(
        DELETED_AT,
        TIMESTAMP,
        "When the platform deleted the row or a sync found it gone; null: alive",
        label_zh="删除时间",
        privacy="moment",
    ),
    Column(
        EXTRA,
        pa.string(),
        "JSON object of what the platform sent beyond the contract, verbatim",
        label_zh="其他字段",
        privacy="mixed",
    ),
)


class Stored(Protocol):
    """What `Lake` needs to know of a table, whoever fills it."""

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
    """A table of platform rows; `primary_key` is unique within a slice.

    `slice_columns` are the lake's partition columns, `_school_id` first, all integers but PARTITION.
    Parts of the key among `nullable_key` may be null, which is a value like others. `numbered`: the part that
    numbers the rows which share the others; a row that was held before there was such a column is the first.
    `tracks_changes` sends what changes to the change log, `ignored_changes` aside; `keeps_past`
    keeps each row as it was before a change. `shows_deleted`: the
    platform also sends rows that it has deleted. `is_snapshot`: a reading takes the place of the whole slice,
    and nothing is kept of what it lacks. `retired` columns are held but no longer read: their values stay as
    they are.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    slice_columns: tuple[str, ...]
    comment: str
    tracks_changes: bool = False
    keeps_past: bool = False
    ignored_changes: frozenset[str] = frozenset({"updated_at"})
    nullable_key: tuple[str, ...] = ()
    numbered: str | None = None
    shows_deleted: bool = True
    is_snapshot: bool = False
    retired: tuple[Column, ...] = ()
    label_zh: str = ""

    @property
    def folder(self) -> str:
        """Where the table lies below the lake's root: never inside another, whose vacuum would empty it."""
        return ascii_name(self.name)

    @property
    def row_schema(self) -> pa.Schema:
        """The platform's fields and `_extra`: what is compared to tell whether a row changed."""
        return pa.schema([*_fields(self.columns), pa.field(EXTRA, pa.string())])

    @property
    def staging_schema(self) -> pa.Schema:
        """What a sync hands over: a row, and whether and since when the platform shows it as deleted."""
        if not self.shows_deleted:
            return self.row_schema
        return self.row_schema.append(pa.field(TRASHED, pa.bool_())).append(pa.field(TRASHED_AT, TIMESTAMP))

    @property
    def lake_schema(self) -> pa.Schema:
        """The platform's fields, the slice columns, then ours."""
        slices = [
            pa.field(name, pa.string() if name == PARTITION else pa.int64()) for name in self.slice_columns
        ]
        return pa.schema([*_fields(self.columns), *_fields(self.retired), *slices, *_fields(BOOKKEEPING)])


def dataset_table(table: str, columns: Sequence[Column], primary_key: tuple[str, ...], comment: str) -> Table:
    """The lake table of a dataset of the platform, for all schools, sliced by ranges of ids.

    `primary_key` is `(ROW_KEY.name,)`, and ROW_KEY one of the columns, where the dataset has no key.
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
    """The lake table of a report's query, for all schools, sliced by the partitions that it is loaded in."""
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
    """What is said of each column, with a mark on those that tell about one person."""
    return {
        column.name: f"{column.comment} (personal)" if column.personal else column.comment
        for column in columns
    }


def of_schools(schools: Iterable[int]) -> str:
    """The rows of some schools as a condition in SQL, Delta's and DuckDB's."""
    return f"{SCHOOL_ID.name} IN ({', '.join(map(str, sorted(schools)))})"


def is_of(schools: Iterable[int]) -> pc.Expression:
    """The same for what is read into memory (`Lake.scan`)."""
    return pc.field(SCHOOL_ID.name).isin(sorted(schools))


def file_schema(table: Stored) -> pa.Schema:
    """What the data files of a table hold: the slice columns are in their paths."""
    return pa.schema([field for field in table.lake_schema if field.name not in table.slice_columns])


def ascii_name(name: str, longest: int = 240) -> str:
    """The name itself where it is plain ASCII and fit for a folder, else what is left of it and a hash of the
    whole."""
    if re.fullmatch(r"[\w.]+", name, re.ASCII) and len(name) <= longest:
        return name
    slug = re.sub(r"[^\w.]+", "_", name, flags=re.ASCII)[: longest - 9]
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _fields(columns: tuple[Column, ...]) -> list[pa.Field[pa.DataType]]:
    return [pa.field(column.name, column.type) for column in columns]


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a table that one commit replaces: its first partition columns and their values, in the
    table's order.

    >>> str(Slice.of(_school_id=101, _semester_id=20))
    '101:20'
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
        """Where the slice's files lie below its table."""
        return "/".join(f"{name}={value}" for name, value in self.values)

    @property
    def counter(self) -> str:
        """Name of the Delta transaction that counts the slice's commits: `101|20`."""
        return str(self).replace(SEPARATOR, "|")

    def __str__(self) -> str:
        return SEPARATOR.join(str(value) for _, value in self.values)

    def _number(self, name: str) -> int | None:
        value = dict(self.values).get(name)
        return None if value is None else int(value)
