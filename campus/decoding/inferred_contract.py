"""Makes the names of columns, and the contract of a dataset's records, from its definition."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, count
from typing import Annotated, Any, cast
from urllib.parse import quote

import msgspec
import pyarrow as pa

from campus.contracts.fields import DECIMAL, Contract, Int, Number, doc, fields
from campus.decoding.definition import TYPES, Definition, FieldDefinition, RelationDefinition
from campus.decoding.withholding import WITHHELD

# The lake's own columns: no field may have one of these names.
RESERVED = frozenset(
    (
        *("_school_id", "_synced_at", "_deleted_at", "_extra", "_trashed", "_trashed_at"),
        *("_row", "_row_number", "_params", "_segment", "_partition"),
    )
)
# Bytes of a table's name, percent-encoded. A folder's name may have 255, and the table's is a part of it.
_MAX_LENGTH = 200
# Python's own attributes: a struct cannot redefine them.
_DUNDER = re.compile(r"__.*__")


def safe_name(text: str) -> str:
    """Replace each run of letters that no identifier may have with one `_`. An ASCII identifier stays."""
    letters = "".join(letter if f"_{letter}".isidentifier() else "\0" for letter in text)
    name = re.sub("\0+", "_", letters) or "_"
    return name if name.isidentifier() else f"_{name}"


def safe_names(texts: Iterable[str], taken: Collection[str] = RESERVED) -> list[str]:
    """A safe name for each text, in order. A name that equals an earlier or a taken name, in any case of its
    letters, gets `_2`, `_3` …"""
    used = {name.casefold() for name in taken}
    names = []
    for text in texts:
        base = safe_name(text)
        candidates = chain([base], (f"{base}_{number}" for number in count(2)))
        name = next(n for n in candidates if n.casefold() not in used and not _DUNDER.fullmatch(n))
        used.add(name.casefold())
        names.append(name)
    return names


def table_names(texts: Iterable[str], taken: Collection[str]) -> list[str]:
    """A safe name for the table of each dataset, in order, cut to the length of a folder's name."""
    return safe_names([cut(safe_name(text)) for text in texts], taken)


def cut(name: str) -> str:
    """Cut a name to the length that a folder's name allows."""
    while len(quote(name, safe="")) > _MAX_LENGTH:
        name = name[:-1]
    return name


#: A part of the comment of a column of identity numbers.
NOT_KEPT = "National identity number: null unless CAMPUS_KEEP_ID_NUMBERS asks for it"
# Fields that are personal wherever the specification has them.
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


def contract_of(
    definition: Definition,
    selected: Sequence[str] | None = None,
    expanded: Mapping[str, Definition] | None = None,
) -> type[Contract]:
    """The contract of a dataset's records. Equal definitions give the same class.

    selected: names of the requested fields; None: all. expanded: the definition of the dataset that each
    expanded relation embeds."""
    names = None if selected is None else frozenset(selected)
    return _contract(definition, names, tuple((expanded or {}).items()))


def decimal_type(precision: int | None, scale: int | None) -> pa.DataType:
    """The type of a decimal column; the widest type where the metadata give no valid precision and scale."""
    if precision is None or scale is None or not 0 < precision <= 38 or not 0 <= scale <= precision:
        return DECIMAL
    return pa.decimal128(precision, scale)


def _by_id(member: FieldDefinition | RelationDefinition) -> tuple[bool, int]:
    return member.id is None, member.id or 0


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
        # An embedded object may lack even its key.
        embedded = _contract(target, None, (), keyed=False)
        is_personal = any(field.personal for field in fields(embedded))
        about = doc(_comment(labels[name], "", name, columns[name]), privacy="mixed" if is_personal else "")
        members.append((columns[name], Annotated[embedded | None, about], None))
    contract = msgspec.defstruct(
        # Python would rename attributes like __v in a class whose name has letters.
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
    kind = Int if field.type == "enum" and numbered else TYPES[field.type or "json"]
    withheld, identity_number = field.name in WITHHELD, field.is_identity_number
    comment = _comment(field.label, field.description, field.name, column, values)
    about = doc(
        f"{comment}. {NOT_KEPT}" if identity_number else comment,
        enum=field.type == "enum",
        values=tuple(str(value) for value in values),
        privacy="number" if identity_number else "mixed" if field.name in PERSONAL else "",
        expected=not withheld,
        any_json=field.type in (None, "json") or (field.type == "text" and field.guessed),
        identity_number=identity_number,
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
    """The column's comment, with the name of the field where the column's name differs."""
    parts = [label, description if description != label else None]
    if values:
        parts.append(f"One of {', '.join(str(value) for value in values)}")
    if name != column:
        parts.append(f"Named “{name}” by the platform")
    return ". ".join(part.strip().rstrip(".。") for part in parts if part and part.strip()) or name
