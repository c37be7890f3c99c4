"""From the bytes of a page to Arrow: exact or quarantined, never silently changed.

A page is decoded as a whole against its contract. Where that fails, it goes row by row: what can be mended
without loss is (see `campus.mend`), good rows load, and a bad row is kept with its reason and its JSON.
Whatever no column holds travels in the row's `_extra`.
"""

import codecs
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contract import Contract, Field, fields, roomy
from campus.errors import TornBody, UnexpectedAnswer
from campus.mend import FINER_THAN_MICROSECONDS, mend, redacted

T = TypeVar("T", bound=Contract)
Key = tuple[Any, ...]
# All that a decoder raises for a value that does not fit, text that is no UTF-8 or half a surrogate pair.
UNFIT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class BadRow:
    """A row that breaks its contract. `key` is None where the key itself cannot be read."""

    key: Key | None
    reason: str
    raw: str


@dataclass(frozen=True)
class Drift:
    """One way in which the platform differs from the contract without harm to the data. `sample` is a value
    that is not personal, or empty."""

    kind: str
    field: str
    sample: str = ""


@dataclass
class Page(Generic[T]):
    """One decoded page. `extras` runs beside `rows`: JSON text of what no column holds, or None."""

    rows: list[T]
    extras: list[str | None]
    bad: list[BadRow] = field(default_factory=list)
    sent: frozenset[str] = frozenset()
    drift: Counter[Drift] = field(default_factory=Counter)


def decode_page(body: bytes, contract: type[T], key: tuple[str, ...]) -> Page[T]:
    """Decode a JSON array of objects; null is an empty one. `sent`: the field names of its first row.

    Raises TornBody where the body is no JSON, UnexpectedAnswer where it is no array."""
    body = body.removeprefix(codecs.BOM_UTF8)
    if FINER_THAN_MICROSECONDS.search(body):
        return _decode_rows(body, contract, key)
    try:
        rows = _page_decoder(contract).decode(body)
    except UNFIT:
        return _decode_rows(body, contract, key)
    page: Page[T] = Page(rows, [None] * len(rows))
    if rows:
        page.sent = sent_names(raw_rows(body)[0])
        page.drift.update(absent_fields(contract, page.sent, len(rows)))
    return page


def to_batch(
    contract: type[T],
    rows: Sequence[T],
    extras: Sequence[str | None],
    trashed: Sequence[bool],
    key: tuple[str, ...],
) -> tuple[pa.RecordBatch, list[BadRow], Counter[Drift]]:
    """Arrow columns of decoded rows, with `_extra`, `_trashed` and `_trashed_at` (the row's own deleted_at).

    A row with a decimal that the column cannot hold exactly is given back as bad instead."""
    try:
        return _batch(contract, rows, extras, trashed), [], _unknown_values(contract, rows)
    except pa.ArrowInvalid:
        bad = {index: reason for index, row in enumerate(rows) if (reason := _misfit(contract, row))}
        good = [index for index in range(len(rows)) if index not in bad]
        kept = [rows[index] for index in good]
        batch = _batch(contract, kept, [extras[i] for i in good], [trashed[i] for i in good])
        bad_rows = [
            BadRow(row_key(rows[index], key), reason, row_text(rows[index], extras[index]))
            for index, reason in bad.items()
        ]
        return batch, bad_rows, _unknown_values(contract, kept)


def row_key(row: Contract, key: tuple[str, ...]) -> Key:
    """The values of a row's key fields."""
    return tuple(getattr(row, name) for name in key)


def row_text(row: Contract, extra: str | None) -> str:
    """A decoded row as the quarantine keeps it: the JSON of its fields that are not null, and what `_extra`
    has of it verbatim."""
    sent = {f.wire: value for f in fields(type(row)) if (value := getattr(row, f.name)) is not None}
    verbatim = msgspec.json.decode(extra, type=dict[str, Raw]) if extra else {}
    return _as_text(msgspec.json.encode(sent | verbatim))


def batch_schema(contract: type[Contract]) -> pa.Schema:
    """The schema of `to_batch`'s batches."""
    columns: dict[str, Any] = {f.name: f.arrow_type for f in fields(contract)}
    ours = {"_extra": pa.string(), "_trashed": pa.bool_(), "_trashed_at": pa.timestamp("us")}
    return pa.schema(columns | ours)


def _batch(
    contract: type[T], rows: Sequence[T], extras: Sequence[str | None], trashed: Sequence[bool]
) -> pa.RecordBatch:
    columns = [_column(rows, f.name, f.arrow_type) for f in fields(contract)]
    moments = [f.name for f in fields(contract) if pa.types.is_timestamp(f.arrow_type)]
    deleted_at = [getattr(row, name) for name in moments if name == "deleted_at" for row in rows]
    columns += [
        pa.array(extras, pa.string()),
        pa.array(trashed, pa.bool_()),
        pa.array(deleted_at or [None] * len(rows), pa.timestamp("us")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch_schema(contract))


def _column(rows: Sequence[Contract], name: str, arrow_type: pa.DataType) -> Any:
    values = [getattr(row, name) for row in rows]
    if pa.types.is_nested(arrow_type):
        values = [_plain(value, arrow_type) for value in values]
    return pa.array(values, roomy(arrow_type)).cast(arrow_type)


def _plain(value: Any, arrow_type: Any) -> Any:
    """A nested value as Arrow takes it; a bare id where a person belongs is a person."""
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


def _misfit(contract: type[Contract], row: Contract) -> str | None:
    """Why a row does not fit its columns, or None."""
    for f in fields(contract):
        try:
            _column([row], f.name, f.arrow_type)
        except pa.ArrowInvalid as error:
            return f"{error} - at `$.{f.name}`"
    return None


def _unknown_values(contract: type[Contract], rows: Sequence[Contract]) -> Counter[Drift]:
    found: Counter[Drift] = Counter()
    for f in fields(contract):
        if f.known_values:
            for value, rows_with in Counter(getattr(row, f.name) for row in rows).items():
                if value is not None and str(value) not in f.known_values:
                    found[unknown_value(f, value)] += rows_with
    return found


def sent_names(row: bytes | Raw) -> frozenset[str]:
    """The names of the fields that a row was sent with."""
    return frozenset(_members(row))


def absent_fields(contract: type[Contract], sent: frozenset[str], rows: int) -> Counter[Drift]:
    """Fields that every platform sends and this one does not, each for so many rows."""
    absent = [f.wire for f in fields(contract) if f.expected and f.wire not in sent]
    return Counter({Drift("absent_field", name): rows for name in absent})


def unknown_value(field: Field, value: str | int) -> Drift:
    """A value of an enum that the specification or the metadata does not list."""
    return Drift("unknown_value", field.wire, "" if field.personal else str(value)[:50])


# Row by row: only a page with something unusual in it comes here.


def _decode_rows(body: bytes, contract: type[T], key: tuple[str, ...]) -> Page[T]:
    page: Page[T] = Page([], [])
    for raw in raw_rows(body):
        text = bytes(raw)
        row = _as_sent(text, contract)
        if row is None:
            _decode_odd_row(text, contract, key, page)
        else:
            page.sent = page.sent or sent_names(text)
            page.rows.append(row)
            page.extras.append(None)
    if page.sent:
        page.drift.update(absent_fields(contract, page.sent, len(page.rows) + len(page.bad)))
    return page


def _as_sent(text: bytes, contract: type[T]) -> T | None:
    """A row that needs no mending; None for any other."""
    if FINER_THAN_MICROSECONDS.search(text):
        return None
    try:
        row: T = _row_decoder(contract).decode(text)
    except UNFIT:
        return None
    return row


def _decode_odd_row(text: bytes, contract: type[T], key: tuple[str, ...], page: Page[T]) -> None:
    mended = text
    try:
        members = _members(text)
        page.sent = page.sent or frozenset(members)
        kept, drift = mend(members, contract)
        mended = msgspec.json.encode(members)
        row = _row_decoder(contract).decode(mended)
        extra = msgspec.json.encode(kept).decode() if kept else None
    except UNFIT as error:
        page.bad.append(BadRow(_key_of(mended, contract, key), str(error), _as_text(text)))
    else:
        page.rows.append(row)
        page.extras.append(extra)
        for kind, name in drift:
            page.drift[Drift(kind, name)] += 1


def _key_of(row: bytes, contract: type[Contract], key: tuple[str, ...]) -> Key | None:
    """The key of a broken row. A part that the contract does not insist on is None where it is missing."""
    try:
        values = json.loads(row.decode(errors="replace"), parse_float=Decimal)
        return tuple(msgspec.structs.astuple(msgspec.convert(values, _key_struct(contract, key))))
    except (ValueError, msgspec.ValidationError, RecursionError):
        return None


def _as_text(raw: bytes | Raw) -> str:
    """A row as the quarantine keeps it; bytes that are no UTF-8 are spelt out."""
    return redacted(raw).decode(errors="backslashreplace")


def raw_rows(body: bytes) -> Sequence[bytes | Raw]:
    """The rows of a JSON array as they were sent; null has none.

    Raises TornBody where the body is no JSON, UnexpectedAnswer where it is no array."""
    try:
        return _RAW_ROWS.decode(body) or ()
    except (msgspec.ValidationError, RecursionError) as error:
        raise UnexpectedAnswer(f"expected a list of rows, got {_kind_of(body)}.") from error
    except msgspec.DecodeError as error:
        rows = _parts_of_odd_text(body, list)
        if rows is None:
            raise TornBody(str(error)) from error
        return rows


def raw_members(body: bytes) -> Mapping[str, bytes | Raw]:
    """The members of a JSON object as they were sent; null, and a list with nothing in it, have none.

    Raises TornBody where the body is no JSON, UnexpectedAnswer where it is no object."""
    body = body.removeprefix(codecs.BOM_UTF8).strip()
    try:
        return {} if body in (b"null", b"[]") else _members(body)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UnexpectedAnswer(f"expected an object: {error}.") from error
    except msgspec.DecodeError as error:
        parts = _parts_of_odd_text(body, dict)
        if parts is None:
            raise TornBody(str(error)) from error
        return dict(zip(map(json.loads, parts[::2]), parts[1::2], strict=True))


def _kind_of(body: bytes) -> str:
    """An answer in words that give away nothing of its content but names."""
    try:
        return f"an object with {', '.join(list(_members(body))[:5]) or 'nothing in it'}"
    except UNFIT:
        return "something else"


def _parts_of_odd_text(body: bytes, shape: type) -> list[bytes] | None:
    """The rows of an array, or the names and values of an object in turn, with half a surrogate pair or a NaN
    in it, for which the fast decoder refuses the whole body; None where it is indeed no JSON of this
    shape."""
    try:
        text = body.decode()
        if not isinstance(json.loads(text), shape):
            return None
    except (ValueError, RecursionError):
        return None
    parts = []
    begin = _after_gap(text, _after_gap(text, 0) + 1)
    while text[begin] not in "]}":
        _, end = _SCANNER.raw_decode(text, begin)
        parts.append(text[begin:end].encode())
        begin = _after_gap(text, end)
    return parts


def _after_gap(text: str, position: int) -> int:
    while text[position] in " \t\r\n,:":
        position += 1
    return position


def _members(raw: bytes | Raw) -> dict[str, Raw]:
    return _MEMBERS.decode(raw)


_RAW_ROWS = msgspec.json.Decoder(list[Raw] | None)
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_SCANNER = json.JSONDecoder()


@cache
def _page_decoder(contract: type[T]) -> "msgspec.json.Decoder[list[T]]":
    return msgspec.json.Decoder(list[contract])  # type: ignore[valid-type]


@cache
def _row_decoder(contract: type[T]) -> "msgspec.json.Decoder[T]":
    return msgspec.json.Decoder(contract)


@cache
def _key_struct(contract: type[Contract], key: tuple[str, ...]) -> type[msgspec.Struct]:
    """A struct of the key fields alone, so that a broken row's key can still be read."""
    annotations = get_type_hints(contract, include_extras=True)
    own = {field.name: field for field in msgspec.structs.fields(contract)}
    parts = [
        (name, annotations[name]) if own[name].required else (name, annotations[name], None) for name in key
    ]
    rename = {name: own[name].encode_name for name in key}
    return msgspec.defstruct(contract.__name__, parts, kw_only=True, rename=rename)
