"""The filters of lists: predicates on rows from parameters."""

from collections.abc import Callable
from typing import Any

from simulator.messages import Problem, decimal_of, parse_flag, parse_integer, parse_integers, parse_moment
from simulator.school.rows import TIME_FORMAT, Row

Predicate = Callable[[Row], bool]
Filter = Callable[[str, str], Predicate]  # of a parameter's name and text; Problem for invalid text


def equal(field_name: str, number: bool = False) -> Filter:
    """The field is exactly this."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_integer(name, text) if number else text
        return lambda row: bool(row.values.get(field_name) == wanted)

    return make


def is_id(name: str, text: str) -> Predicate:
    """The id is one of these."""
    wanted = set(parse_integers(name, text))
    return lambda row: row.key in wanted


def one_of(field_name: str, number: bool = False) -> Filter:
    """The field is one of these, separated by commas."""

    def make(name: str, text: str) -> Predicate:
        wanted: list[Any] = parse_integers(name, text) if number else text.split(",")
        return lambda row: row.values.get(field_name) in wanted

    return make


def like(*field_names: str) -> Filter:
    """One of the fields contains this text."""
    return lambda name, text: lambda row: any(text in str(row.values.get(f) or "") for f in field_names)


def has(field_name: str) -> Filter:
    """The field is a list with this integer in it."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_integer(name, text)
        return lambda row: isinstance(ids := row.values.get(field_name), list) and wanted in ids

    return make


def flagged(field_name: str) -> Filter:
    """The field is this boolean."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_flag(name, text)
        return lambda row: row.values.get(field_name) is wanted

    return make


def is_empty(field_name: str) -> Filter:
    """The field is null, or is not, as the flag says."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_flag(name, text)
        return lambda row: (row.values.get(field_name) is None) is wanted

    return make


def bounded(field_name: str, *, least: bool) -> Filter:
    """The field, a decimal carried in a string, is at least or at most this; rows without one stay out."""

    def make(name: str, text: str) -> Predicate:
        bound = decimal_of(text)
        if bound is None:
            raise Problem(422, f"{name} must be a number, not {text[:40]!r}")

        def holds(row: Row) -> bool:
            value = decimal_of(row.values.get(field_name))
            return value is not None and (value >= bound if least else value <= bound)

        return holds

    return make


def updated_since(name: str, text: str) -> Predicate:
    """Changed at this moment or later; deletion is a change."""
    moment = parse_moment(name, text).strftime(TIME_FORMAT)
    return lambda row: row.updated_at >= moment
