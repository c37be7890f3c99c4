"""Decodes the bytes of a page to typed rows, and builds Arrow columns of rows; no value changes silently.

A page is decoded as a whole against its contract. Where that fails, it is decoded row by row: a value that
fits without loss is coerced (see `row_coercion`). Any other value goes to `_extra`, its column is null, and
it is reported as drift. Only a row without a readable key is bad, and goes to quarantine.
"""

import codecs
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.account import BadRow, Drift, Key
from campus.contracts.fields import Contract, Field, fields, roomy
from campus.decoding.raw_json import JSON_ERRORS, as_json, first_names, raw_rows, sent_members
from campus.decoding.row_coercion import coerce_row, row_decoder
from campus.decoding.value_coercion import FINER_THAN_MICROSECONDS
from campus.decoding.withholding import (
    blank_identity_fields,
    has_identity_fields,
    redacted,
    withheld_drift,
    withhold_in_page,
    withhold_in_row,
)
from campus.identity_numbers import without_identity_numbers

T = TypeVar("T", bound=Contract)
MOMENT = pa.timestamp("us")


@dataclass
class Page(Generic[T]):
    """One decoded page."""

    rows: list[T]
    # The `_extra` of each row: the JSON of values that no column holds, or None.
    extras: list[str | None]
    bad: list[BadRow] = field(default_factory=list)
    # The field names of the first row.
    sent: frozenset[str] = frozenset()
    drift: Counter[Drift] = field(default_factory=Counter)


def decode_page(body: bytes, contract: type[T], *, keep_id_numbers: bool = False) -> Page[T]:
    """Decode a JSON array of objects; null is an empty array.

    keep_id_numbers: national identity numbers stay, see `withholding`.
    Raises TornBody where the body is not JSON, UnexpectedAnswer where it is not an array."""
    body = body.removeprefix(codecs.BOM_UTF8)
    withheld = None if keep_id_numbers else withhold_in_page(body, contract)
    if withheld is not None:
        body = withheld.body
    has_fine_times = FINER_THAN_MICROSECONDS.search(body) is not None
    try:
        rows = None if has_fine_times else _page_decoder(contract).decode(body)
    except JSON_ERRORS:
        rows = None
    if rows is None or misfitting(contract, rows):
        walked = None if withheld is None else withheld.walked
        page = _decode_rows(body, contract, walked, has_fine_times=has_fine_times)
    else:
        page = Page(rows, [None] * len(rows), sent=first_names(body) if rows else frozenset())
    if page.rows or page.sent:
        count = len(page.rows) + len(page.bad)
        page.drift.update(dict.fromkeys(absent_fields(contract, page.sent), count))
    if withheld is not None:
        page.drift.update(withheld.drift)
        if has_identity_fields(contract):
            page.drift.update(blank_identity_fields(page.rows, contract))
    return page


def to_batch(
    contract: type[T], rows: Sequence[T], extras: Sequence[str | None], trashed: Sequence[bool]
) -> tuple[pa.RecordBatch, Counter[Drift]]:
    """Arrow columns of decoded rows, with `_extra`, `_trashed` and `_trashed_at` (the row's own
    deleted_at)."""
    columns: dict[str, Any] = {}
    drift: Counter[Drift] = Counter()
    # Column by column: the rows as tuples would cost as much as the arrays, and their memory at once.
    for f in fields(contract):
        sent = list(map(attrgetter(f.name), rows))
        columns[f.name] = column(sent, f.arrow_type)
        for value, count in Counter(sent if f.known_values else ()).items():
            if value is not None and str(value) not in f.known_values:
                drift[unknown_value(f, value)] += count
    trashed_at = columns.get("deleted_at")
    if trashed_at is None or not pa.types.is_timestamp(trashed_at.type):
        trashed_at = pa.nulls(len(rows), MOMENT)
    arrays = [*columns.values(), pa.array(extras, pa.string()), pa.array(trashed, pa.bool_()), trashed_at]
    return pa.RecordBatch.from_arrays(arrays, schema=batch_schema(contract)), drift


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
    values, arrow_type = list(map(attrgetter(field.name), rows)), field.arrow_type
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
    if max(map(len, texts), default=0) > min(scale, precision - scale):
        return False
    text = "".join(texts)
    # The letters of an exponent, NaN or Infinity have two cases.
    return text.lower() == text.upper()


def batch_schema(contract: type[Contract]) -> pa.Schema:
    """The schema of `to_batch`'s batches."""
    columns: dict[str, Any] = {f.name: f.arrow_type for f in fields(contract)}
    added = {"_extra": pa.string(), "_trashed": pa.bool_(), "_trashed_at": MOMENT}
    return pa.schema(columns | added)


def row_key(row: Contract, key: tuple[str, ...]) -> Key:
    """The values of a row's key fields."""
    return tuple(getattr(row, name) for name in key)


def row_keys(rows: Sequence[Contract], key: tuple[str, ...]) -> list[Key]:
    """The `row_key` of each row."""
    return list(zip(*([getattr(row, name) for row in rows] for name in key), strict=True))


def row_text(row: Contract, extra: str | None) -> str:
    """A decoded row as JSON for the quarantine: its fields that are not null, and its `_extra`."""
    sent = {f.wire: value for f in fields(type(row)) if (value := getattr(row, f.name)) is not None}
    verbatim = msgspec.json.decode(extra, type=dict[str, Raw]) if extra else {}
    return _as_text(msgspec.json.encode(sent | verbatim))


@lru_cache(1000)
def absent_fields(contract: type[Contract], sent: frozenset[str]) -> tuple[Drift, ...]:
    """The drift of expected fields that the platform does not send, by the fields that it has sent."""
    wires = (f.wire for f in fields(contract) if f.expected)
    return tuple(Drift("absent_field", wire) for wire in wires if wire not in sent)


def unknown_value(field: Field, value: str | int) -> Drift:
    """The drift of an enum's value that neither the specification nor the metadata list."""
    return Drift("unknown_value", field.wire, "" if field.personal else str(value)[:50])


# Decoding row by row, for a page with an unusual value.

# A row, its `_extra`, and drift as (kind, field).
_Decoded = tuple[T, str | None, Sequence[tuple[str, str]]]


def _decode_rows(
    body: bytes, contract: type[T], walked: frozenset[int] | None, *, has_fine_times: bool
) -> Page[T]:
    """walked: the indexes of the rows without identity numbers; None: the numbers stay."""
    page: Page[T] = Page([], [])
    texts = [bytes(raw) for raw in raw_rows(body)]
    # By the index of the row.
    decoded: dict[int, _Decoded[T]] = {}
    decoder = row_decoder(contract)

    def coerce(index: int, misfits: Sequence[str] = ()) -> None:
        """misfits: fields that the decoder accepts and no column holds."""
        # Only here values go to `_extra` or to quarantine; the columns of identity numbers are emptied later.
        if walked is not None and index not in walked:
            texts[index], withheld = withhold_in_row(texts[index], contract)
            page.drift.update(withheld_drift(withheld))
        try:
            members = sent_members(texts[index])
            verbatim, notes = coerce_row(members, contract, [name for name in misfits if name in members])
            row = decoder.decode(msgspec.json.encode(members))
            extra = {name: Raw(as_json(value)) for name, value in verbatim.items()}
            decoded[index] = row, msgspec.json.encode(extra).decode() if extra else None, notes
        except JSON_ERRORS as error:
            decoded.pop(index, None)
            reason = without_identity_numbers(str(error))
            page.bad.append(BadRow(None, reason, _as_text(texts[index])))

    for index, text in enumerate(texts):
        if not page.sent:
            with suppress(*JSON_ERRORS):
                page.sent = frozenset(sent_members(text))
        try:
            is_fine = has_fine_times and FINER_THAN_MICROSECONDS.search(text)
            fitting = None if is_fine else decoder.decode(text)
        except JSON_ERRORS:
            fitting = None
        if fitting is None:
            coerce(index)
        else:
            decoded[index] = fitting, None, ()
    indexes = list(decoded)
    for position, names in misfits(contract, [row for row, *_ in decoded.values()]).items():
        coerce(indexes[position], names)
    for row, extra, notes in decoded.values():
        page.rows.append(row)
        page.extras.append(extra)
        for kind, name in notes:
            page.drift[Drift(kind, name)] += 1
    return page


def _as_text(raw: bytes | Raw) -> str:
    """A row as text for the quarantine; bytes that are not UTF-8 are escaped."""
    return redacted(raw).decode(errors="backslashreplace")


@cache
def _page_decoder(contract: type[T]) -> "msgspec.json.Decoder[list[T]]":
    return msgspec.json.Decoder(list[contract])  # type: ignore[valid-type]
