"""Parses the definition of a dataset or of a report query from its metadata, in its own words for types."""

import dataclasses
import datetime as dt
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from campus.account import Drift
from campus.contracts.fields import Flag, Float, Int, Number, Text, WallClock
from campus.http.errors import UnexpectedAnswer
from campus.identity_numbers import is_identity_field

# The words for each type, in lower case, without blanks, lengths and modifiers.
_WORDS = {
    "integer": """
        int integer bigint smallint tinyint mediumint hugeint bigbigint int2 int4 int8 int16 int32 int64 uint
        uint8 uint16 uint32 uint64 long longint longinteger short ushort ulong byte sbyte ubyte smallinteger
        biginteger tinyinteger mediuminteger positiveinteger positivesmallinteger positivebiginteger serial
        bigserial smallserial serial2 serial4 serial8 bigauto smallauto year
    """,
    "number": "number",
    "decimal": """
        decimal numeric dec fixed bigdecimal bignumeric decimal32 decimal64 decimal128 decimal256 money
        smallmoney currency
    """,
    "float": """
        float double real single half float4 float8 float16 float32 float64 binaryfloat binarydouble
    """,
    "text": """
        string str text varchar varchar2 nvarchar nvarchar2 char nchar bpchar character longvarchar longchar
        tinytext mediumtext longtext ntext clob nclob citext memo uuid guid uniqueidentifier objectid email
        url uri phone slug html richtext markdown xml keyword fixedstring time timetz timeofday localtime
    """,
    "enum": "enum enum8 enum16 enumeration enumerated",
    "date": "date date32 localdate dateonly calendardate",
    "timestamp": """
        timestamp timestamptz timestampltz timestampntz datetime datetime2 datetime64 datetimetz smalldatetime
        datetimeoffset localdatetime offsetdatetime zoneddatetime instant
    """,
    "boolean": "boolean bool flag logical yesno truefalse",
    # Values of any shape, stored as JSON. A file is a link, an object, or a list of links or objects.
    "json": """
        json jsonb object array list map dict dictionary hashmap struct record tuple set multiset
        collection hstore variant super any mixed multiselect attachment attachments file files image images
    """,
}
_MEANINGS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
# The words around a type, as in Nullable(Int64) or Optional[int].
_WRAPPED = re.compile(r"(?:nullable|optional|option|maybe|lowcardinality)\s*[(<\[](.*)[)>\]]")
_PARTS = re.compile(r"([^(<\[]*)(?:[(<\[]([^)>\]]*)[)>\]])?(.*)", re.DOTALL)
_ARRAY = re.compile(r"\[\s*\]|\b(?:array|list|set)\s*[(<\[]|\barray$")
_IN_ZONE = re.compile(r"\bwith(?:out)?(?: local)? time ?zone\b")
# The clauses of a database's column after its type.
_AFTERWARDS = re.compile(
    r"\b(?:collate|character set|charset|default|comment|references|check)\b.*", re.DOTALL
)
_MODIFIERS = re.compile(
    r"unsigned|signed|zerofill|national|varying|precision|not|null|nullable|primary|key|unique|auto|increment"
    r"|autoincrement|identity"
)
_NOTHING = frozenset({"null", "none", "nil", "undefined"})
_SUFFIXES = ("field", "type", "column")
# An integer of so many digits fits 64 bits.
_DIGITS = 18


@dataclass(frozen=True)
class Meaning:
    """The meaning of a word."""

    # A key of `definition.TYPES`; None: the word does not show it.
    kind: str | None
    # Where the word itself gives them.
    precision: int | None = None
    scale: int | None = None


def meaning_of(word: str | None, precision: int | None = None, scale: int | None = None) -> Meaning:
    """Translate a platform's word for a type, in any case, with or without lengths: `BIGINT(20) UNSIGNED`,
    `varchar(255)`, `java.lang.Long`, `integer|null`. precision, scale: of the metadata, beside the word.

    Only the values show the meaning of some words: `tinyint(1)` may be a number or a flag."""
    plain = unicodedata.normalize("NFKC", word or "").casefold()
    meaning = _meaning(re.sub(r"[\s_]+", " ", plain).strip())
    if meaning.kind not in ("decimal", "number"):
        return meaning
    if precision is None and scale is None:
        precision, scale = meaning.precision, meaning.scale
    if meaning.kind == "number" and scale == 0 and (precision or 0) <= _DIGITS:
        return Meaning("integer")
    return Meaning("decimal", precision, scale)


def _meaning(word: str) -> Meaning:
    members = [part.strip() for part in word.split("|")]
    members = [part for part in members if part not in _NOTHING]
    if len(members) != 1:
        return Meaning(None)
    word = members[0].strip("?! ")
    if wrapped := _WRAPPED.fullmatch(word):
        return _meaning(wrapped[1].strip())
    if _ARRAY.search(word):
        return Meaning("json")
    matched = _PARTS.fullmatch(_IN_ZONE.sub("", _AFTERWARDS.sub("", word)))
    assert matched is not None
    before, inside, after = matched.groups()
    name = _name(f"{before} {after}")
    lengths = [_length(part) for part in inside.split(",")] if inside else []
    if (name == "tinyint" and lengths == [1]) or (name == "bit" and lengths not in ([], [1])):
        return Meaning(None)
    if name == "bit":
        return Meaning("boolean")
    return Meaning(_MEANINGS.get(name), *lengths[:2])


def _length(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\s*[0-9]{1,9}\s*", text) else None


def _name(words: str) -> str:
    """The bare name of a type: `unsigned big int` is bigint, `java.time.LocalDate` localdate, `CharField`
    char."""
    last = re.split(r"[.:/\\]", words.strip())[-1]
    tokens = [token for token in re.split(r"[ \-]+", last) if not _MODIFIERS.fullmatch(token)]
    name = "".join(tokens)
    for suffix in _SUFFIXES:
        if name not in _MEANINGS and name.removesuffix(suffix) in _MEANINGS:
            return name.removesuffix(suffix)
    return name


# The field by which a dataset is read incrementally.
UPDATED_AT = "updated_at"
# The types of columns; `campus.decoding.definition` has the platforms' words for each type.
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
