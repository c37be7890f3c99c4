"""Translates the platforms' words for the type of a field."""

import re
import unicodedata
from dataclasses import dataclass

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
