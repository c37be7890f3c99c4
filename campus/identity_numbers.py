"""National identity numbers: what their fields are called, and what the numbers themselves look like.

A number of 18 characters (GB 11643-1999) proves itself: it has a date of birth and a check digit. An old
number of 15 digits does not, and is recognised by the name of its field alone.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from operator import mul
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Stands in a text where an identity number was.
MARK = "(withheld)"
LENGTH = 18

# Folded names (see `folded`) of fields that hold identity numbers.
_CARDS = ("idcard", "identity", "identitycard", "nationalid", "nationalidcard", "citizenid", "citizenidcard")
_OTHERS = ("id", "identification", "identificationcard", "residentid", "residentidcard", "personalid")
_NUMBER = ("no", "num", "number", "code")
_NAMES = frozenset(
    (
        *(name for name in (*_CARDS, "residentid", "residentidcard") if name != "identity"),
        *(name + number for name in (*_CARDS, *_OTHERS) for number in _NUMBER),
        *("shenfenzheng", "shenfenzhenghao", "shenfenzhenghaoma", "zhengjianhao", "zhengjianhaoma"),
        *("zjh", "zjhm", "证件号", "证件号码"),
    )
) - {"idcode", "identitycode", "identificationcode"}
# How such names end, whoever's number it is: father_id_card, jzsfzh, 父亲身份证号.
_WORD_ENDINGS = frozenset(name for name in _NAMES if name.startswith(_CARDS))
_ENDINGS = (
    *("sfz", "sfzh", "sfzhm", "sfzjh", "sfzjhm", "shenfenzheng", "shenfenzhenghao", "shenfenzhenghaoma"),
    *("身份证", "身份证号", "身份证号码", "身份证件号", "身份证件号码", "身份号码"),
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# A question about the card is no number.
_QUESTION = ("是否", "有无")
_NO_LETTER = re.compile(r"[\W_]+")

# A number by itself; and in a text, where the certificate of a disability has two more digits.
_ALONE = re.compile(r"\s*([0-9]{17}[0-9Xx])\s*")
_IN_TEXT = re.compile(r"(?<![0-9])[0-9]{17}[0-9Xx](?![0-9](?![0-9](?![0-9])))")
_IN_BYTES = re.compile(_IN_TEXT.pattern.encode())
# The digits that Chinese input methods write, and the X.
_FULL_WIDTH = {0xFF10 + digit: 0x30 + digit for digit in range(10)} | {0xFF38: 0x58, 0xFF58: 0x78}
# Digits in other spellings: full width, or escaped in JSON. One pattern for both takes four times as long.
_FULL_WIDTH_DIGITS = re.compile(rb"\xef\xbc(?:[\x90-\x99]\xef\xbc){16}")
_ESCAPED_DIGIT = re.compile(rb"\\u(?:003|[fF][fF]1)[0-9]")

# A letter that is escaped in JSON: its last digits are no part of a number behind it.
_ESCAPED = re.compile(rb"\\u[0-9A-Fa-f]{4}")

# ISO 7064, MOD 11-2. The digits are the bytes of their letters.
_WEIGHTS = tuple(2**place % 11 for place in range(17, 0, -1))
_OF_ZEROS = sum(_WEIGHTS) * ord("0")
_CHECK = b"10X98765432"
_FIRST_YEAR = 1850

# Below this size (bytes) the one way of looking for digits is faster, above it the other.
_SMALL = 1 << 16
_SAME_DIGIT = bytes(0x30 if 0x30 <= byte <= 0x39 else 0 for byte in range(256))
_HIGH_HALVES, _OF_DIGITS = pa.scalar(0xF0F0F0F0, pa.uint32()), pa.scalar(0x30303030, pa.uint32())
_WORD = 4


def folded(name: str) -> str:
    """A name without case, underscores, dashes, spaces and full width, nor the number behind it."""
    return _NO_LETTER.sub("", unicodedata.normalize("NFKC", name)).casefold().rstrip("0123456789")


@lru_cache(10_000)
def is_identity_field(name: str) -> bool:
    """Whether a field of this name or label holds identity numbers: id_card, idNumber, sfzh, 身份证号."""
    short = folded(name)
    if short.startswith(_QUESTION):
        return False
    if short in _NAMES or short.endswith(_ENDINGS):
        return True
    words = [word.casefold() for word in _WORDS.findall(unicodedata.normalize("NFKC", name))]
    return any("".join(words[place:]) in _WORD_ENDINGS for place in range(1, len(words)))


def is_identity_number(text: str) -> bool:
    """Whether a text is an identity number of 18 characters, and nothing else."""
    number = _ALONE.fullmatch(text.translate(_FULL_WIDTH))
    return number is not None and _is_valid(number[1].encode())


def without_identity_numbers(text: str) -> str:
    """The text with MARK in the place of each identity number of 18 characters."""
    plain = text if text.isascii() else text.translate(_FULL_WIDTH)
    spans = [match.span() for match in _IN_TEXT.finditer(plain) if _is_valid(match[0].encode())]
    for start, end in reversed(spans):
        text = text[:start] + MARK + text[end:]
    return text


def may_hold_identity_number(text: bytes) -> bool:
    """Whether a JSON text holds an identity number of 18 characters; or digits that are escaped or in full
    width, which may be one."""
    for part in _digit_runs(text):
        plain = _ESCAPED.sub(b" ", part) if b"\\u" in part else part
        if any(_is_valid(match[0]) for match in _IN_BYTES.finditer(plain)):
            return True
    return (b"\xef" in text and _FULL_WIDTH_DIGITS.search(text) is not None) or (
        b"\\" in text and _ESCAPED_DIGIT.search(text) is not None
    )


def _digit_runs(text: bytes) -> Iterator[bytes]:
    """The parts of a text in which 17 digits in a row may be, with what stands around them."""
    if len(text) < _SMALL:
        if b"0" * (LENGTH - 1) in text.translate(_SAME_DIGIT):
            yield text
        return
    # 17 digits fill at least three words of four bytes.
    words: Any = pa.Array.from_buffers(pa.uint32(), len(text) // _WORD, [None, pa.py_buffer(text)])
    digits = pc.equal(pc.bit_wise_and(words, _HIGH_HALVES), _OF_DIGITS)
    three: Any = pc.and_(pc.and_(digits[:-2], digits[1:-1]), digits[2:])
    last = -1
    for place in pc.indices_nonzero(three).to_pylist():
        start = place * _WORD
        if start >= last:
            last = start + LENGTH
            yield text[max(0, start - LENGTH) : last + LENGTH]


def _is_valid(number: bytes) -> bool:
    """Whether 18 characters have the right check digit, and a date of birth."""
    total = sum(map(mul, _WEIGHTS, number)) - _OF_ZEROS
    if _CHECK[total % 11] != number.upper()[-1]:
        return False
    year, month, day = int(number[6:10]), int(number[10:12]), int(number[12:14])
    try:
        return year >= _FIRST_YEAR and date(year, month, day) <= date.today()
    except ValueError:
        return False
