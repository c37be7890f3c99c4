"""Values of parameters as an operator writes them, checked and put into the form that the platform takes."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from campus.reports.metadata import Parameter
from campus.reports.selection import DateRanges, ParameterValue, spelt
from campus.selections import Scalar, Unfit, nearest

# A message that lists more is read by nobody.
_MOST_SHOWN = 20
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def sent_value(parameter: Parameter, value: ParameterValue, date_ranges: DateRanges) -> Any:
    """A value in the form that the platform takes: of an option, the key as the platform spells it.

    Raises Unfit for one that the parameter cannot have. One of an unknown type may have any."""
    kind = parameter.type
    if kind == "date-range":
        return _date_range(value, date_ranges)
    if kind == "multi-select":
        values = value if isinstance(value, tuple) else (value,)
        if not values:
            raise Unfit(f"expected at least one value{choice(parameter)}")
        return [_key(parameter, one) for one in values]
    if isinstance(value, tuple):
        if kind in ("input", "select"):
            raise Unfit("expected one value, not a list")
        return list(value)
    if kind == "input" and isinstance(value, bool):
        raise Unfit("expected text or a number")
    return _key(parameter, value) if kind == "select" else value


def choice(parameter: Parameter) -> str:
    """The end of a sentence: what there is to choose from."""
    options = [labelled(spelt(option.key), option.label) for option in parameter.options]
    return f"; choose from {listed(options)}" if options else ""


def labelled(name: str, label: str | None) -> str:
    """A name with what people call it."""
    return f"{name} ({label})" if label and label != name else name


def listed(texts: Iterable[str]) -> str:
    """Texts one after the other, the first of them where there are many."""
    shown = list(texts)
    more = len(shown) - _MOST_SHOWN
    return ", ".join(shown[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _key(parameter: Parameter, value: Scalar) -> Scalar:
    """The key of the option that is meant; any value where the platform lists no options."""
    if not parameter.options:
        return value
    text = spelt(value)
    for option in parameter.options:
        if spelt(option.key) == text:
            return option.key
    for option in parameter.options:
        if option.label == text:
            raise Unfit(f"{text!r} is the label of an option; its key is {option.key!r}")
    keys = [spelt(option.key) for option in parameter.options]
    raise Unfit(f"there is no option {text!r}{nearest(text, keys)}{choice(parameter)}")


def _date_range(value: ParameterValue, date_ranges: DateRanges) -> Any:
    match value:
        case (str(first), str(last)) if _is_date(first) and _is_date(last):
            if first > last:
                raise Unfit(f"the first day, {first}, is after the last, {last}")
        case _:
            raise Unfit("expected two dates, the first and the last day, as YYYY-MM-DD")
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
