"""Rules that prepare rows for the lake: fill in the columns that the request fixes, drop rows that were not
requested, quarantine rows without a key, and number rows that share a key."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from operator import attrgetter
from typing import Any

from campus.account import BadRow, Drift, Key
from campus.contracts.fields import column_names
from campus.decoding.page import Page, row_key, row_text
from campus.plan.units import Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered


def gathered_of(page: Page[Any]) -> Gathered:
    """The rows of a page that is a collection of its own, without a count."""
    alive = [False] * len(page.rows)
    return Gathered(page.rows, page.extras, alive, page.bad, page.drift, total=None)


def apply_row_rules(gathered: Gathered, spec: ResourceSpec, unit: Unit) -> Gathered:
    """Apply all rules to the rows of one unit, in place."""
    _keep_expected(gathered, unit.expected)
    for name in unit.defaults.keys() & column_names(spec.contract):
        for row in gathered.rows:
            if getattr(row, name) is None:
                setattr(row, name, unit.defaults[name])
    for name, sources in spec.resolved.items():
        for row in gathered.rows:
            sent = (getattr(row, source) for source in sources)
            setattr(row, name, next((value for value in sent if value is not None), None))
    _quarantine_keyless(gathered, spec)
    if spec.numbered is not None:
        _number(gathered, spec, spec.numbered)
    return gathered


def keep_only(gathered: Gathered, indexes: list[int]) -> None:
    """Drop all rows but these."""
    gathered.rows = [gathered.rows[index] for index in indexes]
    gathered.extras = [gathered.extras[index] for index in indexes]
    gathered.trashed = [gathered.trashed[index] for index in indexes]


def keep_requested(gathered: Gathered, requested: list[int], parameter: str) -> None:
    """Drop all rows but these, and note how many the platform sent because it ignores a parameter."""
    if excess := len(gathered.rows) - len(requested):
        keep_only(gathered, requested)
        gathered.total = None
        gathered.drift[Drift("ignored_parameter", parameter)] += excess


def _keep_expected(gathered: Gathered, expected: Mapping[str, int | date]) -> None:
    allowed = {name: {None, value} for name, value in expected.items()}
    if all(values.issuperset(map(attrgetter(name), gathered.rows)) for name, values in allowed.items()):
        return
    requested = [
        index
        for index, row in enumerate(gathered.rows)
        if all(getattr(row, name) in values for name, values in allowed.items())
    ]
    keep_requested(gathered, requested, ", ".join(expected))


def _number(gathered: Gathered, spec: ResourceSpec, column: str) -> None:
    """Number the rows that share the rest of their key: newest first, and of equally new rows the living."""

    def age(index: int) -> tuple[Any, ...]:
        values = [getattr(gathered.rows[index], name) for name in spec.ordered_by]
        first, *rest = ((value is not None, value) for value in values)
        return first, not gathered.trashed[index], *rest, index

    seen: Counter[Key] = Counter()
    shared = tuple(name for name in spec.primary_key if name != column)
    for index in sorted(range(len(gathered.rows)), key=age, reverse=True):
        row = gathered.rows[index]
        key = row_key(row, shared)
        seen[key] += 1
        setattr(row, column, seen[key])


def _quarantine_keyless(gathered: Gathered, spec: ResourceSpec) -> None:
    """Quarantine the rows with null in the key: the contract allows null in a part that the request fills."""
    needed = tuple(name for name in spec.primary_key if name not in (*spec.nullable_key, spec.numbered))
    keyless = {
        index for name in needed for index, row in enumerate(gathered.rows) if getattr(row, name) is None
    }
    if keyless:
        gathered.bad += [
            BadRow(None, "a part of the key is null", row_text(gathered.rows[index], gathered.extras[index]))
            for index in keyless
        ]
        keep_only(gathered, [index for index in range(len(gathered.rows)) if index not in keyless])
