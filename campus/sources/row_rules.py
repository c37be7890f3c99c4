"""Rows as the lake can take them: with what their question knows of them, and without those that cannot be
told apart or were not asked for."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any

from campus.contracts.fields import column_names
from campus.decoding.page import BadRow, Drift, Key, Page, row_key, row_keys, row_text
from campus.plan.units import Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered


def gathered_of(page: Page[Any]) -> Gathered:
    """The rows of a page that is a collection of its own; nobody has counted them."""
    alive = [False] * len(page.rows)
    return Gathered(page.rows, page.extras, alive, page.bad, page.drift, total=None)


def apply_row_rules(gathered: Gathered, spec: ResourceSpec, unit: Unit) -> Gathered:
    """Complete the rows of a question, in place, by what the question knows."""
    _leave_out_strangers(gathered, unit.belongs)
    columns = frozenset(column_names(spec.contract))
    known = {name: value for name, value in unit.known.items() if name in columns}
    for row in gathered.rows:
        for name, value in known.items():
            if getattr(row, name) is None:
                setattr(row, name, value)
        for name, sources in spec.resolved.items():
            sent = (getattr(row, source) for source in sources)
            setattr(row, name, next((value for value in sent if value is not None), None))
    _set_keyless_aside(gathered, spec)
    if spec.numbered is not None:
        _number(gathered, spec, spec.numbered)
    return gathered


def keep_only(gathered: Gathered, indexes: list[int]) -> None:
    """Drop all rows but these."""
    gathered.rows = [gathered.rows[index] for index in indexes]
    gathered.extras = [gathered.extras[index] for index in indexes]
    gathered.trashed = [gathered.trashed[index] for index in indexes]


def leave_out(gathered: Gathered, own: list[int], parameter: str) -> None:
    """Drop all rows but one's own: those that a platform sends because it ignores a parameter."""
    if strangers := len(gathered.rows) - len(own):
        keep_only(gathered, own)
        gathered.total = None
        gathered.drift[Drift("ignored_parameter", parameter)] += strangers


def _leave_out_strangers(gathered: Gathered, belongs: Mapping[str, int | date]) -> None:
    """Drop the rows that a platform sends because it ignores a parameter."""
    own = [
        index
        for index, row in enumerate(gathered.rows)
        if all(getattr(row, name) in (None, value) for name, value in belongs.items())
    ]
    leave_out(gathered, own, ", ".join(belongs))


def _number(gathered: Gathered, spec: ResourceSpec, column: str) -> None:
    """Number the rows that share the rest of their key: the newest first, and of equal ones what is alive."""

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


def _set_keyless_aside(gathered: Gathered, spec: ResourceSpec) -> None:
    """Quarantine the rows with null in a part of the key that the contract lets the question supply."""
    needed = tuple(name for name in spec.primary_key if name not in (*spec.nullable_key, spec.numbered))
    keyless = {index for index, key in enumerate(row_keys(gathered.rows, needed)) if None in key}
    if keyless:
        gathered.bad += [
            BadRow(None, "a part of the key is null", row_text(gathered.rows[index], gathered.extras[index]))
            for index in keyless
        ]
        keep_only(gathered, [index for index in range(len(gathered.rows)) if index not in keyless])
