"""What the metadata say of a dataset, and the contract of its records that is made of them."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, cast

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contract import DECIMAL, Contract, Flag, Float, Int, Number, Text, WallClock, doc, fields
from campus.datasets.names import safe_names
from campus.decode import Drift
from campus.errors import UnexpectedAnswer
from campus.mend import WITHHELD

# The field that incremental reading goes by, where a dataset has it.
UPDATED_AT = "updated_at"
# Fields that tell about one person wherever the specification has them.
PERSONAL = WITHHELD | {
    "name",
    "usin",
    "pinyin",
    "phone",
    "email",
    "avatar_url",
    "review",
    "self_review",
    "invalid_reason",
}
TYPES: dict[str, Any] = {
    "integer": Int,
    "decimal": Number,
    "string": Text,
    "text": Text,
    "enum": Text,
    "date": dt.date,
    "timestamp": WallClock,
    "boolean": Flag,
    # Those of reports alone.
    "float": Float,
    "attachment": Text,
}
# A link, an object, or a list of them: whatever it is loads as text, as what is of an unknown type does.
SHAPELESS = frozenset({"attachment"})
# In which the decoder takes no name of a field.
_UNSPEAKABLE = frozenset('"\\') | {chr(code) for code in range(0x20)}


@dataclass(frozen=True)
class FieldDefinition:
    """A field of a dataset, in the words of the specification; what was not sent, or makes no sense, is
    None."""

    name: str
    id: int | None = None
    label: str | None = None
    description: str | None = None
    type: str | None = None
    position: int | None = None
    primary: bool = False
    enum: tuple[str | int, ...] | None = None
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True)
class RelationDefinition:
    """A relation that `expand` takes. `ref_name`: the dataset whose rows it embeds."""

    name: str
    id: int | None = None
    label: str | None = None
    ref_name: str | None = None
    related_by: str | None = None


@dataclass(frozen=True)
class Definition:
    """A dataset. Its fields are in the order of their position; `drift`: what cannot be used as it was
    sent."""

    name: str
    id: int | None = None
    label: str | None = None
    description: str | None = None
    is_custom: bool | None = None
    fields: tuple[FieldDefinition, ...] = ()
    relations: tuple[RelationDefinition, ...] = ()
    drift: tuple[Drift, ...] = ()


def parse_definition(raw: bytes | Raw | Mapping[str, Any]) -> Definition:
    """The definition in a dataset object of the interface.

    Raises UnexpectedAnswer where it is no object with a name."""
    sent = raw if isinstance(raw, Mapping) else _object(raw)
    name = _text(sent, "name")
    if not name:
        raise UnexpectedAnswer("expected a dataset with a name.")
    drift: list[Drift] = []
    fields = [_field(members) for members in _named(sent, "fields", drift)]
    drift += [Drift("unknown_type", f.name, f.type or "") for f in fields if f.type not in TYPES]
    return Definition(
        name=name,
        id=_integer(sent, "id"),
        label=_text(sent, "label"),
        description=_text(sent, "description"),
        is_custom=_flag(sent, "is_custom"),
        fields=tuple(sorted(fields, key=_by_position)),
        relations=tuple(_relation(members) for members in _named(sent, "relations", drift)),
        drift=tuple(drift),
    )


def columns_of(definition: Definition) -> dict[str, str]:
    """The column of each field and relation, by its name. It does not depend on which of them are selected;
    of names that collide the one with the greater id yields, and relations yield to fields."""
    fields = [field.name for field in sorted(definition.fields, key=_by_id)]
    relations = [relation.name for relation in sorted(definition.relations, key=_by_id)]
    names = list(dict.fromkeys(fields + relations))
    return dict(zip(names, safe_names(names), strict=True))


def key_fields(definition: Definition) -> tuple[FieldDefinition, ...]:
    """The fields of the primary key; none where the metadata mark none, or one of them is never stored."""
    key = tuple(field for field in definition.fields if field.primary)
    return () if any(field.name in WITHHELD for field in key) else key


def primary_key(definition: Definition) -> tuple[str, ...]:
    """The columns of the primary key; empty where there is none."""
    columns = columns_of(definition)
    return tuple(columns[field.name] for field in key_fields(definition))


def contract_of(
    definition: Definition,
    selected: Sequence[str] | None = None,
    expanded: Mapping[str, Definition] | None = None,
) -> type[Contract]:
    """The contract of a dataset's records; the same definition gives the same one.

    selected: names of the fields that are asked for; None: all. expanded: the definition of the dataset that
    each expanded relation embeds."""
    names = None if selected is None else frozenset(selected)
    return _contract(definition, names, tuple((expanded or {}).items()))


def decimal_type(precision: int | None, scale: int | None) -> pa.DataType:
    """The column of a decimal field; one that holds most where the metadata make no sense."""
    if precision is None or scale is None or not 0 < precision <= 38 or not 0 <= scale <= precision:
        return DECIMAL
    return pa.decimal128(precision, scale)


@cache
def _contract(
    definition: Definition,
    selected: frozenset[str] | None,
    expanded: tuple[tuple[str, Definition], ...],
    keyed: bool = True,
) -> type[Contract]:
    columns = columns_of(definition)
    key = key_fields(definition) if keyed else ()
    labels = {relation.name: relation.label for relation in definition.relations}
    members: list[Any] = []
    for field in definition.fields:
        if selected is None or field.name in selected:
            annotation = _annotation(field, columns[field.name], field in key)
            members.append((columns[field.name], annotation, *(() if field in key else (None,))))
    for name, target in expanded:
        # of what is embedded even the key may be missing
        embedded = _contract(target, None, (), keyed=False)
        personal = any(field.personal for field in fields(embedded))
        about = doc(_comment(labels[name], "", name, columns[name]), personal=personal)
        members.append((columns[name], Annotated[embedded | None, about], None))
    contract = msgspec.defstruct(
        # A name of underscores alone, with which Python leaves attributes like __v their names.
        "_",
        members,
        bases=(Contract,),
        namespace={
            "__doc__": _comment(definition.label, definition.description, definition.name, definition.name)
        },
        rename={column: name for name, column in columns.items()},
        kw_only=True,
    )
    return cast(type[Contract], contract)


def _annotation(field: FieldDefinition, column: str, is_key: bool) -> Any:
    values = field.enum or ()
    numbered = bool(values) and all(isinstance(value, int) for value in values)
    kind = Int if field.type == "enum" and numbered else TYPES.get(field.type or "", Text)
    withheld = field.name in WITHHELD
    about = doc(
        _comment(field.label, field.description, field.name, column, values),
        enum=field.type == "enum",
        values=tuple(str(value) for value in values),
        personal=field.name in PERSONAL,
        expected=not withheld,
        any_json=field.type not in TYPES or field.type in SHAPELESS,
        arrow=_arrow_type(field, kind, withheld),
    )
    if withheld:
        return Annotated[None, about]
    return Annotated[kind if is_key else kind | None, about]


def _arrow_type(field: FieldDefinition, kind: Any, withheld: bool) -> pa.DataType | None:
    if withheld:
        return pa.string()
    return decimal_type(field.precision, field.scale) if kind is Number else None


def _comment(
    label: str | None, description: str | None, name: str, column: str, values: Sequence[str | int] = ()
) -> str:
    """What a reader of the column is told, its original name included where the column has another."""
    parts = [label, description if description != label else None]
    if values:
        parts.append(f"One of {', '.join(str(value) for value in values)}")
    if name != column:
        parts.append(f"Named “{name}” by the platform")
    return ". ".join(part.strip().rstrip(".。") for part in parts if part and part.strip()) or name


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
    """The members of a list that have a name of their own; the others are noted."""
    listed = sent.get(kind) or []
    if not isinstance(listed, list):
        drift.append(Drift("unreadable_definition", kind))
        return []
    named: dict[str, Mapping[str, Any]] = {}
    for place, member in enumerate(listed):
        name = _text(member, "name") if isinstance(member, Mapping) else None
        if not name or _UNSPEAKABLE & set(name):
            drift.append(Drift("unreadable_definition", f"{kind}[{place}]", name or ""))
        elif name in named:
            drift.append(Drift("duplicate_definition", name))
        else:
            named[name] = member
    return list(named.values())


def _field(sent: Mapping[str, Any]) -> FieldDefinition:
    enum = sent.get("enum")
    return FieldDefinition(
        name=sent["name"],
        id=_integer(sent, "id"),
        label=_text(sent, "label"),
        description=_text(sent, "description"),
        type=_text(sent, "type"),
        position=_integer(sent, "position"),
        primary=_flag(sent, "primary") is True,
        enum=tuple(v for v in enum if type(v) in (str, int)) if isinstance(enum, list) else None,
        max_length=_integer(sent, "max_length"),
        precision=_integer(sent, "precision"),
        scale=_integer(sent, "scale"),
    )


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
    """True and false, which some platforms write 1 and 0."""
    value = sent.get(name)
    return bool(value) if value in (0, 1) else None
