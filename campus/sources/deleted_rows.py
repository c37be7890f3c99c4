"""Deleted rows: read with the others, and told apart from them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campus.decoding.page import row_key
from campus.fetch.rejection import unless_rejected
from campus.plan.members import TRASHED_TOO
from campus.plan.units import Unit
from campus.registry.spec import DeletedRows, ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.pages import sent_rows
from campus.sources.source import ReadUnit, SourceContext

# What stands for "not deleted", beside null; 0 is false, too.
NEVER = (None, "", "-", "0", 0, "0000-00-00", "0000-00-00 00:00:00")


def with_deleted_rows(_: DeletedRows, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit with the deleted ones among them.

    Whether such rows show deleted_at is not specified. Where they do not, a second read without with_trashed
    tells which are alive. A platform that rejects with_trashed shows the living alone."""
    spec = context.spec

    async def read_with_deleted(unit: Unit) -> Gathered:
        async def read_with(trashed_too: Mapping[str, str]) -> tuple[bool, Gathered]:
            return bool(trashed_too), await read(replace(unit, params={**unit.params, **trashed_too}))

        has_deleted, everything = await unless_rejected(
            context.client.capabilities, spec.path, TRASHED_TOO, read_with
        )
        if not has_deleted:
            return everything
        if not everything.rows or "deleted_at" in everything.sent:
            everything.trashed = [
                _is_deleted(row, extra) for row, extra in zip(everything.rows, everything.extras, strict=True)
            ]
            return everything
        return _joined(spec, everything, await read(unit))

    return read_with_deleted


def _joined(spec: ResourceSpec, everything: Gathered, alive: Gathered) -> Gathered:
    """The rows that are alive, and those that are only to be seen among all."""
    gone = _without_the_living(spec, everything, alive)
    return replace(
        alive,
        rows=[*alive.rows, *(everything.rows[index] for index in gone)],
        extras=[*alive.extras, *(everything.extras[index] for index in gone)],
        trashed=[False] * len(alive.rows) + [True] * len(gone),
        bad=list({bad.raw: bad for bad in (*alive.bad, *everything.bad)}.values()),
        total=None if alive.total is None else alive.total + len(gone),
        complete=alive.complete and everything.complete,
        note="; ".join(filter(None, (everything.note, alive.note))),
    )


def _without_the_living(spec: ResourceSpec, everything: Gathered, alive: Gathered) -> list[int]:
    """The places of the rows that are only to be seen among all. Of several rows of one key so many live as
    are shown alive: those that look like these, else the last ones."""
    keys = Counter(row_key(row, spec.primary_key) for row in alive.rows)
    if spec.numbered is None:
        return [i for i, row in enumerate(everything.rows) if not keys[row_key(row, spec.primary_key)]]
    shown, sent = set(sent_rows(alive)), sent_rows(everything)
    gone = []
    for index in sorted(range(len(sent)), key=lambda i: (sent[i] in shown, i), reverse=True):
        key = row_key(everything.rows[index], spec.primary_key)
        if keys[key]:
            keys[key] -= 1
        else:
            gone.append(index)
    return sorted(gone)


def _is_deleted(row: Any, extra: str | None) -> bool:
    """Whether a row shows when it was deleted, also where nobody can read when that was."""
    if row.deleted_at is not None or extra is None or '"deleted_at"' not in extra:
        return row.deleted_at is not None
    sent = json.loads(extra).get("deleted_at")
    return sent not in NEVER and not (isinstance(sent, str) and sent.strip() in NEVER)
