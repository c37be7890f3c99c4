"""What is never stored: national id numbers and passwords, taken out of the JSON that is kept verbatim."""

import re

import msgspec
from msgspec import Raw

from campus.decoding.raw_json import UNFIT

# National id numbers are stored only where a setting asks for them; a password is never read back.
WITHHELD = frozenset({"idcard", "password"})
UNSTORABLE = b'"not stored: it may hold a withheld field and cannot be taken apart"'
# A withheld name, or an escaped letter in which one may hide.
MAY_WITHHOLD = re.compile(b"|".join([rb"\\u00[4-7]", *(name.encode() for name in sorted(WITHHELD))]))
_LIST = msgspec.json.Decoder(list[Raw])


def redacted(raw: bytes | Raw) -> bytes:
    """JSON text as it came, without members that are never stored, at any depth."""
    text = bytes(raw)
    if not MAY_WITHHOLD.search(text):
        return text
    try:
        return _without_withheld(text)
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
