"""Builds Arrow columns of decoded rows, and finds the values that no column can hold."""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from campus.contracts.fields import Contract, Field, fields, roomy

# Of an exponent, NaN or Infinity.
_LETTER = re.compile("[A-Za-z]")


def column(values: Sequence[Any], arrow_type: pa.DataType) -> Any:
    """The values of one field as an Arrow array. Raises ArrowInvalid where a decimal has too many digits."""
    if pa.types.is_nested(arrow_type):
        values = [_plain(value, arrow_type) for value in values]
    return pa.array(values, roomy(arrow_type)).cast(arrow_type)


def _plain(value: Any, arrow_type: Any) -> Any:
    """A nested value in Python's plain types, for Arrow. A bare id in place of a person becomes a person."""
    match value:
        case Contract():
            members = msgspec.structs.asdict(value)
            return {name: _plain(part, arrow_type.field(name).type) for name, part in members.items()}
        case dict():
            return list(value.items())
        case list() if pa.types.is_nested(arrow_type.value_type):
            return [_plain(item, arrow_type.value_type) for item in value]
        case int() if pa.types.is_struct(arrow_type):
            return {"id": value}
    return value


def misfitting(contract: type[Contract], rows: Sequence[Contract]) -> list[Field]:
    """The fields with a decimal that their column cannot hold. The decoder does not check the digits."""
    return [f for f in _with_decimals(contract) if not _fits(rows, f)]


def misfits(contract: type[Contract], rows: Sequence[Contract]) -> dict[int, list[str]]:
    """The names of the fields with a decimal that their column cannot hold, by the index of the row."""
    names: dict[int, list[str]] = {}
    for f in misfitting(contract, rows):
        for index, row in enumerate(rows):
            if not _fits([row], f):
                names.setdefault(index, []).append(f.wire)
    return names


@cache
def _with_decimals(contract: type[Contract]) -> tuple[Field, ...]:
    return tuple(f for f in fields(contract) if roomy(f.arrow_type) != f.arrow_type)


def _fits(rows: Sequence[Contract], field: Field) -> bool:
    values, arrow_type = [getattr(row, field.name) for row in rows], field.arrow_type
    if pa.types.is_decimal(arrow_type) and _are_short(values, arrow_type.precision, arrow_type.scale):
        return True
    try:
        column(values, arrow_type)
    except pa.ArrowInvalid:
        return False
    return True


def _are_short(values: Sequence[Decimal | None], precision: int, scale: int) -> bool:
    """Whether each decimal is written with few digits, without an exponent; Arrow takes ten times as long to
    look."""
    texts = [str(value) for value in values if value is not None]
    is_short = max(map(len, texts), default=0) <= min(scale, precision - scale)
    return is_short and _LETTER.search("".join(texts)) is None
