"""What is never stored: national id numbers and passwords, taken out of the JSON that is kept verbatim."""

import re

import msgspec
from msgspec import Raw

from campus.decoding.raw_json import UNFIT
from campus.identity_numbers import MARK

# National id numbers are stored only where a setting asks for them; a password is never read back.
WITHHELD = frozenset({"idcard", "password"})
UNSTORABLE = b'"not stored: it may hold a withheld field and cannot be taken apart"'
# A withheld name, or an escaped letter in which one may hide.
MAY_WITHHOLD = re.compile(b"|".join([rb"\\u00[4-7]", *(name.encode() for name in sorted(WITHHELD))]))
_LIST = msgspec.json.Decoder(list[Raw])


def redacted(raw: bytes | Raw, *, named: bool = False) -> bytes:
    """JSON text as it came, without members that are never stored, at any depth. named: with the names of
    these members, and a mark in the place of each value."""
    text = bytes(raw)
    if not MAY_WITHHOLD.search(text):
        return text
    try:
        return _without_withheld(text, named)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSTORABLE


def as_json(value: bytes | Raw) -> bytes:
    """A value as it came where it is JSON; else a JSON text of it."""
    text = bytes(value)
    try:
        text.decode()
        _LIST.decode(b"[%b]" % text)
    except UNFIT:
        return msgspec.json.encode(text.decode(errors="backslashreplace"))
    return text


def _without_withheld(text: bytes, named: bool) -> bytes:
    match text[:1]:
        case b"{":
            members = msgspec.json.decode(text, type=dict[str, Raw])
            kept = {
                name: MARK if name in WITHHELD else _part(value, named)
                for name, value in members.items()
                if named or name not in WITHHELD
            }
            return msgspec.json.encode(kept)
        case b"[":
            items = msgspec.json.decode(text, type=list[Raw])
            return msgspec.json.encode([_part(item, named) for item in items])
    return text


def _part(value: Raw, named: bool) -> Raw:
    return Raw(_without_withheld(bytes(value), named))
