"""The vocabulary of contracts: field types, a field's documentation, and the Arrow types that follow.

A contract is a msgspec struct: the JSON decoder checks every value against it at C speed, and refuses a value
that its column cannot hold exactly (1.7 or 2^63 in an integer column). Lake schema, column comments and
dictionary derive from the same struct.
"""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from msgspec import Meta, inspect

# The platform sends decimals of unstated scale as strings. 18 places hold every double as it is printed;
# other values stay in `_extra`.
DECIMAL = pa.decimal128(38, 18)

Int = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Text = str
Flag = bool
Float = float
# Decimals travel as strings, so that no digit is lost.
Number = Decimal
#: What a field says about people; docs/reference/privacy.md describes each class. "":
#: unclassified, as the fields of datasets are, which the platform defines.
Privacy = Literal[
    "",
    "plain",
    "label",
    "id",
    "person",
    "record",
    "kind",
    "moment",
    "trait",
    "people",
    "name",
    "number",
    "phone",
    "email",
    "address",
    "photo",
    "guardian",
    "text",
    "mixed",
]
#: The classes of fields about one person. warehouse.privacy has the same list, as campus and warehouse do not
#: import one another.
PERSONAL: frozenset[Privacy] = frozenset(
    ("name", "number", "phone", "email", "address", "photo", "guardian", "text", "mixed")
)
# A dash among marks means no mark. A mark is any other text.
ANY_DASH = "[-\u2010-\u2015]"
Mark = Annotated[str, Meta(pattern=f"^(?!{ANY_DASH}$)")]
#: The zone of the platform's wall clock.
PLATFORM_ZONE = ZoneInfo("Asia/Shanghai")
# A moment by that wall clock, `YYYY-MM-DD HH:MM:SS`, without a zone.
WallClock = Annotated[dt.datetime, Meta(tz=False)]


class Contract(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Base of all contracts. The fields without a default are the key: a row must have them."""

    # Fields of a person, which may stand inside `reflection` instead.
    of_person: ClassVar[tuple[str, ...]] = ()
    # The Chinese name of the table.
    label_zh: ClassVar[str] = ""


@dataclass(frozen=True)
class Field:
    """One documented field of a contract; see `doc` for the other attributes."""

    # The column.
    name: str
    # The key in JSON.
    wire: str
    arrow_type: pa.DataType
    description: str
    # A part of the key.
    required: bool
    # Always null: the value is dropped.
    withheld: bool
    # The contract of the object in the field, or of the objects in its list.
    nested: type[Contract] | None
    label_zh: str = ""
    unit: str = ""
    enum: bool = False
    known_values: frozenset[str] = frozenset()
    privacy: Privacy = ""
    expected: bool = True
    any_json: bool = False
    digits: bool = False
    assumed: bool = False
    mark: bool = False
    rate: str = ""
    identity_number: bool = False

    @property
    def personal(self) -> bool:
        """Whether the field is about one person."""
        return self.privacy in PERSONAL


def doc(
    description: str,
    *,
    privacy: Privacy = "",
    label_zh: str = "",
    unit: str = "",
    enum: bool = False,
    values: tuple[str, ...] = (),
    expected: bool = True,
    any_json: bool = False,
    digits: bool = False,
    assumed: bool = False,
    mark: bool = False,
    rate: Literal["", "share", "percent"] = "",
    identity_number: bool = False,
    arrow: pa.DataType | None = None,
) -> Meta:
    """Document a field.

    Args:
        description: The column's comment.
        privacy: What the field says about people, for the dictionary.
        label_zh: The field's Chinese name, for the dictionary and for workbooks. It goes with the column into
            the models that keep the column's name.
        unit: Of measurement; used like `label_zh`.
        enum: An enum whose values the specification does not list. A platform may number them.
        values: The listed values of an enum. Other values load and are reported as drift.
        expected: False where only some platforms send the field.
        any_json: The values are of any type, and load as text.
        digits: An integer that travels as text.
        assumed: The specification does not show the type. A value that is no integer stays in `_extra`.
        mark: The specification has the field as text, so a word ("A") in place of a number is no fault.
        rate: The unit of a rate: 85% is the share 0.85, or the percent 85.
        identity_number: Holds national identity numbers. Null unless a setting keeps them.
        arrow: The column's type, where it is not the usual type of the field.
    """
    return Meta(
        description=description,
        extra={
            "label_zh": label_zh,
            "unit": unit,
            "enum": enum or bool(values),
            "known_values": frozenset(values),
            "privacy": privacy,
            "expected": expected,
            "any_json": any_json,
            "digits": digits,
            "assumed": assumed,
            "mark": mark,
            "rate": rate,
            "identity_number": identity_number,
            "arrow": arrow,
        },
    )


class PersonRef(Contract):
    """A person inside another row. Some platforms send only the id."""

    id: Int
    name: Text | None = None
    usin: Text | None = None


class NamedRef(Contract):
    """A named object inside another row. Some platforms send only the id."""

    id: Int
    name: Text | None = None


class TagRef(Contract):
    """A tag that an assessment item offers."""

    name: Text | None = None


People = list[Int | PersonRef]
NamedRefs = list[Int | NamedRef]


@cache
def fields(contract: type[Contract]) -> tuple[Field, ...]:
    """The documented fields of a contract, in its own order."""
    info = inspect.type_info(contract)
    assert isinstance(info, inspect.StructType)
    return tuple(_field(field) for field in info.fields)


@cache
def column_names(contract: type[Contract]) -> tuple[str, ...]:
    """The names of a contract's fields, in its own order."""
    return tuple(field.name for field in fields(contract))


def _field(field: inspect.Field) -> Field:
    documentation = field.type if isinstance(field.type, inspect.Metadata) else inspect.Metadata(field.type)
    flags = {name: flag for name, flag in (documentation.extra or {}).items() if name != "arrow"}
    return Field(
        name=field.name,
        wire=field.encode_name,
        arrow_type=arrow_type(field.type),
        description=(documentation.extra_json_schema or {}).get("description", ""),
        required=field.required,
        withheld=isinstance(documentation.type, inspect.NoneType),
        nested=_nested(field.type),
        **flags,
    )


def _nested(kind: Any) -> type[Contract] | None:
    match kind:
        case inspect.Metadata():
            return _nested(kind.type)
        case inspect.UnionType():
            return next((nested for member in kind.types if (nested := _nested(member))), None)
        case inspect.ListType():
            return _nested(kind.item_type)
        case inspect.StructType() if issubclass(kind.cls, Contract):
            return kind.cls
    return None


@cache
def roomy(arrow_type: Any) -> Any:
    """A type with wider decimals, in which values are built before they are cast to `arrow_type`.

    Arrow stores another number where a value overflows 128 bits while it is scaled, without an error. A cast
    refuses a value that does not fit."""
    if pa.types.is_decimal(arrow_type):
        return pa.decimal256(76 - arrow_type.scale, arrow_type.scale)
    if pa.types.is_struct(arrow_type):
        return pa.struct([(part.name, roomy(part.type)) for part in arrow_type])
    if pa.types.is_list(arrow_type):
        return pa.list_(roomy(arrow_type.value_type))
    return arrow_type


def arrow_type(kind: Any) -> pa.DataType:
    """The Arrow type that holds every value of a msgspec type exactly.

    Raises TypeError for a type that contracts do not use."""
    match kind:
        case inspect.Metadata():
            return (kind.extra or {}).get("arrow") or arrow_type(kind.type)
        case inspect.UnionType():
            # An object holds more than a bare id.
            members = [member for member in kind.types if not isinstance(member, inspect.NoneType)]
            richest = max(members, key=lambda member: isinstance(member, inspect.StructType))
            return arrow_type(richest)
        case inspect.BoolType():
            return pa.bool_()
        case inspect.IntType():
            return pa.int64()
        case inspect.FloatType():
            return pa.float64()
        case inspect.StrType():
            return pa.string()
        case inspect.DecimalType():
            return DECIMAL
        case inspect.DateTimeType():
            return pa.timestamp("us")
        case inspect.DateType():
            return pa.date32()
        case inspect.ListType():
            return pa.list_(arrow_type(kind.item_type))
        case inspect.DictType():
            return pa.map_(arrow_type(kind.key_type), arrow_type(kind.value_type))
        case inspect.StructType():
            return pa.struct([(field.name, arrow_type(field.type)) for field in kind.fields])
    raise TypeError(f"contracts do not use {kind!r}")
