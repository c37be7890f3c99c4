"""Rows that do not fit their contract as they were sent, made to fit where nothing is lost by it.

A value that is rewritten stays verbatim in the row's `_extra`, and the rewriting is told as drift. What
cannot be rewritten without loss stays as it is, for the decoder to refuse."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import cache
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contract import DECIMAL, Contract, Field, fields

PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
# National id numbers are stored only where a setting asks for them; a password is never read back.
WITHHELD = frozenset({"idcard", "password"})
UNSTORABLE = b'"not stored: it may hold a withheld field and cannot be taken apart"'

# In which a withheld name may hide.
ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")

# A drift kind (or "" for what is no drift) and the new bytes of a value; None leaves the value alone.
Rewriter = Callable[[bytes], tuple[str, bytes] | None]

BARE_DATE = re.compile(rb'"\d{4}-\d\d-\d\d"')
INTEGER = re.compile(rb"-?\d+")
# The decoder would round what is finer than a microsecond. Begins with a literal so that pages of many
# megabytes are searched at the speed of memchr.
FINER_THAN_MICROSECONDS = re.compile(rb"\.(?<=:\d\d\.)(\d{6})\d+")
# How databases that know no null write "never".
ZERO_MOMENTS = frozenset({b'"0000-00-00 00:00:00"', b'"0000-00-00"'})


def mend(members: dict[str, Raw], contract: type[Contract]) -> tuple[dict[str, Raw], list[tuple[str, str]]]:
    """Make a row fit its contract, in place; gives what `_extra` keeps verbatim, and drift as (kind, field).

    Taken out: fields that no contract names, and those inside nested objects. Rewritten: "" where a decimal
    or a timestamp belongs, and a zero date, become null; a timestamp with a zone becomes the platform's wall
    clock, one finer than a microsecond loses the rest; 0 and 1 become flags; a numbered enum becomes text.
    A bare date is its midnight."""
    rewriters = _rewriters(contract)
    extra: dict[str, Raw] = {}
    drift: list[tuple[str, str]] = []
    for name in [name for name in members if name not in rewriters]:
        value = members.pop(name)
        drift.append(("unknown_field", name))
        if name not in WITHHELD:
            extra[name] = Raw(redacted(value))
    for name, value in members.items():
        rewrite = rewriters[name]
        if rewrite and (mended := rewrite(bytes(value))):
            kind, replacement = mended
            members[name] = Raw(replacement)
            if kind:
                drift.append((kind, name))
                extra[name] = Raw(redacted(value))
    return extra, drift


@cache
def _rewriters(contract: type[Contract]) -> Mapping[str, Rewriter | None]:
    """What may mend the values of each field; None for those that stand or fall as they are."""
    return {field.name: _rewriter(field) for field in fields(contract)}


def _rewriter(field: Field) -> Rewriter | None:
    kind = field.arrow_type
    if kind == DECIMAL:
        return lambda value: ("empty_text", b"null") if value == b'""' else None
    if pa.types.is_timestamp(kind):
        return _wall_clock
    if pa.types.is_boolean(kind):
        return {b"0": ("number_for_flag", b"false"), b"1": ("number_for_flag", b"true")}.get
    if field.enum:
        return lambda value: ("number_for_text", b'"%b"' % value) if INTEGER.fullmatch(value) else None
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        known = frozenset(kind.value_type.names)
        return lambda value: _known_members(value, known)
    return None


def _wall_clock(value: bytes) -> tuple[str, bytes] | None:
    if value == b'""':
        return "empty_text", b"null"
    if value in ZERO_MOMENTS:
        return "zero_timestamp", b"null"
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


def _known_members(value: bytes, known: frozenset[str]) -> tuple[str, bytes] | None:
    """A list of nested objects without the members that no contract names."""
    try:
        items = [_members_or_none(item) or item for item in msgspec.json.decode(value, type=list[Raw])]
    except msgspec.DecodeError:
        return None
    if all(isinstance(item, Raw) or item.keys() <= known for item in items):
        return None
    kept = [
        item if isinstance(item, Raw) else {name: item[name] for name in item if name in known}
        for item in items
    ]
    return "unknown_nested_field", msgspec.json.encode(kept)


def _members_or_none(value: Raw) -> dict[str, Raw] | None:
    """The members of an object; None for anything else."""
    return msgspec.json.decode(value, type=dict[str, Raw]) if bytes(value)[:1] == b"{" else None


def redacted(raw: bytes | Raw) -> bytes:
    """JSON text as it came, without members that are never stored, at any depth."""
    text = bytes(raw)
    if not ESCAPED_LETTER.search(text) and not any(name.encode() in text for name in WITHHELD):
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
