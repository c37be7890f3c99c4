"""The definition of a dataset: metadata, and columns of values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from simulator.school.rows import Row, Values

T_co = TypeVar("T_co", covariant=True)


class Column(Protocol[T_co]):
    """The values of a field. The row at position p has the value at p modulo the length.

    A column shorter than its table repeats, so that a table of any size costs no memory."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> T_co: ...


class ComputedColumn(Generic[T_co]):
    """A column that computes its values on access."""

    def __init__(self, length: int, make: Callable[[int], T_co]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, position: int, /) -> T_co:
        return self._make(position)


class Field(NamedTuple):
    """A field of a dataset, with the specification's names."""

    name: str
    label: str
    type: str
    primary: bool = False
    enum: Sequence[str | int] | None = None
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None
    description: str | None = None


class Relation(NamedTuple):
    """A relation that can be expanded."""

    name: str
    label: str | None
    ref_name: str
    related_by: str


@dataclass(frozen=True)
class World:
    """The input for the rows of a dataset in a school."""

    rng: Random
    students: Sequence[Row]
    semester_ids: Sequence[int]
    today: date
    rows: int  # of big_scores
    gap: int  # missing ids after each thousand rows of big_scores
    fresh: int  # percent of the rows of big_scores updated today


Columns = Mapping[str, Column[Any]]


def transposed(rows: Iterable[Values]) -> Columns:
    """Rows as columns. All rows have the same fields."""
    made = list(rows)
    return {name: [row[name] for row in made] for name in made[0]} if made else {}


@dataclass(frozen=True)
class Dataset:
    """A dataset of every school, and the function for its columns."""

    name: str
    label: str
    fields: Sequence[Field]
    columns: Callable[[World], Columns]
    description: str = ""
    relations: Sequence[Relation] = ()
    is_custom: bool = False
    has_segments: bool = True  # whether the dataset takes id_egt and id_elt, if its key is an integer
    tells_last_update: bool = True

    @property
    def primary(self) -> list[Field]:
        """The fields of the primary key, if any."""
        return [field for field in self.fields if field.primary]

    @property
    def integer_key(self) -> str | None:
        """The name of the primary key where that is one integer."""
        primary = self.primary
        return primary[0].name if len(primary) == 1 and primary[0].type == "integer" else None


CREATED = Field("created_at", "创建时间", "timestamp")
UPDATED = Field("updated_at", "更新时间", "timestamp")


def key(name: str = "id", label: str = "编号") -> Field:
    """An integer primary key."""
    return Field(name, label, "integer", primary=True)


def text(name: str, label: str, max_length: int = 50, **options: Any) -> Field:
    """A string with a maximum length."""
    return Field(name, label, "string", max_length=max_length, **options)


def decimal(name: str, label: str, precision: int, scale: int) -> Field:
    """An exact number."""
    return Field(name, label, "decimal", precision=precision, scale=scale)
