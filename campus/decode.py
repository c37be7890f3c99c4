"""From the bytes of a page to Arrow: exact or quarantined, never silently changed.

A page is decoded as a whole against its contract. Where that fails, it goes row by row: what can be mended
without losing anything is (see `_mend`), good rows load, and a bad row is kept with its reason and its JSON.
Whatever no column holds travels in the row's `_extra`.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contract import DECIMAL, Contract, column_names, fields
from campus.errors import TornBody, UnexpectedAnswer

PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
# National id numbers are stored only where a setting asks for them; a password is never read back.
WITHHELD = frozenset({"idcard", "password"})

T = TypeVar("T", bound=Contract)
Key = tuple[Any, ...]


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
    """Decode a JSON array of objects. `sent`: the field names of its first row.

    Raises TornBody where the body is no JSON, UnexpectedAnswer where it is no array."""
    try:
        rows = _page_decoder(contract).decode(body)
    except msgspec.ValidationError:
        return _decode_rows(body, contract, key)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TornBody(str(error)) from error
    page: Page[T] = Page(rows, [None] * len(rows))
    if rows:
        page.sent = frozenset(_members(_raw_rows(body)[0]))
        _note_absent_fields(page, contract)
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
            BadRow(row_key(rows[index], key), reason, _redacted(msgspec.json.encode(rows[index])))
            for index, reason in bad.items()
        ]
        return batch, bad_rows, _unknown_values(contract, kept)


def row_key(row: Contract, key: tuple[str, ...]) -> Key:
    """The values of a row's key fields."""
    return tuple(getattr(row, name) for name in key)


def batch_schema(contract: type[Contract]) -> pa.Schema:
    """The schema of `to_batch`'s batches."""
    columns: dict[str, Any] = {f.name: f.arrow_type for f in fields(contract)}
    ours = {"_extra": pa.string(), "_trashed": pa.bool_(), "_trashed_at": pa.timestamp("us")}
    return pa.schema(columns | ours)


def _batch(
    contract: type[T], rows: Sequence[T], extras: Sequence[str | None], trashed: Sequence[bool]
) -> pa.RecordBatch:
    columns = [_column(rows, f.name, f.arrow_type) for f in fields(contract)]
    deleted_at = [getattr(row, "deleted_at", None) for row in rows]
    columns += [
        pa.array(extras, pa.string()),
        pa.array(trashed, pa.bool_()),
        pa.array(deleted_at, pa.timestamp("us")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch_schema(contract))


def _column(rows: Sequence[Contract], name: str, arrow_type: pa.DataType) -> Any:
    values = [getattr(row, name) for row in rows]
    if pa.types.is_list(arrow_type) and pa.types.is_struct(arrow_type.value_type):
        values = [None if people is None else [_as_struct(person) for person in people] for people in values]
    return pa.array(values, arrow_type)


def _as_struct(person: int | Contract) -> dict[str, Any]:
    return {"id": person} if isinstance(person, int) else msgspec.structs.asdict(person)


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
            counts = Counter(getattr(row, f.name) for row in rows)
            found.update(
                {
                    Drift("unknown_value", f.name, value[:50]): rows_with
                    for value, rows_with in counts.items()
                    if value is not None and value not in f.known_values
                }
            )
    return found


# Row by row: only a page with something unusual in it comes here.


def _decode_rows(body: bytes, contract: type[T], key: tuple[str, ...]) -> Page[T]:
    page: Page[T] = Page([], [])
    for raw in _raw_rows(body):
        try:
            members = _members(raw)
            page.sent = page.sent or frozenset(members)
            extra = _mend(members, contract, page.drift)
            row = _row_decoder(contract).decode(msgspec.json.encode(members))
        except msgspec.ValidationError as error:
            page.bad.append(BadRow(_key_of(raw, contract, key), str(error), _redacted(raw)))
        else:
            page.rows.append(row)
            page.extras.append(msgspec.json.encode(extra).decode() if extra else None)
    _note_absent_fields(page, contract)
    return page


def _mend(members: dict[str, Raw], contract: type[Contract], drift: Counter[Drift]) -> dict[str, Raw]:
    """Make a row fit its contract where nothing is lost by it, and give back what `_extra` keeps verbatim.

    Taken out: fields that no contract names. Rewritten, with the original kept: "" where a decimal belongs
    becomes null; a timestamp with a zone becomes the platform's wall clock; unknown fields inside a nested
    object leave it. A bare date is its midnight. Anything else stays as it is, for the decoder to judge."""
    extra: dict[str, Raw] = {}
    for name in [name for name in members if name not in column_names(contract)]:
        value = members.pop(name)
        drift[Drift("unknown_field", name)] += 1
        if name not in WITHHELD:
            extra[name] = value
    for f in fields(contract):
        rewrite = _rewriter(f.arrow_type)
        value = members.get(f.name, Raw())
        if rewrite and (mended := rewrite(bytes(value))):
            kind, replacement = mended
            members[f.name] = Raw(replacement)
            if kind:
                drift[Drift(kind, f.name)] += 1
                extra[f.name] = Raw(_redacted(value).encode())
    return extra


Rewriter = Callable[[bytes], tuple[str, bytes] | None]


def _rewriter(arrow_type: pa.DataType) -> Rewriter | None:
    """What may mend a value of this type: its bytes to (drift kind or "", new bytes), or None to leave it."""
    if arrow_type == DECIMAL:
        return lambda value: ("empty_text", b"null") if value == b'""' else None
    if pa.types.is_timestamp(arrow_type):
        return _wall_clock
    if pa.types.is_list(arrow_type) and pa.types.is_struct(arrow_type.value_type):
        known = frozenset(arrow_type.value_type.names)
        return lambda value: _known_members(value, known)
    return None


BARE_DATE = re.compile(rb'"\d{4}-\d\d-\d\d"')


def _wall_clock(value: bytes) -> tuple[str, bytes] | None:
    if BARE_DATE.fullmatch(value):
        return "", value[:-1] + b' 00:00:00"'
    try:
        moment = msgspec.json.decode(value, type=dt.datetime)
    except msgspec.DecodeError:
        return None
    if moment.tzinfo is None:
        return None
    local = moment.astimezone(PLATFORM_ZONE).replace(tzinfo=None)
    return "zoned_timestamp", msgspec.json.encode(local)


def _known_members(value: bytes, known: frozenset[str]) -> tuple[str, bytes] | None:
    """A list of nested objects without the members that no contract names."""
    try:
        items = msgspec.json.decode(value, type=list[int | dict[str, Raw]])
    except msgspec.DecodeError:
        return None
    if all(isinstance(item, int) or item.keys() <= known for item in items):
        return None
    kept = [
        item if isinstance(item, int) else {name: item[name] for name in item if name in known}
        for item in items
    ]
    return "unknown_nested_field", msgspec.json.encode(kept)


def _note_absent_fields(page: Page[Any], contract: type[Contract]) -> None:
    if page.sent:
        for f in fields(contract):
            if f.expected and f.name not in page.sent:
                page.drift[Drift("absent_field", f.name)] += len(page.rows) + len(page.bad)


def _key_of(raw: Raw, contract: type[Contract], key: tuple[str, ...]) -> Key | None:
    try:
        return tuple(msgspec.structs.astuple(msgspec.json.decode(raw, type=_key_struct(contract, key))))
    except msgspec.ValidationError:
        return None


def _redacted(raw: bytes | Raw) -> str:
    """JSON text as it came, without members that are never stored, at any depth."""
    text = bytes(raw)
    if not any(name.encode() in text for name in WITHHELD):
        return text.decode()
    return msgspec.json.encode(_without_withheld(msgspec.json.decode(text))).decode()


def _without_withheld(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_withheld(item) for name, item in value.items() if name not in WITHHELD}
    return [_without_withheld(item) for item in value] if isinstance(value, list) else value


def _raw_rows(body: bytes) -> list[Raw]:
    try:
        return _RAW_ROWS.decode(body)
    except msgspec.ValidationError as error:
        start = bytes(body[:80]).decode(errors="replace")
        raise UnexpectedAnswer(f"expected a list of rows, got {start!r}") from error


def _members(raw: Raw) -> dict[str, Raw]:
    return _MEMBERS.decode(raw)


_RAW_ROWS = msgspec.json.Decoder(list[Raw])
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])


@cache
def _page_decoder(contract: type[T]) -> "msgspec.json.Decoder[list[T]]":
    return msgspec.json.Decoder(list[contract])  # type: ignore[valid-type]


@cache
def _row_decoder(contract: type[T]) -> "msgspec.json.Decoder[T]":
    return msgspec.json.Decoder(contract)


@cache
def _key_struct(contract: type[Contract], key: tuple[str, ...]) -> type[msgspec.Struct]:
    """A struct of the key fields alone, so that a broken row's key can still be read."""
    annotations = contract.__annotations__
    return msgspec.defstruct("Key", [(name, annotations[name]) for name in key])
