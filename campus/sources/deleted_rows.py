"""Deleted rows: requested with the living ones, and told apart from them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campus.decoding.page import row_key
from campus.fetch.reader import Readings
from campus.fetch.rejection import unless_rejected
from campus.plan.members import TRASHED_TOO
from campus.plan.units import Unit
from campus.registry.spec import DeletedRows, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.pages import sent_rows
from campus.sources.source import ReadUnit, SourceContext

# Values of deleted_at that mean "not deleted"; 0 is false, too.
NOT_DELETED = (None, "", "-", "0", 0, "0000-00-00", "0000-00-00 00:00:00")


def with_deleted_rows(_: DeletedRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit, the deleted ones included.

    Whether deleted rows show deleted_at is not specified. Where they do not, a second read without
    with_trashed tells which rows are alive. A platform that rejects with_trashed shows living rows alone."""
    spec, capabilities = context.spec, context.client.capabilities

    def read_with_deleted(unit: Unit) -> Readings[Gathered]:
        def read_with(trashed_too: Mapping[str, str]) -> Readings[tuple[bool, Gathered]]:
            rows = yield from read(replace(unit, params={**unit.params, **trashed_too}))
            return bool(trashed_too), rows

        has_deleted, all_rows = yield from unless_rejected(capabilities, spec.path, TRASHED_TOO, read_with)
        if not has_deleted:
            return all_rows
        if not all_rows.rows or "deleted_at" in all_rows.sent:
            all_rows.trashed = [
                _is_deleted(row, extra) for row, extra in zip(all_rows.rows, all_rows.extras, strict=True)
            ]
            return all_rows
        return _joined(spec, all_rows, (yield from read(unit)))

    return read_with_deleted


def _joined(spec: ResourceSpec, all_rows: Gathered, alive: Gathered) -> Gathered:
    """The living rows, and the deleted ones: those that only the list with deleted rows shows."""
    deleted = _deleted_indexes(spec, all_rows, alive)
    return replace(
        alive,
        rows=[*alive.rows, *(all_rows.rows[index] for index in deleted)],
        extras=[*alive.extras, *(all_rows.extras[index] for index in deleted)],
        trashed=[False] * len(alive.rows) + [True] * len(deleted),
        bad=list({bad.raw: bad for bad in (*alive.bad, *all_rows.bad)}.values()),
        total=None if alive.total is None else alive.total + len(deleted),
        complete=alive.complete and all_rows.complete,
        note="; ".join(filter(None, (all_rows.note, alive.note))),
        has_unclear_repeats=alive.has_unclear_repeats or all_rows.has_unclear_repeats,
    )


def _deleted_indexes(spec: ResourceSpec, all_rows: Gathered, alive: Gathered) -> list[int]:
    """The indexes of the rows that the list of living rows lacks. Where several rows share a key, as many of
    them live as that list has: those that equal its rows, else the last ones."""
    living = Counter(row_key(row, spec.primary_key) for row in alive.rows)
    if spec.numbered is None:
        return [i for i, row in enumerate(all_rows.rows) if not living[row_key(row, spec.primary_key)]]
    living_rows, sent = set(sent_rows(alive)), sent_rows(all_rows)
    deleted = []
    for index in sorted(range(len(sent)), key=lambda i: (sent[i] in living_rows, i), reverse=True):
        key = row_key(all_rows.rows[index], spec.primary_key)
        if living[key]:
            living[key] -= 1
        else:
            deleted.append(index)
    return sorted(deleted)


def _is_deleted(row: Any, extra: str | None) -> bool:
    """Whether deleted_at says that a row was deleted, even by a date that cannot be decoded."""
    if row.deleted_at is not None or extra is None or '"deleted_at"' not in extra:
        return row.deleted_at is not None
    sent = json.loads(extra).get("deleted_at")
    return sent not in NOT_DELETED and not (isinstance(sent, str) and sent.strip() in NOT_DELETED)
