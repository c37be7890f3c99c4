"""Parses the definition of a dataset or of a report query from its metadata."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from campus.account import Drift
from campus.contracts.fields import Flag, Float, Int, Number, Text, WallClock
from campus.decoding.column_names import safe_names
from campus.decoding.type_words import meaning_of
from campus.decoding.withholding import WITHHELD
from campus.http.errors import UnexpectedAnswer
from campus.identity_numbers import is_identity_field

# The field by which a dataset is read incrementally.
UPDATED_AT = "updated_at"
# The types of columns; `campus.decoding.type_words` has the platforms' words for each type.
TYPES: dict[str, Any] = {
    "integer": Int,
    "decimal": Number,
    "float": Float,
    "text": Text,
    "enum": Text,
    "date": dt.date,
    "timestamp": WallClock,
    "boolean": Flag,
    # Any JSON value, as text; also a field whose type is not known yet.
    "json": Text,
}
# The words of platforms for yes and no.
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
# Letters that the decoder does not accept in the name of a field.
_FORBIDDEN = frozenset('"\\') | {chr(code) for code in range(0x20)}


@dataclass(frozen=True)
class Decision:
    """The type of a field, decided by its values."""

    # The platform's word for the type. Under another word the decision is void.
    word: str | None
    # A key of TYPES.
    kind: str


@dataclass(frozen=True)
class Decided:
    """The decisions on a dataset by its values."""

    # By the names of fields.
    types: Mapping[str, Decision] = dataclasses.field(default_factory=dict)
    # The primary key, where the metadata name none.
    key: str | None = None


@dataclass(frozen=True)
class FieldDefinition:
    """A field of a dataset. A member that is missing or unreadable is None."""

    name: str
    id: int | None = None
    label: str | None = None
    description: str | None = None
    # A key of TYPES; None: neither the word nor the values show the type yet.
    type: str | None = None
    # The platform's word for the type.
    word: str | None = None
    # The type was decided by values.
    guessed: bool = False
    position: int | None = None
    primary: bool = False
    enum: tuple[str | int, ...] | None = None
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None

    @property
    def is_identity_number(self) -> bool:
        """Whether it holds national identity numbers, by its name or label."""
        return is_identity_field(self.name) or is_identity_field(self.label or "")


@dataclass(frozen=True)
class RelationDefinition:
    """A relation that `expand` takes."""

    name: str
    id: int | None = None
    label: str | None = None
    # The dataset whose rows it embeds.
    ref_name: str | None = None
    related_by: str | None = None


@dataclass(frozen=True)
class Definition:
    """A dataset."""

    name: str
    id: int | None = None
    label: str | None = None
    description: str | None = None
    is_custom: bool | None = None
    # In the order of their position.
    fields: tuple[FieldDefinition, ...] = ()
    relations: tuple[RelationDefinition, ...] = ()
    # The parts that cannot be used as they were sent.
    drift: tuple[Drift, ...] = ()
    # The metadata say of at least one field whether it is primary.
    tells_key: bool = True


def parse_definition(
    raw: bytes | Raw | Mapping[str, Any], decided_by_name: Mapping[str, Decided] | None = None
) -> Definition:
    """Parse a dataset object of the interface. `decided_by_name`: the decisions on datasets by their values.

    Raises UnexpectedAnswer where it is not an object with a name."""
    sent = raw if isinstance(raw, Mapping) else _object(raw)
    name = _text(sent, "name")
    if not name:
        raise UnexpectedAnswer("expected a dataset with a name.")
    decided = (decided_by_name or {}).get(name, Decided())
    drift: list[Drift] = []
    listed = _named(sent, "fields", drift)
    tells_key = any(_flag(members, "primary") is not None for members in listed)
    key = None if tells_key else decided.key
    fields = [_field(members, decided.types.get(members["name"]), key) for members in listed]
    drift += [Drift("unknown_type", f.name, f.word or "") for f in fields if f.type is None]
    return Definition(
        name=name,
        id=_integer(sent, "id"),
        label=_text(sent, "label"),
        description=_text(sent, "description"),
        is_custom=_flag(sent, "is_custom"),
        fields=tuple(sorted(fields, key=_by_position)),
        relations=tuple(_relation(members) for members in _named(sent, "relations", drift)),
        drift=tuple(drift),
        tells_key=tells_key,
    )


def columns_of(definition: Definition) -> dict[str, str]:
    """The column of each field and relation, by its name, whatever is selected. Where two names would give
    one column, the field comes before the relation, and the smaller id before the greater."""
    fields = [field.name for field in sorted(definition.fields, key=_by_id)]
    relations = [relation.name for relation in sorted(definition.relations, key=_by_id)]
    names = list(dict.fromkeys(fields + relations))
    return dict(zip(names, safe_names(names), strict=True))


def key_fields(definition: Definition) -> tuple[FieldDefinition, ...]:
    """The fields of the primary key; none where the metadata mark none, or a part of it is not stored."""
    key = tuple(field for field in definition.fields if field.primary)
    return () if any(field.name in WITHHELD or field.is_identity_number for field in key) else key


def primary_key(definition: Definition) -> tuple[str, ...]:
    """The columns of the primary key; empty where there is none."""
    columns = columns_of(definition)
    return tuple(columns[field.name] for field in key_fields(definition))


def _by_id(member: FieldDefinition | RelationDefinition) -> tuple[bool, int]:
    return member.id is None, member.id or 0


def _by_position(field: FieldDefinition) -> tuple[bool, int]:
    return field.position is None, field.position or 0


def _object(raw: bytes | Raw) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnexpectedAnswer(f"expected a dataset: {error}.") from error


def _named(sent: Mapping[str, Any], kind: str, drift: list[Drift]) -> list[Mapping[str, Any]]:
    """The members of a list that have a unique name; the other members go to `drift`."""
    listed = sent.get(kind) or []
    if not isinstance(listed, list):
        drift.append(Drift("unreadable_definition", kind))
        return []
    named: dict[str, Mapping[str, Any]] = {}
    for place, member in enumerate(listed):
        name = _text(member, "name") if isinstance(member, Mapping) else None
        if not name or _FORBIDDEN & set(name):
            drift.append(Drift("unreadable_definition", f"{kind}[{place}]", name or ""))
        elif name in named:
            drift.append(Drift("duplicate_definition", name))
        else:
            named[name] = member
    return list(named.values())


def _field(sent: Mapping[str, Any], decision: Decision | None, key: str | None) -> FieldDefinition:
    """Parse a field. `key`: the name of the primary key, where the metadata name none."""
    name, word, enum = sent["name"], _word(sent.get("type")), sent.get("enum")
    values = tuple(v for v in enum if type(v) in (str, int)) if isinstance(enum, list) else None
    precision, scale = _integer(sent, "precision"), _integer(sent, "scale")
    meaning = meaning_of(word, precision, scale)
    kind = meaning.kind or ("enum" if values else None)
    guessed = decision is not None and decision.word == word and decision.kind != kind
    return FieldDefinition(
        name=name,
        id=_integer(sent, "id"),
        label=_text(sent, "label"),
        description=_text(sent, "description"),
        type=decision.kind if decision is not None and guessed else kind,
        word=word,
        guessed=guessed,
        position=_integer(sent, "position"),
        primary=_flag(sent, "primary") is True or name == key,
        enum=values,
        max_length=_integer(sent, "max_length"),
        precision=meaning.precision if meaning.kind == "decimal" else precision,
        scale=meaning.scale if meaning.kind == "decimal" else scale,
    )


def _word(sent: Any) -> str | None:
    """A platform's word for a type. A list of words, as in JSON Schema, becomes one text."""
    if isinstance(sent, list) and sent and all(isinstance(part, str) for part in sent):
        return "|".join(sent)
    return sent if isinstance(sent, str) else None


def _relation(sent: Mapping[str, Any]) -> RelationDefinition:
    return RelationDefinition(
        name=sent["name"],
        id=_integer(sent, "id"),
        label=_text(sent, "label"),
        ref_name=_text(sent, "ref_name"),
        related_by=_text(sent, "related_by"),
    )


def _text(sent: Mapping[str, Any], name: str) -> str | None:
    value = sent.get(name)
    return value if isinstance(value, str) else None


def _integer(sent: Mapping[str, Any], name: str) -> int | None:
    value = sent.get(name)
    return value if type(value) is int else None


def _flag(sent: Mapping[str, Any], name: str) -> bool | None:
    """A flag, which some platforms write as 1 and 0, or as text."""
    value = sent.get(name)
    if isinstance(value, str):
        return _FLAGS.get(value.strip().casefold())
    return bool(value) if value in (0, 1) else None
