"""Takes passwords out of JSON, and identity numbers by the names of fields and by value.

A field that is named for an identity number is left out. A text or an integer that is an identity number
becomes null; inside a longer text MARK replaces the number. Keys and integers in columns of ids stay: by
chance one in 20,000 ids of 18 digits looks like an identity number, and a row without its id would be lost.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.account import Drift
from campus.contracts.fields import Contract, Field, fields
from campus.decoding.raw_json import JSON_ERRORS, list_items, raw_rows, sent_members
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.identity_numbers import (
    LENGTH,
    MARK,
    is_identity_field,
    is_identity_number,
    may_hold_identity_number,
    without_identity_numbers,
)

#: Fields that are stored only in a column of the contract. The setting that keeps identity numbers does not
#: keep the numbers that the platform sends elsewhere under this name. A password is never stored.
WITHHELD = frozenset({"idcard", "password"})
#: The kind of drift for a field of which a value was withheld, with the number of rows.
WITHHELD_NUMBER = "withheld_identity_number"
UNSTORABLE = b'"not stored: it may hold a withheld field and cannot be taken apart"'
# A name in WITHHELD, or an escaped letter that may be a part of such a name.
_MAY_WITHHOLD = re.compile(b"|".join([rb"\\u00[4-7]", *(name.encode() for name in sorted(WITHHELD))]))
# Values without content, which are not counted as withheld.
_NOTHING = (b"null", b'""')
_INTEGER = re.compile(rb"([0-9]{18})(\.0*)?")
_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')


@dataclass
class _Walk:
    """A walk through JSON.

    Attributes:
        numbers: Identity numbers are taken out, beside the fields in WITHHELD.
        named: A field that is taken out stays, with MARK as its value.
        members: How many members of objects the walk has seen.
    """

    numbers: bool
    named: bool
    members: int = 0


def redacted(raw: bytes | Raw) -> bytes:
    """A JSON text without the fields in WITHHELD, at any depth; identity numbers stay.

    UNSTORABLE replaces a text that cannot be taken apart and may have such a field."""
    text = bytes(raw)
    if not _MAY_WITHHOLD.search(text):
        return text
    try:
        return _value(text, None, set(), "", _Walk(numbers=False, named=False))
    except JSON_ERRORS:
        return UNSTORABLE


@dataclass(frozen=True)
class WithheldPage:
    """A page without the values that are identity numbers."""

    body: bytes
    #: The fields of which a value was withheld, with the number of rows.
    drift: Counter[Drift] = field(default_factory=Counter)
    #: The indexes of the rows that the walk went through: no number is left in them.
    walked: frozenset[int] = frozenset()


def withhold_in_page(body: bytes, contract: type[Contract]) -> WithheldPage:
    """A JSON list of rows without the values that are identity numbers. Leaves any other body as it is, for
    the decoder to report.

    A text that is a part of the key stays, unless half of the rows have an identity number there: then the
    text becomes null, and the row has no readable key."""
    untouched = WithheldPage(body)
    if not may_hold_identity_number(body):
        return untouched
    try:
        rows = [bytes(row) for row in raw_rows(body)]
    except (TornBody, UnexpectedAnswer):
        return untouched
    drift: Counter[Drift] = Counter()
    suspects = [index for index, row in enumerate(rows) if may_hold_identity_number(row)]
    spared = _spared(contract) - _keys_of_numbers(contract, [rows[index] for index in suspects], len(rows))
    for index in suspects:
        rows[index], names = withhold_in_row(rows[index], contract, spared)
        drift.update(withheld_drift(names))
    return WithheldPage(b"[%b]" % b",".join(rows), drift, frozenset(suspects))


def withhold_in_row(
    row: bytes,
    contract: type[Contract] | None,
    spared: frozenset[str] | None = None,
    *,
    named: bool = False,
) -> tuple[bytes, set[str]]:
    """A row, or any JSON text, without identity numbers and passwords; and the fields whose numbers were
    withheld.

    spared: fields whose values stay; None: the keys and ids of the contract. named: fields that are left out
    stay with MARK as their value. UNSTORABLE replaces a text that cannot be taken apart and may hold a
    number."""
    walk, withheld = _Walk(numbers=True, named=named), set[str]()
    try:
        if not row.lstrip().startswith(b"{"):
            return _value(row, None, withheld, "", walk), withheld
        sent = sent_members(row)
        members = _members(sent, contract, withheld, walk, _spared(contract) if spared is None else spared)
        return _text_of(members, sent, row, 0, walk), withheld
    except JSON_ERRORS:
        return (UNSTORABLE, {""}) if _is_suspect(row) else (row, set())


def withhold_in_members(
    members: Mapping[str, Raw], contract: type[Contract]
) -> tuple[dict[str, Raw], set[str]]:
    """The members of a row without identity numbers and passwords; see withhold_in_row."""
    withheld = set[str]()
    walk = _Walk(numbers=True, named=False)
    return _members(members, contract, withheld, walk, _spared(contract)), withheld


def withheld_drift(names: Iterable[str]) -> Counter[Drift]:
    """The drift of a row of which values were withheld: its fields, each once."""
    return Counter(Drift(WITHHELD_NUMBER, name) for name in names)


def blank_identity_fields(
    rows: Sequence[Contract], contract: type[Contract], path: str = ""
) -> Counter[Drift]:
    """Empty the columns of identity numbers in place; returns the fields, with the number of rows.

    path: of the rows, where they are embedded in other rows, with a dot at its end."""
    withheld: Counter[Drift] = Counter()
    for column in fields(contract):
        if column.identity_number:
            values = [getattr(row, column.name) for row in rows]
            count = sum(value not in (None, "") for value in values)
            withheld += Counter({Drift(WITHHELD_NUMBER, path + column.wire): count})
            for row in rows:
                setattr(row, column.name, None)
        elif column.nested and has_identity_fields(column.nested):
            values = [getattr(row, column.name) for row in rows]
            inner = [value for value in values if isinstance(value, column.nested)]
            withheld += blank_identity_fields(inner, column.nested, f"{path}{column.wire}.")
    return withheld


@cache
def has_identity_fields(contract: type[Contract]) -> bool:
    """Whether a contract has a column for identity numbers, at any depth."""
    return any(
        field.identity_number or (field.nested is not None and has_identity_fields(field.nested))
        for field in fields(contract)
    )


def _members(
    members: Mapping[str, Raw],
    contract: type[Contract] | None,
    withheld: set[str],
    walk: _Walk,
    spared: frozenset[str] = frozenset(),
) -> dict[str, Raw]:
    """The members of an object without the fields and numbers that the walk takes out. withheld: takes the
    fields whose numbers were withheld."""
    walk.members += len(members)
    declared = fields_by_wire(contract) if contract else {}
    remaining: dict[str, Raw] = {}
    for name, value in members.items():
        field = declared.get(name)
        if walk.numbers and _is_of_numbers(name, field):
            withheld |= {name} if bytes(value) not in _NOTHING else set()
            remaining |= {name: Raw(msgspec.json.encode(MARK))} if walk.named else {}
        elif name in WITHHELD and contract is None:
            remaining |= {name: Raw(msgspec.json.encode(MARK))} if walk.named else {}
        else:
            plain_name = name
            if walk.numbers and field is None and len(name) >= LENGTH:
                plain_name = without_identity_numbers(name)
                withheld |= {plain_name} if plain_name != name else set()
                while plain_name in remaining:
                    plain_name += "'"
            # The decoder drops the fields that the contract withholds, and reports unknown fields.
            if name in spared or name in WITHHELD or (field and field.withheld):
                remaining[plain_name] = value
                continue
            sent = bytes(value)
            plain = _value(sent, field.nested if field else None, withheld, plain_name, walk)
            remaining[plain_name] = value if plain is sent else Raw(plain)
    return remaining


def _is_of_numbers(name: str, field: Field | None) -> bool:
    """Whether a member is a field of identity numbers: by the contract, or by its name."""
    if field is None or field.withheld:
        return is_identity_field(name)
    return field.identity_number


def _text_of(
    members: Mapping[str, Raw], sent: Mapping[str, Raw], text: bytes, seen: int, walk: _Walk
) -> bytes:
    """The text of an object after the walk; `text` itself where nothing was taken out. seen: the members that
    the walk had seen before this object."""
    if len(members) != len(sent):
        return _encoded(members)
    for name, value in sent.items():
        if members.get(name) is not value:
            return _encoded(members)
    # Of several members with one name the walk sees only the last. Each member has a colon.
    if text.count(b":") == walk.members - seen:
        return text
    may_withhold = _MAY_WITHHOLD.search(text) or (walk.numbers and _is_suspect(text))
    return _encoded(members) if may_withhold else text


def _value(
    value: bytes, contract: type[Contract] | None, withheld: set[str], path: str, walk: _Walk
) -> bytes:
    """A value after the walk; `value` itself where nothing was taken out. withheld: takes the path of the
    value, or of the field in it that is named for an identity number."""
    match value[:1]:
        case b"{":
            inside, seen = set[str](), walk.members
            try:
                sent = sent_members(value)
                members = _members(sent, contract, inside, walk)
            except JSON_ERRORS:
                return _unless_suspect(value, withheld, path, walk)
            # Without the names in between, which may be data, such as the name of a person.
            ends = {name.rpartition(".")[2] for name in inside}
            withheld |= {f"{path}.{end}" if is_identity_field(end) else path for end in ends}
            return _text_of(members, sent, value, seen, walk)
        case b"[":
            items = list_items(value)
            if items is None:
                return _unless_suspect(value, withheld, path, walk)
            parts = [_value(item, contract, withheld, path, walk) for item in items]
            is_unchanged = all(part is item for part, item in zip(parts, items, strict=True))
            return value if is_unchanged else b"[%b]" % b",".join(parts)
        case _ if not walk.numbers or len(value) < LENGTH:
            return value
        case b'"':
            plain = _text_without_numbers(value)
        case _:
            number = _INTEGER.fullmatch(value)
            plain = b"null" if number and is_identity_number(number[1].decode()) else value
    withheld |= {path} if plain is not value else set()
    return plain


def _text_without_numbers(value: bytes) -> bytes:
    if not may_hold_identity_number(value):
        return value
    try:
        text = msgspec.json.decode(value, type=str)
    except JSON_ERRORS:
        return b"null"
    if is_identity_number(text):
        return b"null"
    plain = without_identity_numbers(text)
    return msgspec.json.encode(plain) if plain != text else value


def _unless_suspect(value: bytes, withheld: set[str], path: str, walk: _Walk) -> bytes:
    """A value that cannot be taken apart, or its replacement where it may hold a withheld field or number."""
    if _MAY_WITHHOLD.search(value):
        # In a row `redacted` decides later: the column may be able to hold the value.
        return value if walk.numbers else UNSTORABLE
    if not walk.numbers or not _is_suspect(value):
        return value
    withheld.add(path)
    return b"null"


def _is_suspect(text: bytes) -> bool:
    """Whether a text that cannot be taken apart may hold an identity number."""
    names = (b'"%b"' % name for name in _NAME.findall(text))
    return may_hold_identity_number(text) or any(is_identity_field(_name(name)) for name in names)


def _name(text: bytes) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except JSON_ERRORS:
        return text.decode(errors="replace")


def _encoded(members: Mapping[str, Raw]) -> bytes:
    parts = (b"%b:%b" % (msgspec.json.encode(name), bytes(value)) for name, value in members.items())
    return b"{%b}" % b",".join(parts)


def _keys_of_numbers(contract: type[Contract], suspects: Sequence[bytes], rows: int) -> frozenset[str]:
    """The parts of the key that are texts, and identity numbers in at least half of the rows."""
    texts = [f.wire for f in fields(contract) if f.required and pa.types.is_string(f.arrow_type)]
    if not texts:
        return frozenset()
    numbers: Counter[str] = Counter()
    for row in suspects:
        try:
            members = sent_members(row)
        except JSON_ERRORS:
            continue
        numbers.update(
            name
            for name in texts
            if name in members and _text_without_numbers(bytes(members[name])) == b"null"
        )
    return frozenset(name for name, count in numbers.items() if 2 * count >= rows)


@cache
def fields_by_wire(contract: type[Contract]) -> Mapping[str, Field]:
    """The fields of a contract by their names in JSON."""
    return {field.wire: field for field in fields(contract)}


@cache
def _spared(contract: type[Contract] | None) -> frozenset[str]:
    """The fields whose values are ids by the contract."""
    spared = set()
    for f in fields(contract) if contract else ():
        kind = f.arrow_type.value_type if pa.types.is_list(f.arrow_type) else f.arrow_type
        if f.required or (f.wire.casefold().endswith(("id", "ids")) and pa.types.is_integer(kind)):
            spared.add(f.wire)
    return frozenset(spared)
