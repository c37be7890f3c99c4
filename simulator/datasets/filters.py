"""The dynamic filters of dataset records, {field}_{operator}."""

from collections.abc import Callable, Mapping
from typing import Any

from simulator.messages import Problem, decimal_of, parse_flag, parse_integer, parse_moment
from simulator.school.rows import TIME_FORMAT

SEEN = ("in", "egt", "elt", "like", "is_empty")  # in the specification
MORE = ("not_in", "gt", "lt", "eq", "neq")

Predicate = Callable[[Any], bool]


def split(parameter: str, operators: tuple[str, ...]) -> tuple[str, str]:
    """The field and the operator of a parameter, by the longest matching operator; ("", "") without one."""
    fitting = [operator for operator in operators if parameter.endswith(f"_{operator}")]
    operator = max(fitting, key=len, default="")
    return (parameter.removesuffix(f"_{operator}"), operator) if operator else ("", "")


def predicate(parameter: str, operator: str, type_: str, text: str) -> Predicate:
    """The test of a field's value; 422 for text that is no value of the field's type."""
    if operator == "is_empty":
        is_empty = parse_flag(parameter, text)
        return lambda value: (value is None or value == "") is is_empty
    if operator == "like":
        return lambda value: isinstance(value, str | int) and text in str(value)
    if operator in ("in", "not_in"):
        listed = {_parsed(parameter, type_, part) for part in text.split(",") if part}
        return lambda value: (_comparable(type_, value) in listed) is (operator == "in")
    bound = _parsed(parameter, type_, text)
    holds = COMPARISONS[operator]
    return lambda value: (comparable := _comparable(type_, value)) is not None and holds(comparable, bound)


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "egt": lambda value, bound: bool(value >= bound),
    "elt": lambda value, bound: bool(value <= bound),
    "gt": lambda value, bound: bool(value > bound),
    "lt": lambda value, bound: bool(value < bound),
    "eq": lambda value, bound: bool(value == bound),
    "neq": lambda value, bound: bool(value != bound),
}


def _parsed(parameter: str, type_: str, text: str) -> Any:
    """The text of a parameter as a value to compare with values of a field."""
    if type_ == "integer":
        return parse_integer(parameter, text)
    if type_ == "boolean":
        return parse_flag(parameter, text)
    if type_ == "decimal":
        number = decimal_of(text)
        if number is None:
            raise Problem(422, f"{parameter} must be a number, not {text[:40]!r}")
        return number
    if type_ in ("date", "timestamp"):
        return parse_moment(parameter, text).strftime(TIME_FORMAT if type_ == "timestamp" else "%Y-%m-%d")
    return text


def _comparable(type_: str, value: Any) -> Any:
    """A row's value in comparable form; None for null and for invalid values of tests."""
    if type_ in ("integer", "boolean"):
        return value if type(value) is (int if type_ == "integer" else bool) else None
    if type_ == "decimal":
        return decimal_of(value)
    return str(value) if isinstance(value, str | int) else None
