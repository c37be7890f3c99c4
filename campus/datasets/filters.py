"""Values of filters as an operator writes them, checked against the field that they are for."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation

from campus.decoding.definition import FieldDefinition
from campus.selections import Scalar, Unfit, nearest

# Those that the specification shows; its list is not complete, so that a setting adds to them.
OPERATORS = ("in", "egt", "elt", "like", "is_empty")

FilterValue = Scalar | tuple[Scalar, ...]


def filter_text(target: FieldDefinition, operator: str, value: FilterValue) -> str:
    """The text of a filter's parameter.

    Raises Unfit for a value that the field cannot have, or that the operator has no use for."""
    match operator:
        case "is_empty":
            if value not in (0, 1):
                raise Unfit("expected true or false")
            return str(int(bool(value)))
        case "like":
            if target.type in READERS and not target.guessed:
                raise Unfit(f"{target.name} is of type {target.type}, and `like` is for text")
            if not isinstance(value, str) or not value:
                raise Unfit("expected text")
            return value
        case "egt" | "elt" if isinstance(value, tuple):
            raise Unfit("expected one value, not a list")
    values = value if isinstance(value, tuple) else (value,)
    texts = [_value_text(target, one) for one in values]
    if not texts:
        raise Unfit("expected at least one value")
    if (operator == "in" or isinstance(value, tuple)) and any("," in text for text in texts):
        raise Unfit("a value with a comma in it cannot be listed")
    return ",".join(texts)


def _value_text(target: FieldDefinition, value: object) -> str:
    if target.enum:
        return _listed(target.enum, value)
    reader, expected = _reader(target)
    text = reader(value)
    if text is None:
        raise Unfit(f"{target.name} is of type {target.type}: expected {expected}")
    return text


def _reader(target: FieldDefinition) -> tuple[Callable[[object], str | None], str]:
    if target.type is None or target.type == "json" or target.guessed:
        return ANYTHING
    return READERS.get(target.type, TEXT)


def _listed(enum: Sequence[str | int], value: object) -> str:
    texts = [str(listed) for listed in enum]
    if str(value) not in texts:
        near = nearest(str(value), texts) or f"; it lists {', '.join(texts[:20])}"
        raise Unfit(f"the metadata do not list {value!r}{near}")
    return str(value)


def _integer(value: object) -> str | None:
    return str(value) if type(value) is int else None


def _decimal(value: object) -> str | None:
    try:
        number = None if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None
    return format(number, "f") if number is not None and number.is_finite() else None


def _flag(value: object) -> str | None:
    return str(int(value)) if isinstance(value, bool) else None


def _moment_in(form: str, pattern: str) -> Callable[[object], str | None]:
    def read(value: object) -> str | None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            return None
        try:
            datetime.strptime(value, form)
        except ValueError:
            return None
        return value

    return read


def _anything(value: object) -> str | None:
    return next((text for read in (_flag, _decimal, _plain) if (text := read(value)) is not None), None)


def _plain(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


# By a field's type: what makes a filter's value a parameter, and what is said where it does not fit.
READERS: Mapping[str, tuple[Callable[[object], str | None], str]] = {
    "integer": (_integer, "a whole number"),
    "decimal": (_decimal, "a number"),
    "float": (_decimal, "a number"),
    "boolean": (_flag, "true or false"),
    "date": (_moment_in("%Y-%m-%d", r"\d{4}-\d\d-\d\d"), "a date, YYYY-MM-DD"),
    "timestamp": (
        _moment_in("%Y-%m-%d %H:%M:%S", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
        "a moment, YYYY-MM-DD HH:MM:SS",
    ),
}
# A number in YAML is not what it looks like: 0012 is ten.
TEXT = (_plain, "text, in quotes where it looks like a number")
# Of what only the values tell the type, they tell it after the question is put.
ANYTHING = (_anything, "a value")
