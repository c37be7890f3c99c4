"""Infers from a dataset's values what its metadata leave open: types of fields, and an integer key.

A decision is stored with the dataset's plan, so that it is the same every night. It only ever grows wider: a
later value that does not fit goes to `_extra`, and the next discovery looks at it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

import msgspec
from msgspec import Raw

from campus.contracts.fields import DECIMAL
from campus.decoding.columnar import decode_records
from campus.decoding.definition import Decided, Decision, Definition, FieldDefinition
from campus.decoding.inferred_contract import contract_of, key_fields
from campus.decoding.raw_json import object_members, raw_rows
from campus.decoding.value_coercion import BARE_DATE, INTEGER, JSON_NUMBER, UNREADABLE, ZERO_MOMENTS
from campus.decoding.withholding import WITHHELD
from campus.fetch.answers import confirmed
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.errors import Refused

# The specification reads datasets by a key of this name.
ID = "id"
# Rows of the first page. A platform may refuse so many, and is asked for fewer.
_PAGE_SIZES = (1_000, 100, 20, 5)
_MOST_DIGITS = DECIMAL.precision - DECIMAL.scale
# The kind that holds all values of two kinds.
_WIDER = {
    frozenset({"integer", "decimal"}): "decimal",
    frozenset({"date", "timestamp"}): "timestamp",
}

_STARTS_WITH_DATE = re.compile(rb'"\d{4}-\d\d-\d\d')

# The JSON of a row's fields, by name.
Values = Mapping[str, bytes]


def needs_values(definition: Definition, decided: Decided) -> bool:
    """Whether only the values of the dataset can decide something that is still open."""
    return bool(_open_fields(definition, decided)) or _key_candidate(definition) is not None


async def first_rows(reader: Reader, path: str, params: Mapping[str, str]) -> Sequence[bytes | Raw]:
    """Fetch the first page of a dataset's rows; none where the platform refuses every size.

    params: further parameters of the request. Raises CampusError."""

    def ask(size: int, repeats: int) -> Readings[Sequence[bytes | Raw]]:
        answer = yield AnswerRequest(path, {**params, "page": 1, "per_page": size - repeats}, raw_rows)
        rows: Sequence[bytes | Raw] = answer.value
        return rows

    for size in _PAGE_SIZES:
        asking = confirmed(reader.capabilities, partial(ask, size), lambda rows: not rows)
        try:
            rows = await drive_readings(reader, asking)
        except Refused:
            continue
        return rows[: _PAGE_SIZES[0]]
    return ()


def decide(definition: Definition, decided: Decided, rows: Iterable[bytes | Raw]) -> Decided:
    """Add to `decided` what these rows show. A field without values stays open."""
    values = _values(rows)
    types = dict(decided.types)
    for field in _open_fields(definition, decided):
        kinds = _kinds(field, values)
        is_key = field in key_fields(definition)
        if kinds == {"integer"} or (kinds and not (is_key and field.type)):
            types[field.name] = Decision(field.word, _widest(field, kinds))
        elif kinds and field.type:
            # The values of a key agree with its word.
            types[field.name] = Decision(field.word, field.type)
    key = decided.key
    if (candidate := _key_candidate(definition)) and _is_integer_key(candidate, values):
        key = candidate.name
        if candidate.type != "integer":
            types[key] = Decision(candidate.word, "integer")
    return Decided(types, key)


def revise(definition: Definition, decided: Decided, unfit: Iterable[str]) -> Decided:
    """Widen what was decided by values that did not fit. unfit: JSON objects that have such values."""
    values = _values(row.encode() for row in unfit)
    types = dict(decided.types)
    for field in definition.fields:
        if not field.guessed or field.type is None:
            continue
        misfits = [row for row in values if field.name in row and not _fits(field, row[field.name])]
        if misfits:
            kinds = _kinds(field, misfits) | {field.type}
            types[field.name] = Decision(field.word, _widest(field, kinds))
    return Decided(types, decided.key)


def _open_fields(definition: Definition, decided: Decided) -> list[FieldDefinition]:
    """The fields of unknown type, and the fields of the key whose values may be integers."""
    key = key_fields(definition)
    return [
        field
        for field in definition.fields
        if field.name not in WITHHELD
        and (
            field.type is None
            or (field in key and field.type != "integer" and not _is_decided(field, decided))
        )
    ]


def _is_decided(field: FieldDefinition, decided: Decided) -> bool:
    decision = decided.types.get(field.name)
    return decision is not None and decision.word == field.word


def _key_candidate(definition: Definition) -> FieldDefinition | None:
    """The field that may be the key, where the metadata name no key."""
    if definition.tells_key or key_fields(definition):
        return None
    return next((field for field in definition.fields if field.name == ID), None)


def _is_integer_key(field: FieldDefinition, rows: Sequence[Values]) -> bool:
    ids = [row.get(field.name, b"null") for row in rows]
    is_unique = bool(ids) and len(set(ids)) == len(ids)
    return is_unique and _kinds(field, rows) == {"integer"} and b"null" not in ids


def _values(rows: Iterable[bytes | Raw]) -> list[Values]:
    """The values of the rows that are JSON objects."""
    return [
        {name: bytes(value) for name, value in members.items()}
        for row in rows
        if (members := object_members(row)) is not None
    ]


def _kinds(field: FieldDefinition, rows: Iterable[Values]) -> set[str]:
    values = {row[field.name] for row in rows if field.name in row}
    return {kind for value in values if (kind := kind_of(value)) is not None}


def kind_of(value: bytes) -> str | None:
    """The kind of a JSON value: a key of `definition.TYPES`, or `digits` for a number in text, which may be a
    code. None: null, or a text that stands for null."""
    match value[:1]:
        case b"n":
            return None
        case b"t" | b"f":
            return "boolean"
        case b"{" | b"[":
            return "json"
        case b'"':
            return _kind_of_text(value)
    if INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63:
        return "integer"
    return _kind_of_number(value)


def _kind_of_number(value: bytes) -> str:
    """`decimal` where the column stores the number exactly, else `text`."""
    number = Decimal(value.decode())
    exponent = number.as_tuple().exponent
    is_exact = isinstance(exponent, int) and -exponent <= DECIMAL.scale and number.adjusted() < _MOST_DIGITS
    return "decimal" if is_exact else "text"


def _kind_of_text(value: bytes) -> str | None:
    if value == b'""' or value in ZERO_MOMENTS:
        return None
    if JSON_NUMBER.fullmatch(value[1:-1]):
        return "digits"
    # The decoder itself says which texts are timestamps, so that all of them load.
    is_timestamp = _STARTS_WITH_DATE.match(value) and _fits(_TIMESTAMP, value)
    if not is_timestamp:
        return "text"
    return "date" if BARE_DATE.fullmatch(value) else "timestamp"


def _widest(field: FieldDefinition, kinds: set[str]) -> str:
    """The kind that holds every value of `kinds`."""
    if "digits" in kinds:
        # 007 is a code. A number in text is a number only where the metadata give its decimal places.
        is_number = field.precision is not None and field.scale is not None
        kinds = (kinds - {"digits"}) | {"decimal" if is_number else "text"}
    if len(kinds) == 1:
        return next(iter(kinds))
    return _WIDER.get(frozenset(kinds), "json" if "json" in kinds else "text")


def _fits(field: FieldDefinition, value: bytes) -> bool:
    """Whether a value loads under the type of its field."""
    definition = Definition("", fields=(replace(field, primary=False),))
    row = msgspec.json.encode([{field.name: Raw(value)}])
    records = decode_records(row, contract_of(definition), ())
    return not any(drift.kind == UNREADABLE for drift in records.drift)


_TIMESTAMP = FieldDefinition("value", type="timestamp")
