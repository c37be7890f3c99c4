"""Deleted rows: read with the others, and told apart from them."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from campus.decoding.page import row_key
from campus.extract.batches import Gathered
from campus.extract.collection import looks, read_pages
from campus.extract.requests import Unit
from campus.http.client import Client
from campus.http.errors import Forbidden, Refused
from campus.http.events import Tally
from campus.registry import ResourceSpec

# What stands for "not deleted", beside null; 0 is false, too.
NEVER = (None, "", "-", "0", 0, "0000-00-00", "0000-00-00 00:00:00")


WITH_TRASHED = "with_trashed"
TRASHED_TOO = {WITH_TRASHED: "1"}


def refuses_trashed(client: Client, spec: ResourceSpec) -> bool:
    """Whether the platform has refused to show a resource's deleted rows."""
    return client.capabilities.rejects(spec.path, WITH_TRASHED)


async def read_with_trashed(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> Gathered:
    """Rows with the deleted ones among them, told apart.

    Whether such rows show deleted_at is not specified. Where they do not, a second read without with_trashed
    tells which are alive. A platform that refuses with_trashed shows the living alone."""
    if refuses_trashed(client, spec):
        return (await read_pages(client, spec, school_id, unit, tally))[0]
    trashed_too = replace(unit, params={**unit.params, **TRASHED_TOO})
    try:
        everything, sent = await read_pages(client, spec, school_id, trashed_too, tally)
    except (Refused, Forbidden):
        # Where the list is refused as well, it is not the parameter.
        alive, _ = await read_pages(client, spec, school_id, unit, tally)
        client.capabilities.reject(spec.path, WITH_TRASHED)
        return alive
    if not everything.rows or "deleted_at" in sent:
        everything.trashed = [
            _is_deleted(row, extra) for row, extra in zip(everything.rows, everything.extras, strict=True)
        ]
        return everything
    alive, _ = await read_pages(client, spec, school_id, unit, tally)
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
    shown, sent = set(looks(alive)), looks(everything)
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
