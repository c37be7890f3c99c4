"""Coerces a row that does not fit its contract, where no information is lost.

A rewritten value stays verbatim in the row's `_extra`, and the rewriting is reported as drift. So is a value
that no column can hold: its column is null. Only a row without a readable key is refused."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, TypeVar, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import Contract, Field, PersonRef, fields
from campus.decoding.raw_json import JSON_ERRORS, list_items, object_members
from campus.decoding.value_coercion import (
    DASH_FOR_NOTHING,
    EMPTY_LIST,
    EMPTY_OBJECT,
    FINER_THAN_MICROSECONDS,
    NESTED_PERSON,
    OF_PERSON,
    UNREADABLE,
    Coerce,
    Coerced,
    coercion_to,
    take_from_inside,
    take_place,
    to_assumed_integer,
    to_id,
    to_id_list,
    to_integer_from_text,
    to_json_text,
    to_list,
    to_map,
    to_mark,
    to_name,
    to_null,
    to_number,
    worst,
)
from campus.decoding.withholding import WITHHELD, fields_by_wire, redacted

# Kinds of drift: an unknown field inside an object, and a word in a column of marks.
UNKNOWN_MEMBER = "unknown_nested_field"
WORD = "word_for_number"

T = TypeVar("T", bound=Contract)
# Drift as (kind, field).
DriftNotes = list[tuple[str, str]]


def coerce_row(
    members: dict[str, Raw], contract: type[Contract], misfits: Iterable[str] = ()
) -> tuple[dict[str, Raw], DriftNotes]:
    """Coerce a row to its contract, in place; returns the values for `_extra`, and drift as (kind, field).

    `misfits`: fields whose values no column holds, though the decoder accepts them.

    Removed are withheld fields and unknown fields, also inside nested objects. Rewritten are:

    - "" (except in a text), a dash for a number or a mark, a zero date, and an empty list in place of an
      object or the reverse: null
    - a number in text: the number; a number in place of text: its text
    - a percentage in a rate: a number in the rate's unit; a mark with points, credits or stars: its number
    - a timestamp with a zone: the platform's wall clock; one finer than a microsecond: without the rest
    - 0 and 1 for a flag, also as text: the flag
    - a bare date for a timestamp: its midnight; a midnight for a date: its date
    - a value of any type: its JSON text
    - ids as text or inside objects, in lists of ids and people: numbers
    - a person with another person inside `reflection`: the inner person

    Any other value that does not fit becomes null. A required part of the key is removed instead: the row has
    no readable key."""
    nested = take_from_inside(members, contract) if contract.of_person else {}
    extra, drift = take_unknown(members, contract)
    extra |= nested
    drift += [(NESTED_PERSON, name) for name in nested]
    declared = fields_by_wire(contract)
    for name in [name for name in members if declared[name].withheld]:
        del members[name]
    decoders, coercions, lost = _decoders(contract), _coercions(contract), {*misfits}
    for name in [*lost, *_unfit(members, contract)]:
        value = members[name]
        coerced = None if name in lost else coercions[name](bytes(value))
        if coerced is None or not _fits(decoders[name], coerced[1]):
            coerced = (WORD if declared[name].mark else UNREADABLE, b"null")
        kind, replacement = coerced
        members[name] = Raw(replacement)
        if kind:
            extra[name] = Raw(redacted(value))
        if kind not in ("", DASH_FOR_NOTHING):
            drift += _drift_of(kind, name, contract, bytes(value))
        if replacement == b"null" and declared[name].required:
            del members[name]
    return extra, drift


def take_unknown(members: dict[str, Raw], contract: type[Contract]) -> tuple[dict[str, Raw], DriftNotes]:
    """Remove unknown fields from a row; returns their values for `_extra`, and their drift."""
    declared = fields_by_wire(contract)
    extra: dict[str, Raw] = {}
    drift: DriftNotes = []
    for name in [name for name in members if name not in declared]:
        value = members.pop(name)
        drift.append(("unknown_field", name))
        if name not in WITHHELD:
            extra[name] = Raw(redacted(value))
    return extra, drift


def _drift_of(kind: str, name: str, contract: type[Contract], value: bytes) -> DriftNotes:
    """The drift of a rewritten field: the unknown members of the objects in it, or the field itself."""
    inner = fields_by_wire(contract)[name].nested
    paths = dict.fromkeys(_unknown_members(inner, value)) if inner else ()
    members = [(UNKNOWN_MEMBER, f"{name}.{path}") for path in paths]
    return members if members and kind == UNKNOWN_MEMBER else [*members, (kind, name)]


def _unknown_members(contract: type[Contract], value: bytes) -> Iterator[str]:
    """The paths of unknown members in an object or in a list of objects."""
    for item in list_items(value) or [value]:
        for name, member in (object_members(item) or {}).items():
            declared = fields_by_wire(contract).get(name)
            if declared is not None and declared.nested:
                yield from (f"{name}.{path}" for path in _unknown_members(declared.nested, bytes(member)))
            # A person inside a person is understood.
            elif declared is None and not (contract is PersonRef and name in OF_PERSON):
                yield name


def _unfit(members: Mapping[str, Raw], contract: type[Contract]) -> list[str]:
    """The fields whose values the decoder refuses, or would round."""
    row = msgspec.json.encode(members)
    is_fine = FINER_THAN_MICROSECONDS.search(row) is not None
    if not is_fine and _fits(row_decoder(contract), row):
        return []
    decoders = _decoders(contract)
    unfit = []
    for field in fields(contract):
        if (value := members.get(field.wire)) is None:
            continue
        may_be_fine = is_fine and (field.nested or pa.types.is_timestamp(field.arrow_type))
        if not _fits(decoders[field.wire], value) or (
            may_be_fine and FINER_THAN_MICROSECONDS.search(bytes(value))
        ):
            unfit.append(field.wire)
    return unfit


@cache
def row_decoder(contract: type[T]) -> "msgspec.json.Decoder[T]":
    """The decoder of one row of a contract."""
    return msgspec.json.Decoder(contract)


def _fits(decoder: "msgspec.json.Decoder[Any]", value: bytes | Raw) -> bool:
    try:
        decoder.decode(value)
    except JSON_ERRORS:
        return False
    return True


@cache
def _coercions(contract: type[Contract]) -> Mapping[str, Coerce]:
    """The coercion of each field's values."""
    decoders = _decoders(contract)
    return {field.wire: _coercion(field, decoders[field.wire]) for field in fields(contract)}


def _coercion(field: Field, decoder: "msgspec.json.Decoder[Any]") -> Coerce:
    kind = field.arrow_type
    if field.any_json:
        return to_json_text
    if field.digits:
        return to_integer_from_text
    if field.assumed:
        return to_assumed_integer
    if field.nested and pa.types.is_list(kind):
        return partial(_to_objects, decoder, field.nested)
    if field.nested:
        return partial(_to_object, field.nested)
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return partial(to_number, rate=field.rate, in_units=field.mark and not field.rate)
    if pa.types.is_map(kind):
        texts = pa.types.is_string(kind.item_type)
        return partial(to_map, to_mark if texts else coercion_to(kind.item_type))
    if pa.types.is_list(kind):
        return to_id_list if pa.types.is_integer(kind.value_type) else partial(to_list, to_name)
    return coercion_to(kind)


def _to_object(contract: type[Contract], value: bytes) -> Coerced | None:
    """Coerce an object inside a row, as a row is coerced."""
    if value == b"[]":
        return EMPTY_LIST
    if not value.startswith(b"{"):
        return to_null(value)
    members = object_members(value)
    if members is None:
        return None
    moved = contract is PersonRef and take_place(members)
    _, drift = coerce_row(members, contract)
    kinds = (UNKNOWN_MEMBER if kind == "unknown_field" else kind for kind, _ in drift)
    return NESTED_PERSON if moved else worst(kinds), msgspec.json.encode(members)


def _to_objects(
    decoder: "msgspec.json.Decoder[Any]", contract: type[Contract], value: bytes
) -> Coerced | None:
    """Coerce a list of objects and bare ids; an item without an id is left out."""
    items = list_items(value)
    if items is None:
        return EMPTY_OBJECT if value == b"{}" else to_null(value)
    kinds, fitting = [], []
    for item in items:
        kind, coerced = (_to_object(contract, item) if item.startswith(b"{") else to_id(item)) or ("", item)
        fits = _fits(decoder, b"[%b]" % coerced)
        kinds.append(kind if fits else UNREADABLE)
        fitting += [Raw(coerced)] if fits else []
    return worst(kinds), msgspec.json.encode(fitting)


@cache
def _decoders(contract: type[Contract]) -> Mapping[str, "msgspec.json.Decoder[Any]"]:
    hints = get_type_hints(contract, include_extras=True)
    return {field.wire: msgspec.json.Decoder(hints[field.name]) for field in fields(contract)}
