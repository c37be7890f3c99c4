"""Records as they are sent, thousands at a time: what several rows have in common is rendered once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec

from simulator.datasets.catalog import BY_NAME
from simulator.datasets.definitions import Column, Made
from simulator.datasets.registry import Description
from simulator.datasets.table import NOTHING, Handle
from simulator.http import decimal_of
from simulator.rows import Values
from simulator.settings import Readings

RENDERED = 2_000  # longer columns are rendered when they are asked for, value by value
EXTRA: dict[str, Column[Any]] = {"x_source": [{"system": "legacy"}], "x_note": ["备注"]}

Shape = Callable[[int, Any], Any]  # of a row's position and a value


class Rendering:
    """Some fields of a dataset, in this platform's reading of what the specification leaves open."""

    def __init__(self, described: Description, names: Iterable[str], readings: Readings) -> None:
        self._columns = {name: _sent(described, name, readings) for name in names}
        if readings.extra_fields == "some":
            self._columns |= EXTRA

    @cached_property
    def _parts(self) -> list[Column[bytes]]:
        groups = groupby(self._columns.items(), key=lambda item: len(item[1]))
        return [_rendered(length, dict(group)) for length, group in groups]

    def values(self, row: Handle) -> Values:
        """A record; what a test has given is in it as it was given."""
        position, given = (row, {}) if isinstance(row, int) else (row.position, row.given)
        return {
            name: given[name] if name in given else _at(column, position)
            for name, column in self._columns.items()
        }

    def encoded(self, rows: Sequence[Handle]) -> bytes:
        """Records as a JSON array."""
        made = self._made([row for row in rows if isinstance(row, int)])
        sent = [next(made) if isinstance(row, int) else _members(self.values(row)) for row in rows]
        return b"[{" + b"},{".join(sent) + b"}]" if sent else b"[]"

    def _made(self, positions: list[int]) -> Iterator[bytes]:
        columns = ([part[p % len(part)] for p in positions] for part in self._parts)
        return map(b",".join, zip(*columns, strict=True))


def _at(column: Column[Any], position: int | None) -> Any:
    return None if position is None else column[position % len(column)]


def _members(values: Values) -> bytes:
    return msgspec.json.encode(values)[1:-1]


def _rendered(length: int, columns: dict[str, Column[Any]]) -> Column[bytes]:
    """Columns of one length as one column of members of a JSON object."""
    made = Made(length, lambda p: _members({name: column[p] for name, column in columns.items()}))
    return made if length > RENDERED else [made[p] for p in range(length)]


def _sent(described: Description, name: str, readings: Readings) -> Column[Any]:
    column = described.table.columns.get(name, NOTHING)
    shapes = list(_shapes(described, name, readings))

    def shaped(position: int) -> Any:
        value = column[position]
        for shape in shapes:
            value = shape(position, value)
        return value

    return Made(len(column), shaped) if shapes else column


def _shapes(described: Description, name: str, readings: Readings) -> Iterator[Shape]:
    field = described.fields[name]
    made = BY_NAME.get(described.name)
    types = {made_field.name: made_field.type for made_field in made.fields} if made else {}
    if types.get(name, field["type"]) != field["type"] and field["type"] in CASTS:
        cast = CASTS[field["type"]]
        yield lambda _, value: None if value is None else cast(value)
    if field["type"] == "decimal" and readings.decimals == "number":
        yield lambda _, value: msgspec.Raw(value.encode()) if value else None
    if field["type"] == "decimal" and readings.decimals == "fixed":
        yield lambda _, value: f"{Decimal(value):.{field['scale']}f}" if value else None
    if field["type"] == "enum" and readings.enums == "unknown":
        yield lambda position, value: value if position % 10 or isinstance(value, int) else "unheard_of"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _integer(value: Any) -> int | None:
    number = decimal_of(_text(value))
    return None if number is None else int(number)


def _decimal(value: Any) -> str | None:
    number = decimal_of(_text(value))
    return None if number is None else str(number)


CASTS: dict[str, Callable[[Any], Any]] = {  # what a platform does with its rows when a field's type changes
    "string": _text,
    "text": _text,
    "integer": _integer,
    "decimal": _decimal,
    "date": lambda value: _text(value)[:10],
}
