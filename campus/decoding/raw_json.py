"""Splits a JSON text into its parts as they were sent, even where the fast decoder refuses the text."""

import json
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

from campus.http.errors import ASK_OPERATOR, TOO_DEEP, TornBody, UnexpectedAnswer
from campus.identity_numbers import without_identity_numbers

# What the decoder raises for a value that does not fit, for invalid UTF-8, and for half a surrogate pair.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def raw_rows(body: bytes) -> Sequence[bytes | Raw]:
    """The rows of a JSON array as they were sent; null has none.

    Raises TornBody where the body is not JSON, UnexpectedAnswer where it is not an array."""
    try:
        return _RAW_ROWS.decode(body) or ()
    except RecursionError:
        raise UnexpectedAnswer(TOO_DEEP, ASK_OPERATOR) from None
    except msgspec.ValidationError as error:
        if not _is_json(body):
            raise TornBody("it is no list, and ends too soon") from error
        raise UnexpectedAnswer(f"expected a list of rows, got {_kind_of(body)}.") from error
    except msgspec.DecodeError as error:
        rows = _parts_of_odd_text(body, list)
        if rows is None:
            raise TornBody(str(error)) from error
        return rows


def raw_members(body: bytes) -> Mapping[str, bytes | Raw]:
    """The members of a JSON object as they were sent; null and an empty list have none.

    Raises TornBody where the body is not JSON, UnexpectedAnswer where it is not an object."""
    body = body.strip()
    try:
        return {} if body in (b"null", b"[]") else _MEMBERS.decode(body)
    except RecursionError:
        raise UnexpectedAnswer(TOO_DEEP, ASK_OPERATOR) from None
    except msgspec.ValidationError as error:
        raise UnexpectedAnswer(f"expected an object: {error}.") from error
    except msgspec.DecodeError as error:
        parts = _parts_of_odd_text(body, dict)
        if parts is None:
            raise TornBody(str(error)) from error
        return dict(zip(map(json.loads, parts[::2]), parts[1::2], strict=True))


def sent_members(row: bytes) -> dict[str, Raw]:
    """The members of a row as they were sent, also members that are not JSON, such as NaN."""
    try:
        return _MEMBERS.decode(row)
    except msgspec.ValidationError:
        raise
    except JSON_ERRORS:
        parts = _parts_of_odd_text(row, dict)
        if parts is None:
            raise
        return {json.loads(name): Raw(value) for name, value in zip(parts[::2], parts[1::2], strict=True)}


def first_names(body: bytes) -> frozenset[str]:
    """The field names of the first row of a list. Only its beginning is parsed, unless the row is long.

    Raises one of JSON_ERRORS where the row is not plain JSON."""
    beginning = body[:_BEGINNING].decode(errors="ignore")
    try:
        row, _ = _SCANNER.raw_decode(beginning, beginning.index("{"))
    except ValueError:
        row = _MEMBERS.decode(raw_rows(body)[0])
    return frozenset(row)


def object_members(value: bytes | Raw) -> dict[str, Raw] | None:
    """The members of an object as they were sent; None for anything else."""
    try:
        return _MEMBERS.decode(value)
    except JSON_ERRORS:
        return None


def list_items(value: bytes) -> list[bytes] | None:
    """The items of a list as they were sent; None for anything else."""
    try:
        return [bytes(item) for item in _LIST.decode(value)]
    except JSON_ERRORS:
        return None


def as_json(value: bytes | Raw) -> bytes:
    """A value as it was sent where it is JSON; any other value as a JSON text."""
    text = bytes(value)
    try:
        text.decode()
        _LIST.decode(b"[%b]" % text)
    except JSON_ERRORS:
        return msgspec.json.encode(text.decode(errors="backslashreplace"))
    return text


def _is_json(body: bytes) -> bool:
    """Whether a body is complete JSON, even with texts that the fast decoder refuses."""
    try:
        json.loads(body)
    except ValueError:
        return False
    except RecursionError:
        # JSON as far as it was read.
        pass
    return True


def _kind_of(body: bytes) -> str:
    """The kind of an answer for a message, which shows no values."""
    try:
        names = ", ".join(list(_MEMBERS.decode(body))[:5])
        return f"an object with {without_identity_numbers(names) or 'nothing in it'}"
    except JSON_ERRORS:
        return "something else"


def _parts_of_odd_text(body: bytes, shape: type) -> list[bytes] | None:
    """The rows of an array, or the names and values of an object in turn; None where the text is not JSON of
    this shape. The fast decoder refuses a body with half a surrogate pair or a NaN in it."""
    try:
        # Invalid UTF-8 stays as it is.
        text = body.decode(errors="surrogateescape")
        if not isinstance(json.loads(text), shape):
            return None
    except (ValueError, RecursionError):
        return None
    parts = []
    begin = _after_gap(text, _after_gap(text, 0) + 1)
    while text[begin] not in "]}":
        _, end = _SCANNER.raw_decode(text, begin)
        parts.append(text[begin:end].encode(errors="surrogateescape"))
        begin = _after_gap(text, end)
    return parts


def _after_gap(text: str, position: int) -> int:
    while text[position] in " \t\r\n,:":
        position += 1
    return position


_BEGINNING = 1 << 14  # bytes
_RAW_ROWS = msgspec.json.Decoder(list[Raw] | None)
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_SCANNER = json.JSONDecoder()
_LIST = msgspec.json.Decoder(list[Raw])
