"""Coerces lists and maps of plain values that do not fit their column, value by value."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from campus.decoding.coercion.persons import INTEGER_TEXT, INTEGERS_TEXT, TEXT_FOR_IDS, to_id
from campus.decoding.coercion.scalars import DASH_FOR_NOTHING, EMPTY, Coerce, Coerced, to_null, to_text
from campus.decoding.raw_json import list_items, object_members

# PHP writes an empty object as a list.
EMPTY_LIST = ("empty_list", b"null")
EMPTY_OBJECT = ("empty_object", b"null")
# Drift kind of a value that its column cannot hold.
UNREADABLE = "unreadable_value"


def to_list(coerce: Coerce, value: bytes) -> Coerced | None:
    """A list of plain values."""
    items = list_items(value)
    if items is None:
        return EMPTY_OBJECT if value == b"{}" else to_null(value)
    coerced = [coerce(item) for item in items]
    pairs = zip(items, coerced, strict=True)
    kind = worst(result[0] for result in coerced if result)
    return kind, msgspec.json.encode([Raw(result[1] if result else item) for item, result in pairs])


def to_id_list(value: bytes) -> Coerced | None:
    """A list of ids, which may be one text with commas."""
    if INTEGERS_TEXT.fullmatch(value) or INTEGER_TEXT.fullmatch(value):
        return TEXT_FOR_IDS, b"[%b]" % value[1:-1]
    return to_list(to_id, value)


def to_map(coerce: Coerce, value: bytes) -> Coerced | None:
    """An object whose keys are data."""
    if value == b"[]":
        return EMPTY_LIST
    if not value.startswith(b"{"):
        return to_null(value)
    members = object_members(value)
    if members is None:
        return None
    coerced = {name: result for name, member in members.items() if (result := coerce(bytes(member)))}
    texts = {name: Raw(text) for name, (_, text) in coerced.items()}
    return worst(kind for kind, _ in coerced.values()), msgspec.json.encode(members | texts)


def to_mark(value: bytes) -> Coerced | None:
    """A mark of a transcript: any text; a dash means no mark."""
    if value == b"null" or value.startswith(b'"'):
        result = to_null(value)
        return result if result != EMPTY else None
    return to_text(value) or (UNREADABLE, b"null")


def worst(kinds: Iterable[str]) -> str:
    """The drift kind of a value whose parts were rewritten in several ways."""
    return max(
        filter(None, kinds), key=lambda kind: (kind == UNREADABLE, kind != DASH_FOR_NOTHING), default=""
    )
