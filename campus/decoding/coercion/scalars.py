"""Coerces one value that does not fit its column, without loss: numbers, flags, dates, timestamps.

Each function takes the JSON of a value that the decoder refused, and returns None where it does not fit."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal

import msgspec
import pyarrow as pa

from campus.contracts.fields import ANY_DASH, PLATFORM_ZONE
from campus.decoding.raw_json import JSON_ERRORS
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
