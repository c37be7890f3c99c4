"""Takes identity numbers out of JSON before anything else reads it: by the names of fields, and by value.

A field that is named for an identity number is left out. A text or an integer that is an identity number
becomes null; inside a longer text MARK replaces the number. Keys and integers in columns of ids stay: by
chance one in 20,000 ids of 18 digits looks like an identity number, and a row without its id would be lost.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import Contract, Field, fields
from campus.decoding.raw_json import UNFIT, list_items, raw_rows, sent_members
from campus.decoding.redaction import MAY_WITHHOLD, UNSTORABLE
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.identity_numbers import (
    LENGTH,
    MARK,
    is_identity_field,
    is_identity_number,
    may_hold_identity_number,
    without_identity_numbers,
)

#: The kind of drift that counts, for each field, the rows of which something was withheld.
WITHHELD_NUMBER = "withheld_identity_number"
# Values in which nothing can be withheld.
_NOTHING = (b"null", b'""')
_INTEGER = re.compile(rb"([0-9]{18})(\.0*)?")
_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')


def withhold_in_page(body: bytes, contract: type[Contract]) -> tuple[bytes, Counter[str]]:
    """A JSON list of rows without the values that are identity numbers; and for each field the number of rows
    of which something was withheld. Leaves a body that is no such list as it is: the decoder says why.

    A text that is a part of the key stays, unless half of the rows have an identity number there: then the
    text becomes null, and the row has no readable key."""
    withheld: Counter[str] = Counter()
    if not may_hold_identity_number(body):
        return body, withheld
    try:
        rows = [bytes(row) for row in raw_rows(body)]
    except (TornBody, UnexpectedAnswer):
        return body, withheld
    suspects = [place for place, row in enumerate(rows) if may_hold_identity_number(row)]
    spared = _spared(contract) - _keys_of_numbers(contract, [rows[place] for place in suspects], len(rows))
    for place in suspects:
        rows[place], found = withhold_in_row(rows[place], contract, spared)
        withheld.update(found)
    return b"[%b]" % b",".join(rows), withheld


def withhold_in_row(
    row: bytes,
    contract: type[Contract] | None,
    spared: frozenset[str] | None = None,
    *,
    named: bool = False,
) -> tuple[bytes, set[str]]:
    """A row, or any JSON text, without identity numbers; and the fields of which something was withheld.

    spared: fields whose values stay; None: the keys and ids of the contract. named: fields that are left out
    stay with MARK as their value. UNSTORABLE replaces a text that cannot be taken apart and may hold a
    number."""
    try:
        if not row.lstrip().startswith(b"{"):
            found: set[str] = set()
            return _without_numbers(row, None, found, "", named), found
        members, found = withhold_in_members(sent_members(row), contract, spared, named=named)
        return (_encoded(members), found) if found else (row, found)
    except UNFIT:
        return (UNSTORABLE, {""}) if _is_suspect(row) else (row, set())


def withhold_in_members(
    members: Mapping[str, Raw],
    contract: type[Contract] | None,
    spared: frozenset[str] | None = None,
    *,
    named: bool = False,
) -> tuple[dict[str, Raw], set[str]]:
    """The members of a row; see withhold_in_row."""
    declared = _declared(contract)
    spared = _spared(contract) if spared is None else spared
    kept: dict[str, Raw] = {}
    withheld: set[str] = set()
    for name, value in members.items():
        field = declared.get(name)
        if field.identity_number if field else is_identity_field(name):
            withheld |= {name} if bytes(value) not in _NOTHING else set()
            kept |= {name: Raw(msgspec.json.encode(MARK))} if named else {}
            continue
        plain_name = name if field or len(name) < LENGTH else without_identity_numbers(name)
        withheld |= {plain_name} if plain_name != name else set()
        while plain_name in kept:
            plain_name += "'"
        # The decoder leaves out what the contract itself withholds.
        if name in spared or (field and field.withheld):
            kept[plain_name] = value
            continue
        kept[plain_name] = Raw(
            _without_numbers(bytes(value), field.nested if field else None, withheld, plain_name, named)
        )
    return kept, withheld


def blank_identity_fields(rows: Sequence[Contract], contract: type[Contract]) -> Counter[str]:
    """Empty the columns of identity numbers in place; gives how many rows had one, by field."""
    withheld: Counter[str] = Counter()
    for field in fields(contract):
        if field.identity_number:
            for row in rows:
                if getattr(row, field.name) not in (None, ""):
                    withheld[field.wire] += 1
                setattr(row, field.name, None)
        elif field.nested and has_identity_fields(field.nested):
            parts = [getattr(row, field.name) for row in rows]
            inner = [part for part in parts if isinstance(part, field.nested)]
            for name, count in blank_identity_fields(inner, field.nested).items():
                withheld[f"{field.wire}.{name}"] += count
    return withheld


@cache
def has_identity_fields(contract: type[Contract]) -> bool:
    """Whether a contract has a column for identity numbers, at any depth."""
    return any(
        field.identity_number or (field.nested is not None and has_identity_fields(field.nested))
        for field in fields(contract)
    )


def _without_numbers(
    value: bytes, contract: type[Contract] | None, found: set[str], path: str, named: bool
) -> bytes:
    """A value without identity numbers. found: takes the path of the value, or of the field in it that is
    named for an identity number."""
    if len(value) < LENGTH and value[:1] not in (b"{", b"["):
        return value
    match value[:1]:
        case b"{":
            try:
                members, inside = withhold_in_members(sent_members(value), contract, named=named)
            except UNFIT:
                return _unless_suspect(value, found, path)
            # Without the names between, which may be data: of a person, say.
            ends = {name.rpartition(".")[2] for name in inside}
            found |= {f"{path}.{end}" if is_identity_field(end) else path for end in ends}
            return _encoded(members) if inside else value
        case b"[":
            items = list_items(value)
            if items is None:
                return _unless_suspect(value, found, path)
            return b"[%b]" % b",".join(_without_numbers(item, contract, found, path, named) for item in items)
        case b'"':
            plain = _text_without_numbers(value)
        case _:
            number = _INTEGER.fullmatch(value)
            plain = b"null" if number and is_identity_number(number[1].decode()) else value
    found |= {path} if plain != value else set()
    return plain


def _text_without_numbers(value: bytes) -> bytes:
    if not may_hold_identity_number(value):
        return value
    try:
        text = msgspec.json.decode(value, type=str)
    except UNFIT:
        return b"null"
    if is_identity_number(text):
        return b"null"
    plain = without_identity_numbers(text)
    return msgspec.json.encode(plain) if plain != text else value


def _unless_suspect(value: bytes, found: set[str], path: str) -> bytes:
    """A value that cannot be taken apart, or null if it may hold an identity number."""
    if MAY_WITHHOLD.search(value) or not _is_suspect(value):
        # What `redacted` replaces is left to it.
        return value
    found.add(path)
    return b"null"


def _is_suspect(text: bytes) -> bool:
    """Whether a text that cannot be taken apart may hold an identity number."""
    names = (b'"%b"' % name for name in _NAME.findall(text))
    return may_hold_identity_number(text) or any(is_identity_field(_name(name)) for name in names)


def _name(text: bytes) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except UNFIT:
        return text.decode(errors="replace")


def _encoded(members: Mapping[str, Raw]) -> bytes:
    parts = (b"%b:%b" % (msgspec.json.encode(name), bytes(value)) for name, value in members.items())
    return b"{%b}" % b",".join(parts)


def _keys_of_numbers(contract: type[Contract], suspects: Sequence[bytes], rows: int) -> frozenset[str]:
    """The parts of the key that are texts, and identity numbers in at least half of the rows."""
    texts = [f.wire for f in fields(contract) if f.required and pa.types.is_string(f.arrow_type)]
    if not texts:
        return frozenset()
    held: Counter[str] = Counter()
    for row in suspects:
        try:
            members = sent_members(row)
        except UNFIT:
            continue
        held.update(
            name
            for name in texts
            if name in members and _text_without_numbers(bytes(members[name])) == b"null"
        )
    return frozenset(name for name, count in held.items() if 2 * count >= rows)


@cache
def _declared(contract: type[Contract] | None) -> Mapping[str, Field]:
    return {field.wire: field for field in fields(contract)} if contract else {}


@cache
def _spared(contract: type[Contract] | None) -> frozenset[str]:
    """The fields whose values are ids by the contract."""
    return frozenset(f.wire for f in _declared(contract).values() if f.required or _is_of_ids(f))


def _is_of_ids(field: Field) -> bool:
    kind = field.arrow_type.value_type if pa.types.is_list(field.arrow_type) else field.arrow_type
    return field.wire.casefold().endswith(("id", "ids")) and pa.types.is_integer(kind)
