"""What the values of a dataset show where the words of its metadata do not: the types of its fields, and
whether its key is an integer.

A decision is kept with the dataset's plan, so that it is the same every night. It only ever grows wider: a
later value that does not fit stays in `_extra`, and the next discovery looks at it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

import msgspec
from msgspec import Raw

from campus.contracts.fields import DECIMAL
from campus.decoding.coercion.containers import UNREADABLE
from campus.decoding.coercion.scalars import BARE_DATE, INTEGER, JSON_NUMBER, ZERO_MOMENTS
from campus.decoding.columnar import decode_records
from campus.decoding.definition import Decided, Decision, Definition, FieldDefinition, key_fields
from campus.decoding.inferred_contract import contract_of
from campus.decoding.raw_json import object_members, raw_rows
from campus.decoding.withholding import WITHHELD
from campus.fetch.answer import fetch
from campus.fetch.emptiness import confirmed
from campus.http.client import Client
from campus.http.errors import Refused
from campus.http.events import Tally
from campus.registry import DATASETS

# The name of the key by which the specification has datasets read.
ID = "id"
# Of the first page. Platforms that refuse so many rows are asked for fewer.
_ROWS = (1_000, 100, 20)
_MOST_DIGITS = DECIMAL.precision - DECIMAL.scale
# Kinds that hold all values of both.
_WIDER = {
    frozenset({"integer", "decimal"}): "decimal",
    frozenset({"date", "timestamp"}): "timestamp",
}

_LIKE_A_MOMENT = re.compile(rb'"\d{4}-\d\d-\d\d')

Values = Mapping[str, bytes]


def needs_values(definition: Definition, decided: Decided) -> bool:
    """Whether there is something that only the dataset's values can tell, and have not told yet."""
    return bool(_open_fields(definition, decided)) or _may_be_key(definition) is not None


async def first_rows(
    client: Client, school_id: int, path: str, params: Mapping[str, str], tally: Tally
) -> Sequence[bytes | Raw]:
    """The rows of a dataset's first page; none where the platform refuses it in any size.

    params: what is asked of the dataset besides. Raises CampusError."""

    async def ask(size: int, before: int) -> Sequence[bytes | Raw]:
        answer = await fetch(
            client,
            path,
            {**params, "page": 1, "per_page": size - before},
            school_id=school_id,
            scope=DATASETS.scopes,
            decode=raw_rows,
            tally=tally,
        )
        return answer.value

    for size in _ROWS:
        try:
            rows = await confirmed(client.capabilities, partial(ask, size), lambda rows: not rows)
        except Refused:
            continue
        return rows[: _ROWS[0]]
    return ()


def decide(definition: Definition, decided: Decided, rows: Iterable[bytes | Raw]) -> Decided:
    """What is decided by these rows, besides what was. Of a field without any value nothing is."""
    sent = _members(rows)
    types = dict(decided.types)
    for field in _open_fields(definition, decided):
        kinds = _kinds(field, sent)
        is_key = field in key_fields(definition)
        if kinds == {"integer"} or (kinds and not (is_key and field.type)):
            types[field.name] = Decision(field.word, _widest(field, kinds))
        elif kinds and field.type:
            # A key that is what its word says. That is known from now on.
            types[field.name] = Decision(field.word, field.type)
    key = decided.key
    if (candidate := _may_be_key(definition)) and _is_integer_key(candidate, sent):
        key = candidate.name
        if candidate.type != "integer":
            types[key] = Decision(candidate.word, "integer")
    return Decided(types, key)


def revise(definition: Definition, decided: Decided, unfit: Iterable[str]) -> Decided:
    """What was decided, as much wider as values demand that did not fit it. unfit: JSON objects of such
    values, and of others, by the names of their fields."""
    sent = _members(row.encode() for row in unfit)
    types = dict(decided.types)
    for field in definition.fields:
        if not field.guessed or field.type is None:
            continue
        misfits = [row for row in sent if field.name in row and not _fits(field, row[field.name])]
        if misfits:
            kinds = _kinds(field, misfits) | {field.type}
            types[field.name] = Decision(field.word, _widest(field, kinds))
    return Decided(types, decided.key)


def _open_fields(definition: Definition, decided: Decided) -> list[FieldDefinition]:
    """Those of an unknown type; and those of the key that might be integers after all."""
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


def _may_be_key(definition: Definition) -> FieldDefinition | None:
    """The field that may be taken for the key, where the metadata say of none whether it is primary."""
    if definition.tells_key or key_fields(definition):
        return None
    return next((field for field in definition.fields if field.name == ID), None)


def _is_integer_key(field: FieldDefinition, sent: Sequence[Values]) -> bool:
    ids = [row.get(field.name, b"null") for row in sent]
    return (
        bool(ids) and len(set(ids)) == len(ids) and _kinds(field, sent) == {"integer"} and b"null" not in ids
    )


def _members(rows: Iterable[bytes | Raw]) -> list[Values]:
    """The members of rows as JSON; what is no object is no help."""
    found: list[Values] = []
    for row in rows:
        members = object_members(row)
        if members is not None:
            found.append({name: bytes(value) for name, value in members.items()})
    return found


def _kinds(field: FieldDefinition, sent: Iterable[Values]) -> set[str]:
    values = {row[field.name] for row in sent if field.name in row}
    return {kind for value in values if (kind := kind_of(value)) is not None}


def kind_of(value: bytes) -> str | None:
    """What a JSON value is by itself: a key of `definition.TYPES`, or `digits` for a number in text, which
    may be a code as well. None: null, or a text that stands for it."""
    match value[:1]:
        case b"n":
            return None
        case b"t" | b"f":
            return "boolean"
        case b"{" | b"[":
            return "json"
        case b'"':
            return _kind_of_text(value)
    if INTEGER.fullmatch(value):
        return "integer" if -(2**63) <= int(value) < 2**63 else _kind_of_number(value)
    return _kind_of_number(value)


def _kind_of_number(value: bytes) -> str:
    """Exact, or else text."""
    number = Decimal(value.decode())
    exponent = number.as_tuple().exponent
    is_exact = isinstance(exponent, int) and -exponent <= DECIMAL.scale and number.adjusted() < _MOST_DIGITS
    return "decimal" if is_exact else "text"


def _kind_of_text(value: bytes) -> str | None:
    if value == b'""' or value in ZERO_MOMENTS:
        return None
    if JSON_NUMBER.fullmatch(value[1:-1]):
        return "digits"
    # The decoder itself says which texts are moments, so that what is decided is what loads.
    is_moment = _LIKE_A_MOMENT.match(value) and _fits(_MOMENT, value)
    if not is_moment:
        return "text"
    return "date" if BARE_DATE.fullmatch(value) else "timestamp"


def _widest(field: FieldDefinition, kinds: set[str]) -> str:
    """A kind that holds every value of all of these."""
    if "digits" in kinds:
        # A number in text is one only where the metadata tell its places: 007 is none.
        told = field.precision is not None and field.scale is not None
        kinds = (kinds - {"digits"}) | {"decimal" if told else "text"}
    if len(kinds) == 1:
        return next(iter(kinds))
    return _WIDER.get(frozenset(kinds), "json" if "json" in kinds else "text")


def _fits(field: FieldDefinition, value: bytes) -> bool:
    """Whether a value loads under a field's type."""
    alone = Definition("", fields=(replace(field, primary=False),))
    row = msgspec.json.encode([{field.name: Raw(value)}])
    records = decode_records(row, contract_of(alone), ())
    return not any(drift.kind == UNREADABLE for drift in records.drift)


_MOMENT = FieldDefinition("value", type="timestamp")
