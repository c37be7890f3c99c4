"""Coerces ids and names of people, which platforms send as numbers, as text, or inside objects."""

import re
from collections.abc import Mapping

from msgspec import Raw

from campus.contracts.fields import Contract
from campus.decoding.coercion.scalars import INTEGER, Coerced, to_integer, to_text
from campus.decoding.raw_json import object_members
from campus.decoding.withholding import redacted

# An integer in text in its only spelling, and several integers in one text.
INTEGER_TEXT = re.compile(rb'"(0|-?[1-9]\d*)"')
INTEGERS_TEXT = re.compile(rb'"(0|-?[1-9]\d*)(,\s*(0|-?[1-9]\d*))+"')
TEXT_FOR_IDS, OBJECTS_FOR_IDS, NESTED_PERSON = "text_for_ids", "objects_for_ids", "nested_person"
# Members that name the user of an object. They come before the object's own id.
USER_IDS = ("rid", "reflection_id")
INSIDE = "reflection"
OF_PERSON = (*USER_IDS, INSIDE)


def take_from_inside(members: dict[str, Raw], contract: type[Contract]) -> dict[str, Raw]:
    """Fill the row's missing fields from the person inside `reflection`, and its id unless the row names the
    person; returns the values for `_extra`."""
    inside = _inside(members)
    if not inside:
        return {}
    extra = {INSIDE: Raw(redacted(members.pop(INSIDE)))}
    is_named = any(bytes(members.get(name, b"null")) != b"null" for name in USER_IDS)
    for name in contract.of_person:
        sent, value = bytes(members.get(name, b"null")), inside.get(name)
        if value is None or value in (sent, b"null"):
            continue
        if sent == b"null" or (name == "id" and not is_named):
            extra |= {} if sent == b"null" else {name: Raw(sent)}
            members[name] = Raw(bytes(value))
    return extra


def take_place(members: dict[str, Raw]) -> bool:
    """Replace a person by the person inside `reflection`; returns whether anything changed."""
    sent, inside = dict(members), _inside(members)
    if user_id := _user_id(members):
        members["id"] = Raw(user_id)
    for name in ("name", "usin"):
        if bytes(members.get(name, b"null")) == b"null" and name in inside:
            members[name] = inside[name]
    return members != sent


def to_id(value: bytes) -> Coerced | None:
    """An id that is sent as text, or as the object with this id."""
    if value.startswith(b"{"):
        user_id = _user_id(object_members(value) or {})
        return (OBJECTS_FOR_IDS, user_id) if user_id else None
    return (TEXT_FOR_IDS, value[1:-1]) if INTEGER_TEXT.fullmatch(value) else to_integer(value)


def _user_id(members: Mapping[str, Raw]) -> bytes | None:
    """The user of an object: the user that it names or contains, else the object's own id."""
    candidates = [*(members.get(name) for name in USER_IDS), _inside(members).get("id"), members.get("id")]
    values = [bytes(value) for value in candidates if value]
    ids = [
        value if INTEGER.fullmatch(value) else value[1:-1]
        for value in values
        if INTEGER.fullmatch(value) or INTEGER_TEXT.fullmatch(value)
    ]
    return next(iter(ids), None)


def _inside(members: Mapping[str, Raw]) -> Mapping[str, Raw]:
    """The members of an object's `reflection`; none without it."""
    return object_members(bytes(members.get(INSIDE, b"null"))) or {}


def to_name(value: bytes) -> Coerced | None:
    """A name that is sent inside an object, or as a number."""
    name = (object_members(value) or {}).get("name")
    return to_text(value) if name is None else ("objects_for_names", bytes(name))
