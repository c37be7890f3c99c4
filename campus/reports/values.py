"""Checks parameter values of campus.yaml against a report, and writes them in the platform's form."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from campus.reports.metadata import Parameter
from campus.reports.selection import DateRanges, ParameterValue, as_text
from campus.selections import InvalidSelection, Scalar, nearest

_MOST_LISTED = 20
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def encode_value(parameter: Parameter, value: ParameterValue, date_ranges: DateRanges) -> Any:
    """Write a value in the platform's form: an option by its key, as the platform spells the key.

    A parameter of unknown type takes any value. Raises InvalidSelection for a value that does not fit."""
    kind = parameter.type
    if kind == "date-range":
        return _date_range(value, date_ranges)
    if kind == "multi-select":
        values = value if isinstance(value, tuple) else (value,)
        if not values:
            raise InvalidSelection(f"expected at least one value{choices(parameter)}")
        return [_key(parameter, item) for item in values]
    if isinstance(value, tuple):
        if kind in ("input", "select"):
            raise InvalidSelection("expected one value, not a list")
        return list(value)
    if kind == "input" and isinstance(value, bool):
        raise InvalidSelection("expected text or a number")
    return _key(parameter, value) if kind == "select" else value


def choices(parameter: Parameter) -> str:
    """The options of a parameter, to end a sentence with."""
    options = [with_label(as_text(option.key), option.label) for option in parameter.options]
    return f"; choose from {listing(options)}" if options else ""


def with_label(name: str, label: str | None) -> str:
    """A name with its label in brackets, where the label differs."""
    return f"{name} ({label})" if label and label != name else name


def listing(texts: Iterable[str]) -> str:
    """List the first texts, and count the rest."""
    items = list(texts)
    rest = len(items) - _MOST_LISTED
    return ", ".join(items[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _key(parameter: Parameter, value: Scalar) -> Scalar:
    """The key of the selected option; any value where the platform lists no options."""
    if not parameter.options:
        return value
    text = as_text(value)
    for option in parameter.options:
        if as_text(option.key) == text:
            return option.key
    for option in parameter.options:
        if option.label == text:
            raise InvalidSelection(f"{text!r} is the label of an option; its key is {option.key!r}")
    keys = [as_text(option.key) for option in parameter.options]
    raise InvalidSelection(f"there is no option {text!r}{nearest(text, keys)}{choices(parameter)}")


def _date_range(value: ParameterValue, date_ranges: DateRanges) -> Any:
    match value:
        case (str(first), str(last)) if _is_date(first) and _is_date(last):
            if first > last:
                raise InvalidSelection(f"the first day, {first}, is after the last, {last}")
        case _:
            raise InvalidSelection("expected two dates, the first and the last day, as YYYY-MM-DD")
    match date_ranges:
        case "array":
            return [first, last]
        case "text":
            return f"{first},{last}"
        case "object":
            return {"start": first, "end": last}


def _is_date(text: str) -> bool:
    try:
        return bool(_ISO_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False
