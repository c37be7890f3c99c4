"""Ids and names of people, which platforms write as numbers, as text, or as objects that hold them."""

import re
from collections.abc import Mapping

from msgspec import Raw

from campus.contracts.fields import Contract
from campus.decoding.coercion.scalars import INTEGER, Coerced, to_integer, to_text
from campus.decoding.raw_json import object_members
from campus.decoding.withholding import redacted

# An integer in text that has no other spelling, and several of them.
INTEGER_TEXT = re.compile(rb'"(0|-?[1-9]\d*)"')
INTEGERS_TEXT = re.compile(rb'"(0|-?[1-9]\d*)(,\s*(0|-?[1-9]\d*))+"')
TEXT_FOR_IDS, OBJECTS_FOR_IDS, NESTED_PERSON = "text_for_ids", "objects_for_ids", "nested_person"
# Members of an object that name the user it stands for; they go before its own id.
USER_IDS = ("rid", "reflection_id")
INSIDE = "reflection"
OF_PERSON = (*USER_IDS, INSIDE)


def take_from_inside(members: dict[str, Raw], contract: type[Contract]) -> dict[str, Raw]:
    """Let the person inside `reflection` fill what the row lacks, and its id unless the row names the person;
    gives what `_extra` keeps of it."""
    inside = _inside(members)
    if not inside:
        return {}
    kept = {INSIDE: Raw(redacted(members.pop(INSIDE)))}
    named = any(bytes(members.get(name, b"null")) != b"null" for name in USER_IDS)
    for name in contract.of_person:
        sent, found = bytes(members.get(name, b"null")), inside.get(name)
        if found is None or found in (sent, b"null"):
            continue
        if sent == b"null" or (name == "id" and not named):
            kept |= {} if sent == b"null" else {name: Raw(sent)}
            members[name] = Raw(bytes(found))
    return kept


def take_place(members: dict[str, Raw]) -> bool:
    """Let the person inside `reflection` replace the one around it; whether that changed anything."""
    sent, inside = dict(members), _inside(members)
    found = _user_id(members)
    if found:
        members["id"] = Raw(found)
    for name in ("name", "usin"):
        if bytes(members.get(name, b"null")) == b"null" and name in inside:
            members[name] = inside[name]
    return members != sent


def to_id(value: bytes) -> Coerced | None:
    """An id that comes as text, or as an object that it is the id of."""
    if value.startswith(b"{"):
        found = _user_id(object_members(value) or {})
        return (OBJECTS_FOR_IDS, found) if found else None
    return (TEXT_FOR_IDS, value[1:-1]) if INTEGER_TEXT.fullmatch(value) else to_integer(value)


def _user_id(members: Mapping[str, Raw]) -> bytes | None:
    """Which user an object stands for: the one that it names or holds, else the object's own id."""
    candidates = [*(members.get(name) for name in USER_IDS), _inside(members).get("id"), members.get("id")]
    values = [bytes(value) for value in candidates if value]
    ids = [
        value if INTEGER.fullmatch(value) else value[1:-1]
        for value in values
        if INTEGER.fullmatch(value) or INTEGER_TEXT.fullmatch(value)
    ]
    return next(iter(ids), None)


def _inside(members: Mapping[str, Raw]) -> Mapping[str, Raw]:
    """The members of an object's `reflection`, none without one."""
    return object_members(bytes(members.get(INSIDE, b"null"))) or {}


def to_name(value: bytes) -> Coerced | None:
    """A name that comes as an object that has it, or as a number."""
    name = (object_members(value) or {}).get("name")
    return to_text(value) if name is None else ("objects_for_names", bytes(name))
