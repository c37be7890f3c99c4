"""Checks filters of campus.yaml against the fields of a dataset, and writes them as parameters."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation

from campus.decoding.definition import FieldDefinition
from campus.selections import InvalidSelection, Scalar, nearest

# The operators that the specification shows. Its list is not complete, so a setting adds to it.
OPERATORS = ("in", "egt", "elt", "like", "is_empty")

FilterValue = Scalar | tuple[Scalar, ...]


def filter_text(field: FieldDefinition, operator: str, value: FilterValue) -> str:
    """Write the value of a filter as the text of its parameter.

    Raises InvalidSelection where the value does not fit the field or the operator."""
    match operator:
        case "is_empty":
            if value not in (0, 1):
                raise InvalidSelection("expected true or false")
            return str(int(bool(value)))
        case "like":
            if field.type in FORMATS and not field.guessed:
                raise InvalidSelection(f"{field.name} is of type {field.type}, and `like` is for text")
            if not isinstance(value, str) or not value:
                raise InvalidSelection("expected text")
            return value
        case "egt" | "elt" if isinstance(value, tuple):
            raise InvalidSelection("expected one value, not a list")
    values = value if isinstance(value, tuple) else (value,)
    texts = [_value_text(field, item) for item in values]
    if not texts:
        raise InvalidSelection("expected at least one value")
    if (operator == "in" or isinstance(value, tuple)) and any("," in text for text in texts):
        raise InvalidSelection("a value with a comma in it cannot be listed")
    return ",".join(texts)


def _value_text(field: FieldDefinition, value: object) -> str:
    if field.enum:
        texts = [str(listed) for listed in field.enum]
        if str(value) not in texts:
            near = nearest(str(value), texts) or f"; it lists {', '.join(texts[:20])}"
            raise InvalidSelection(f"the metadata do not list {value!r}{near}")
        return str(value)
    is_open = field.type is None or field.type == "json" or field.guessed
    write, expected = ANY if is_open else FORMATS.get(field.type or "", TEXT)
    text = write(value)
    if text is None:
        raise InvalidSelection(f"{field.name} is of type {field.type}: expected {expected}")
    return text


def _integer_text(value: object) -> str | None:
    return str(value) if type(value) is int else None


def _decimal_text(value: object) -> str | None:
    try:
        number = None if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None
    return format(number, "f") if number is not None and number.is_finite() else None


def _flag_text(value: object) -> str | None:
    return str(int(value)) if isinstance(value, bool) else None


def _time_text(form: str, pattern: str) -> Callable[[object], str | None]:
    def write(value: object) -> str | None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            return None
        try:
            datetime.strptime(value, form)
        except ValueError:
            return None
        return value

    return write


def _plain_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _any_text(value: object) -> str | None:
    writers = (_flag_text, _decimal_text, _plain_text)
    return next((text for write in writers if (text := write(value)) is not None), None)


# By the type of a field: a function that writes a value as a parameter (None: it does not fit), and the
# values that fit, in words.
FORMATS: Mapping[str, tuple[Callable[[object], str | None], str]] = {
    "integer": (_integer_text, "a whole number"),
    "decimal": (_decimal_text, "a number"),
    "float": (_decimal_text, "a number"),
    "boolean": (_flag_text, "true or false"),
    "date": (_time_text("%Y-%m-%d", r"\d{4}-\d\d-\d\d"), "a date, YYYY-MM-DD"),
    "timestamp": (
        _time_text("%Y-%m-%d %H:%M:%S", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
        "a moment, YYYY-MM-DD HH:MM:SS",
    ),
}
# Of a field whose values show its type: they come after the filter is sent.
ANY: tuple[Callable[[object], str | None], str] = (_any_text, "a value")
# YAML reads 0012 as ten.
TEXT = (_plain_text, "text, in quotes where it looks like a number")
