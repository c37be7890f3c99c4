"""Makes the contract of a dataset's records from its definition."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, cast

import msgspec
import pyarrow as pa

from campus.contracts.fields import DECIMAL, Contract, Int, Number, doc, fields
from campus.decoding.definition import TYPES, Definition, FieldDefinition, columns_of, key_fields
from campus.decoding.withholding import WITHHELD

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
