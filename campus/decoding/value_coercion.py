"""Coerces one value that does not fit its column, without loss: numbers, flags, dates, timestamps,
lists, maps; and people, whom platforms send as numbers, as text, or inside objects.

Each function takes the JSON of a value that the decoder refused, and returns None where it does not fit."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import ANY_DASH, PLATFORM_ZONE, Contract
from campus.decoding.raw_json import JSON_ERRORS, list_items, object_members
from campus.decoding.withholding import redacted

# A drift kind ("": no drift) and the JSON of the new value.
Coerced = tuple[str, bytes]
Coerce = Callable[[bytes], Coerced | None]

PLAIN_MOMENT = re.compile(rb'"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"')
BARE_DATE = re.compile(rb'"\d{4}-\d\d-\d\d"')
INTEGER = re.compile(rb"-?\d+")
DASH = re.compile(ANY_DASH)
# A number in text, as nearly every program writes it.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A number with groups of thousands. A single comma is not enough, since it may be a decimal point.
GROUPED = re.compile(r"[+-]?[0-9]{1,3}((,[0-9]{3})+\.[0-9]+|(,[0-9]{3}){2,})")
# A mark with its unit: points, credits, stars.
MARK_IN_UNITS = re.compile(r"(.+?)\s*(学?分|颗?星|points?|pts|stars?)", re.IGNORECASE)
# Digits that begin with a zero are more likely a code than an integer.
CODE = re.compile(rb'"\s*[+-]?0\d')
# The digits, signs and the space that Chinese input methods write.
FULL_WIDTH = {0xFF01 + place: 0x21 + place for place in range(94)} | {0x3000: 0x20}
# The minus sign of typesetting.
FULL_WIDTH |= {0x2212: 0x2D}
# No integer column holds more digits. The limit also keeps 1e999999999 from being written out.
MOST_DIGITS = 20
# The decoder would round a time finer than a microsecond. The pattern begins with a literal, so that large
# pages are searched at the speed of memchr.
FINER_THAN_MICROSECONDS = re.compile(rb"\.(?<=:\d\d\.)(\d{6})\d+")
# A timestamp as databases write it: a space before the zone, or a zone without its colon or its minutes.
LOOSE_ZONE = re.compile(rb'("\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?) ?([+-]\d\d):?(\d\d)?"')
# Some platforms write a date as its midnight, with or without a zone.
MIDNIGHT = re.compile(rb'"(\d{4}-\d\d-\d\d)[ T]00:00:00(?:\.0+)?(Z|[+-]\d\d:?\d\d)?"')
JSON_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
# Databases without null write these for "never".
ZERO_MOMENTS = frozenset({b'"0000-00-00 00:00:00"', b'"0000-00-00"'})
FLAGS_IN_TEXT = {
    b"false": b"false False FALSE 0 f F".split(),
    b"true": b"true True TRUE 1 t T".split(),
}
EMPTY = ("empty_text", b"null")
ZERO_DATE = ("zero_date", b"null")
NUMBERED_FLAGS = {b"0": ("number_for_flag", b"false"), b"1": ("number_for_flag", b"true")}
TEXT_FLAGS = {b'""': EMPTY} | {
    b'"%b"' % text: ("text_for_flag", flag) for flag, texts in FLAGS_IN_TEXT.items() for text in texts
}
# The dash itself goes to `_extra`. It is no drift, since the specification has dashes.
DASH_FOR_NOTHING = "dash"


def coercion_to(kind: pa.DataType) -> Coerce:
    """The coercion of one value to a column of this type."""
    if pa.types.is_integer(kind):
        return to_integer
    if pa.types.is_string(kind):
        return to_text
    if pa.types.is_boolean(kind):
        return to_flag
    if pa.types.is_date(kind):
        return to_date
    if pa.types.is_timestamp(kind):
        return to_wall_clock
    return to_null


def to_null(value: bytes) -> Coerced | None:
    """A text without content: a dash, spaces, or nothing."""
    text = _plain_text(value)
    if text == "":
        return EMPTY
    return (DASH_FOR_NOTHING, b"null") if text is not None and DASH.fullmatch(text) else None


def to_text(value: bytes) -> Coerced | None:
    """A number in place of a text."""
    return ("number_for_text", b'"%b"' % value) if _is_number(value) else None


def _is_number(value: bytes) -> bool:
    return JSON_NUMBER.fullmatch(value) is not None


def to_json_text(value: bytes) -> Coerced | None:
    """Any value as its JSON text, without withheld fields."""
    try:
        return "", msgspec.json.encode(redacted(value).decode())
    except UnicodeDecodeError:
        return None


def to_flag(value: bytes) -> Coerced | None:
    """A flag that is sent as 0 or 1, or as text."""
    return (NUMBERED_FLAGS | TEXT_FLAGS).get(value) or to_null(value)


def to_number(value: bytes, *, rate: str, in_units: bool) -> Coerced | None:
    """A number in text, in a form that the decoder refuses.

    rate: the field's `rate`, for texts such as 85%. in_units: the text may end with a unit such as points."""
    text = _plain_text(value)
    if text is None or to_null(value):
        return to_null(value)
    if rate and text.endswith("%"):
        percent = _decimal(text[:-1].rstrip())
        if percent is not None:
            return "percentage", _json_of(_hundredth(percent) if rate == "share" else percent)
    if in_units and (match := MARK_IN_UNITS.fullmatch(text)):
        points = _decimal(match[1])
        return None if points is None else ("number_with_unit", _json_of(points))
    number = _decimal(text)
    return None if number is None else ("text_for_number", _json_of(number))


def to_integer(value: bytes) -> Coerced | None:
    """An integer in text, or with decimals that are zero."""
    if _is_number(value):
        kind, number = "decimal_for_integer", _decimal(value.decode())
    else:
        text = _plain_text(value)
        if text is None or to_null(value):
            return to_null(value)
        kind, number = "text_for_number", _decimal(text)
    if (
        number is None
        or CODE.fullmatch(value)
        or number.adjusted() > MOST_DIGITS
        or number != number.to_integral_value()
    ):
        return None
    return kind, b"%d" % int(number)


def _plain_text(value: bytes) -> str | None:
    """A text without surrounding spaces, with full-width characters made half-width; None: not a text."""
    if not value.startswith(b'"'):
        return None
    try:
        return msgspec.json.decode(value, type=str).translate(FULL_WIDTH).strip()
    except JSON_ERRORS:
        return None


def _decimal(text: str) -> Decimal | None:
    """The number in a text; None for an ambiguous number or no number."""
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return Decimal(text) if NUMBER.fullmatch(text) else None


def _hundredth(number: Decimal) -> Decimal:
    """A hundredth of a number, exactly. A division would round to the context's precision."""
    sign, digits, exponent = number.as_tuple()
    return Decimal((sign, digits, int(exponent) - 2))


def _json_of(number: Decimal) -> bytes:
    """A number as JSON."""
    return str(number).encode()


def to_integer_from_text(value: bytes) -> Coerced | None:
    """An integer that the specification has as text, so the text is no drift."""
    return ("", value[1:-1]) if INTEGER.fullmatch(value[1:-1]) else to_integer(value)


def to_assumed_integer(value: bytes) -> Coerced | None:
    """An integer where the specification does not show the type; null for any other value."""
    return to_integer(value) or ("other_type", b"null")


def to_date(value: bytes) -> Coerced | None:
    """The date of a timestamp at midnight, by the timestamp's own zone or by the platform's: 16:00 UTC is the
    next day's midnight."""
    if value in ZERO_MOMENTS:
        return ZERO_DATE
    if null := to_null(value):
        return null
    if midnight := MIDNIGHT.fullmatch(value):
        return "zoned_date" if midnight[2] else "", b'"%b"' % midnight[1]
    shifted = to_wall_clock(value)
    if shifted and shifted[0] == "zoned_timestamp" and (midnight := MIDNIGHT.fullmatch(shifted[1])):
        return "zoned_date", b'"%b"' % midnight[1]
    return None


def to_wall_clock(value: bytes) -> Coerced | None:
    """A timestamp by the platform's wall clock, to microseconds. A bare date becomes its midnight."""
    if value in ZERO_MOMENTS:
        return "zero_timestamp", b"null"
    if null := to_null(value):
        return null
    if PLAIN_MOMENT.fullmatch(value):
        return None
    if BARE_DATE.fullmatch(value):
        return "", value[:-1] + b' 00:00:00"'
    exact = FINER_THAN_MICROSECONDS.sub(rb".\1", value)
    if zoned := LOOSE_ZONE.fullmatch(exact):
        exact = b'%b%b:%b"' % (zoned[1], zoned[2], zoned[3] or b"00")
    try:
        moment = msgspec.json.decode(exact, type=dt.datetime)
        if moment.tzinfo is not None:
            local = moment.astimezone(PLATFORM_ZONE).replace(tzinfo=None)
            return "zoned_timestamp", msgspec.json.encode(local)
    except (msgspec.DecodeError, UnicodeDecodeError, OverflowError):
        return None
    return ("fine_timestamp", exact) if exact != value else None


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
