"""Renders records as JSON, thousands at a time. Repeated parts of rows are rendered once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import msgspec

from simulator.datasets.catalog import BY_NAME
from simulator.datasets.definitions import Column, ComputedColumn
from simulator.datasets.registry import Description
from simulator.datasets.table import NOTHING, Handle
from simulator.messages import decimal_of
from simulator.readings import Readings
from simulator.school.rows import Values

RENDERED = 2_000  # longer columns are rendered on request, value by value
EXTRA: dict[str, Column[Any]] = {"x_source": [{"system": "legacy"}], "x_note": ["备注"]}

ENCODER = msgspec.json.Encoder()

Shape = Callable[[int, Any], Any]  # of a row's position and a value
Part = Callable[[Sequence[int]], list[bytes]]  # some members of the rows at these positions


class Rendering:
    """Renders some fields of a dataset, by this platform's readings."""

    def __init__(self, described: Description, names: Iterable[str], readings: Readings) -> None:
        self._columns = {name: _sent(described, name, readings) for name in names}
        if readings.extra_fields == "some":
            self._columns |= EXTRA

    @cached_property
    def _parts(self) -> list[Part]:
        """The renderers of the columns: neighbours of equal length together, a long column alone."""
        parts: list[Part] = []
        for length, group in groupby(self._columns.items(), key=lambda item: len(item[1])):
            columns = dict(group)
            if length > RENDERED:
                parts += (partial(_rendered, name, column) for name, column in columns.items())
            else:
                rows = ({name: column[p] for name, column in columns.items()} for p in range(length))
                parts.append(partial(_repeated, list(map(_members, rows))))
        return parts

    def values(self, row: Handle) -> Values:
        """A record. Values of tests stay unchanged."""
        position, given = (row, {}) if isinstance(row, int) else (row.position, row.given)
        return {
            name: given[name] if name in given else _at(column, position)
            for name, column in self._columns.items()
        }

    def encoded(self, rows: Sequence[Handle]) -> bytes:
        """Records as a JSON array."""
        if not rows:
            return b"[]"
        if isinstance(rows, range):  # no row is changed
            return self._unchanged(rows)
        columns = [part([row for row in rows if isinstance(row, int)]) for part in self._parts]
        made = map(b",".join, zip(*columns, strict=True))
        sent = (next(made) if isinstance(row, int) else _members(self.values(row)) for row in rows)
        return b"[{%b}]" % b"},{".join(sent)

    def _unchanged(self, positions: range) -> bytes:
        """Many rows at once: fills a list column by column, and joins it once."""
        row_pieces = [b"},{", *(b"", b",") * len(self._parts)][:-1]
        pieces = row_pieces * len(positions)
        for number, part in enumerate(self._parts):
            pieces[1 + 2 * number :: len(row_pieces)] = part(positions)
        pieces[0] = b"[{"
        pieces.append(b"}]")
        return b"".join(pieces)


def _at(column: Column[Any], position: int | None) -> Any:
    return None if position is None else column[position % len(column)]


def _members(values: Values) -> bytes:
    return msgspec.json.encode(values)[1:-1]


def _repeated(members: list[bytes], positions: Sequence[int]) -> list[bytes]:
    """Rendered members of a repeating column."""
    period = len(members)
    if not isinstance(positions, range) or positions.step != 1:
        return [members[p % period] for p in positions]
    first = positions.start % period
    return (members * (len(positions) // period + 2))[first : first + len(positions)]


def _rendered(name: str, column: Column[Any], positions: Sequence[int]) -> list[bytes]:
    """Members rendered now. Each JSON value is a line, since JSON escapes line breaks."""
    start = ENCODER.encode(name) + b":"
    lines = ENCODER.encode_lines([column[p] for p in positions])[:-1]
    return (start + lines.replace(b"\n", b"\n" + start)).splitlines()


def _sent(described: Description, name: str, readings: Readings) -> Column[Any]:
    column = described.table.columns.get(name, NOTHING)
    shapes = list(_shapes(described, name, readings))

    def shaped(position: int) -> Any:
        value = column[position]
        for shape in shapes:
            value = shape(position, value)
        return value

    return ComputedColumn(len(column), shaped) if shapes else column


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
    if field["type"] == "date" and readings.dataset_dates in DATES:
        dated = DATES[readings.dataset_dates]
        yield lambda _, value: dated(value) if value else None
    if field["type"] == "boolean" and readings.dataset_booleans in BOOLEANS:
        flags = BOOLEANS[readings.dataset_booleans]
        yield lambda _, value: flags.get(value)
    if field["type"] == "enum" and readings.enums == "unknown":
        yield lambda position, value: value if position % 10 or isinstance(value, int) else "unheard_of"


def _begin_in_utc(day: str) -> str:
    return f"{date.fromisoformat(day) - timedelta(days=1)}T16:00:00.000Z"


DATES: dict[str, Callable[[str], str]] = {
    "midnight": lambda day: f"{day} 00:00:00",
    "zoned": _begin_in_utc,
}
BOOLEANS: dict[str, dict[Any, Any]] = {
    "number": {True: 1, False: 0},
    "text": {True: "true", False: "false"},
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _integer(value: Any) -> int | None:
    number = decimal_of(_text(value))
    return None if number is None else int(number)


def _decimal(value: Any) -> str | None:
    number = decimal_of(_text(value))
    return None if number is None else str(number)


CASTS: dict[str, Callable[[Any], Any]] = {  # the conversions of values after a change of a field's type
    "string": _text,
    "text": _text,
    "integer": _integer,
    "decimal": _decimal,
    "date": lambda value: _text(value)[:10],
}
