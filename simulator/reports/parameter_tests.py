"""The filters of a report request: a test of the column's value for each parameter in `params`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

from simulator.messages import Problem
from simulator.readings import Readings
from simulator.reports.definitions import Key
from simulator.school.rows import Values

Predicate = Callable[[Any], bool]


def tests_of(readings: Readings, parameters: Iterable[Values], text: str | None) -> dict[str, Predicate]:
    """The tests by parameter name; 422 for parameters or values that this platform refuses."""
    by_name = {parameter["name"]: parameter for parameter in parameters}
    given = _decoded(text)
    unknown = sorted(given.keys() - by_name.keys())
    if unknown and readings.report_names == "422":
        raise Problem(422, f"params: the report has no parameter {', '.join(unknown)}")
    tests = {name: _test(readings, parameter, given.get(name)) for name, parameter in by_name.items()}
    return {name: test for name, test in tests.items() if test}


def _decoded(text: str | None) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Problem(422, f"params must be a JSON object: {error}") from error


def _test(readings: Readings, parameter: Values, value: Any) -> Predicate | None:
    """The test for a parameter's value, or for its default; None without either."""
    if not _is_nothing(value):
        return _test_of(readings, parameter, value)
    default = parameter["default_value"]
    if readings.report_defaults == "applied" and not _is_nothing(default):
        return _test_of(AS_DEFAULTS_ARE, parameter, default)
    if parameter["required"] and readings.report_missing == "422":
        raise Problem(422, f"params: {parameter['name']} ({parameter['label']}) is required")
    return None


# A default consists of strings, whatever the option keys and the format of dates.
AS_DEFAULTS_ARE = Readings(report_keys="text", report_date_range="array", report_options="empty")


def _test_of(readings: Readings, parameter: Values, value: Any) -> Predicate | None:
    if parameter["type"] == "date-range":
        return _between(parameter["name"], *_dates(readings, parameter["name"], value))
    if parameter["type"] == "multi-select":
        if not isinstance(value, list):
            raise Problem(422, f"params: {parameter['name']} must be an array of option keys")
        return _chosen(readings, parameter, value)
    if not isinstance(value, str | int | float):
        raise Problem(422, f"params: {parameter['name']} must be one value")
    if parameter["type"] == "select":
        return _chosen(readings, parameter, [value])
    return lambda cell: cell is not None and str(value) in str(cell)


def _is_nothing(value: Any) -> bool:
    return value is None or value == "" or value == []


def _chosen(readings: Readings, parameter: Values, values: Sequence[Any]) -> Predicate | None:
    keys: list[Key] = [option["key"] for option in parameter["options"] or ()]
    chosen = [key for key in keys if any(_same(readings, key, value) for value in values)]
    unknown = [value for value in values if not any(_same(readings, key, value) for key in keys)]
    if unknown and readings.report_options == "422":
        raise Problem(422, f"params: {parameter['name']} has no option {unknown[0]!r}")
    if unknown and not chosen and readings.report_options == "ignored":
        return None
    return lambda cell: cell in chosen


def _same(readings: Readings, key: Key, value: Any) -> bool:
    comparable = readings.report_keys == "text" or type(key) is type(value)
    return comparable and str(key) == str(value)


def _dates(readings: Readings, name: str, value: Any) -> tuple[str, str]:
    """The two dates of a range, in the form that this platform takes."""
    form = readings.report_date_range
    dates: Any = value if form == "array" else None
    if form == "text" and isinstance(value, str):
        dates = value.split(",")
    if form == "object" and isinstance(value, dict):
        dates = [value.get("start"), value.get("end")]
    if not (isinstance(dates, list) and len(dates) == 2 and all(map(_is_date, dates))):
        raise Problem(422, f"params: {name} must be {FORMS[form]}")
    return dates[0], dates[1]


FORMS = {
    "array": "an array of two dates YYYY-MM-DD",
    "text": "two dates YYYY-MM-DD with a comma between them",
    "object": "an object of start and end, each YYYY-MM-DD",
}


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _between(name: str, first: str, last: str) -> Predicate:
    if first > last:
        raise Problem(422, f"params: {name} ends before it begins")
    return lambda cell: isinstance(cell, str) and first <= cell <= last
