"""What a dataset is made of: its metadata as data, and columns of values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from simulator.school.rows import Row, Values

T_co = TypeVar("T_co", covariant=True)


class Column(Protocol[T_co]):
    """The values of one field. The row at position p has the value at p modulo the length.

    So a column shorter than its table repeats itself, and a table of any size costs no memory.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> T_co: ...


class Made(Generic[T_co]):
    """A column whose values are made when they are asked for."""

    def __init__(self, length: int, make: Callable[[int], T_co]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, position: int, /) -> T_co:
        return self._make(position)


class Field(NamedTuple):
    """A field of a dataset, in the words of the specification."""

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
    """What the rows of a dataset in one school are made from."""

    rng: Random
    students: Sequence[Row]
    semester_ids: Sequence[int]
    today: date
    rows: int  # of the big dataset
    gap: int  # ids that it leaves out after each thousand
    fresh: int  # percent of its rows that were updated today


Columns = Mapping[str, Column[Any]]


def transposed(rows: Iterable[Values]) -> Columns:
    """Rows as columns; each row has the fields of the first."""
    made = list(rows)
    return {name: [row[name] for row in made] for name in made[0]} if made else {}


@dataclass(frozen=True)
class Dataset:
    """A dataset as every school has it, and how its columns are made."""

    name: str
    label: str
    fields: Sequence[Field]
    columns: Callable[[World], Columns]
    description: str = ""
    relations: Sequence[Relation] = ()
    is_custom: bool = False
    has_segments: bool = True  # whether id_egt and id_elt are understood, given an integer key
    tells_last_update: bool = True

    @property
    def primary(self) -> list[Field]:
        """The fields of the primary key; none, one or several."""
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


def text(name: str, label: str, max_length: int = 50, **more: Any) -> Field:
    """A string with a greatest length."""
    return Field(name, label, "string", max_length=max_length, **more)


def decimal(name: str, label: str, precision: int, scale: int) -> Field:
    """An exact number."""
    return Field(name, label, "decimal", precision=precision, scale=scale)
