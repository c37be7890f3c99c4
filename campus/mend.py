"""Rows that do not fit their contract as they were sent, made to fit where nothing is lost by it.

A value that is rewritten stays verbatim in the row's `_extra`, and the rewriting is told as drift. What
cannot be rewritten without loss stays as it is, for the decoder to refuse."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contract import ANY_DASH, Contract, Field, fields

PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
# National id numbers are stored only where a setting asks for them; a password is never read back.
WITHHELD = frozenset({"idcard", "password"})
UNSTORABLE = b'"not stored: it may hold a withheld field and cannot be taken apart"'

# A withheld name, or an escaped letter in which one may hide.
MAY_WITHHOLD = re.compile(b"|".join([rb"\\u00[4-7]", *(name.encode() for name in sorted(WITHHELD))]))

# A drift kind (or "" for what is no drift) and the new bytes of a value; None leaves the value alone.
Rewriter = Callable[[bytes], tuple[str, bytes] | None]

PLAIN_MOMENT = re.compile(rb'"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"')
BARE_DATE = re.compile(rb'"\d{4}-\d\d-\d\d"')
INTEGER = re.compile(rb"-?\d+")
NUMBER = re.compile(rb"-?\d+(\.\d+)?")
DASH = re.compile(f'"{ANY_DASH}"')
# The decoder would round what is finer than a microsecond. Begins with a literal so that pages of many
# megabytes are searched at the speed of memchr.
FINER_THAN_MICROSECONDS = re.compile(rb"\.(?<=:\d\d\.)(\d{6})\d+")
# How databases that know no null write "never".
ZERO_MOMENTS = frozenset({b'"0000-00-00 00:00:00"', b'"0000-00-00"'})
EMPTY = ("empty_text", b"null")
ZERO_DATE = ("zero_date", b"null")
# Kept verbatim, but no drift: the specification has it so.
DASH_FOR_NOTHING = "dash"
# How PHP writes an object that has nothing in it.
EMPTY_LIST = ("empty_list", b"null")


def mend(members: dict[str, Raw], contract: type[Contract]) -> tuple[dict[str, Raw], list[tuple[str, str]]]:
    """Make a row fit its contract, in place; gives what `_extra` keeps verbatim, and drift as (kind, field).

    Taken out: withheld fields, fields that no contract names, and both inside nested objects. Rewritten: ""
    where a decimal, a float, a date or a timestamp belongs, and a zero date, become null; a timestamp with a
    zone becomes the platform's wall clock, one finer than a microsecond loses the rest; 0 and 1 become flags;
    a numbered enum becomes text; an empty list where an object belongs, a dash for a mark, and what is of
    another type than one that is assumed, become null. A bare date is its midnight, a value of any type its
    JSON text, a number in text that number."""
    extra, drift = take_unknown(members, contract)
    rewriters = _rewriters(contract)
    for name in _withheld(contract):
        members.pop(name, None)
    for name, rewrite in rewriters.items():
        value = members.get(name)
        if value is not None and (mended := rewrite(bytes(value))):
            kind, replacement = mended
            members[name] = Raw(replacement)
            if kind:
                extra[name] = Raw(redacted(value))
            if kind not in ("", DASH_FOR_NOTHING):
                drift.append((kind, name))
    return extra, drift


def take_unknown(
    members: dict[str, Raw], contract: type[Contract]
) -> tuple[dict[str, Raw], list[tuple[str, str]]]:
    """Take the fields that no contract names out of a row; gives what `mend` gives of them."""
    known = _known(contract)
    extra: dict[str, Raw] = {}
    drift: list[tuple[str, str]] = []
    for name in [name for name in members if name not in known]:
        value = members.pop(name)
        drift.append(("unknown_field", name))
        if name not in WITHHELD:
            extra[name] = Raw(redacted(value))
    return extra, drift


@cache
def _known(contract: type[Contract]) -> frozenset[str]:
    return frozenset(field.wire for field in fields(contract))


@cache
def _withheld(contract: type[Contract]) -> frozenset[str]:
    return frozenset(field.wire for field in fields(contract) if field.withheld)


@cache
def _rewriters(contract: type[Contract]) -> Mapping[str, Rewriter]:
    """What may mend the values of each field; none for those that stand or fall as they are."""
    return {field.wire: rewrite for field in fields(contract) if (rewrite := _rewriter(field))}


def _rewriter(field: Field) -> Rewriter | None:
    kind = field.arrow_type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return {b'""': EMPTY}.get
    if pa.types.is_date(kind):
        return {b'""': EMPTY, b'"0000-00-00"': ZERO_DATE}.get
    if pa.types.is_timestamp(kind):
        return _wall_clock
    if pa.types.is_boolean(kind):
        return {b"0": ("number_for_flag", b"false"), b"1": ("number_for_flag", b"true")}.get
    if field.enum and pa.types.is_string(kind):
        return lambda value: ("number_for_text", b'"%b"' % value) if INTEGER.fullmatch(value) else None
    if field.any_json:
        return _json_text
    if field.digits:
        return _number_in_text
    if field.assumed:
        return lambda value: None if value == b"null" or INTEGER.fullmatch(value) else ("other_type", b"null")
    if field.nested:
        return partial(_objects if pa.types.is_list(kind) else _object, field.nested)
    if pa.types.is_map(kind):
        return partial(_map, texts=pa.types.is_string(kind.item_type))
    return None


def _json_text(value: bytes) -> tuple[str, bytes] | None:
    if value.startswith(b'"') or value == b"null":
        return None
    return "", msgspec.json.encode(redacted(value).decode())


def _number_in_text(value: bytes) -> tuple[str, bytes] | None:
    """An integer that the specification has as text; that it is one is no drift."""
    if value == b'""':
        return EMPTY
    return ("", value[1:-1]) if INTEGER.fullmatch(value[1:-1]) else None


def _object(contract: type[Contract], value: bytes) -> tuple[str, bytes] | None:
    """An object that is embedded in a row, mended as a row is."""
    if value == b"[]":
        return EMPTY_LIST
    if not value.startswith(b"{"):
        return None
    members = msgspec.json.decode(value, type=dict[str, Raw])
    _, drift = mend(members, contract)
    kind = next(("unknown_nested_field" if kind == "unknown_field" else kind for kind, _ in drift), "")
    return kind, msgspec.json.encode(members)


def _objects(contract: type[Contract], value: bytes) -> tuple[str, bytes] | None:
    """A list of objects, and of bare ids among them."""
    try:
        items = [bytes(item) for item in msgspec.json.decode(value, type=list[Raw])]
    except msgspec.DecodeError:
        return None
    mended = [_object(contract, item) if item.startswith(b"{") else None for item in items]
    kind = next((found[0] for found in mended if found and found[0]), "")
    pairs = zip(items, mended, strict=True)
    return kind, msgspec.json.encode([Raw(found[1] if found else item) for item, found in pairs])


def _map(value: bytes, *, texts: bool) -> tuple[str, bytes] | None:
    """An object whose keys are data. `texts`: its values are texts, in which a dash stands for nothing."""
    if value == b"[]":
        return EMPTY_LIST
    if not texts or not value.startswith(b"{"):
        return None
    members = msgspec.json.decode(value, type=dict[str, Raw])
    mended = {name: found for name, member in members.items() if (found := _mark(bytes(member)))}
    if not mended:
        return None
    kind = next((kind for kind, _ in mended.values() if kind != DASH_FOR_NOTHING), DASH_FOR_NOTHING)
    return kind, msgspec.json.encode(members | {name: Raw(text) for name, (_, text) in mended.items()})


def _mark(value: bytes) -> tuple[str, bytes] | None:
    if DASH.fullmatch(value.decode(errors="replace")):
        return DASH_FOR_NOTHING, b"null"
    return ("number_for_text", b'"%b"' % value) if NUMBER.fullmatch(value) else None


def _wall_clock(value: bytes) -> tuple[str, bytes] | None:
    if value == b'""':
        return EMPTY
    if value in ZERO_MOMENTS:
        return "zero_timestamp", b"null"
    if PLAIN_MOMENT.fullmatch(value):
        return None
    if BARE_DATE.fullmatch(value):
        return "", value[:-1] + b' 00:00:00"'
    exact = FINER_THAN_MICROSECONDS.sub(rb".\1", value)
    try:
        moment = msgspec.json.decode(exact, type=dt.datetime)
        if moment.tzinfo is not None:
            local = moment.astimezone(PLATFORM_ZONE).replace(tzinfo=None)
            return "zoned_timestamp", msgspec.json.encode(local)
    except (msgspec.DecodeError, UnicodeDecodeError, OverflowError):
        return None
    return ("fine_timestamp", exact) if exact != value else None


def redacted(raw: bytes | Raw) -> bytes:
    """JSON text as it came, without members that are never stored, at any depth."""
    text = bytes(raw)
    if not MAY_WITHHOLD.search(text):
        return text
    try:
        return _without_withheld(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSTORABLE


def _without_withheld(text: bytes) -> bytes:
    match text[:1]:
        case b"{":
            members = msgspec.json.decode(text, type=dict[str, Raw])
            kept = {name: _part(value) for name, value in members.items() if name not in WITHHELD}
            return msgspec.json.encode(kept)
        case b"[":
            return msgspec.json.encode([_part(item) for item in msgspec.json.decode(text, type=list[Raw])])
    return text


def _part(value: Raw) -> Raw:
    return Raw(_without_withheld(bytes(value)))
