"""ReadPages all pages of one collection, so that each row counts once."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from campus.decoding.nested import page_of
from campus.decoding.page import Page, row_keys
from campus.fetch.collection import Collection
from campus.fetch.reader import Readings
from campus.http.client import Client
from campus.paging import V1_NAMES, V3_NAMES, Outcome, page_list, page_unpaged_list
from campus.paging.passes import counted_of, numbered, numbered_pages
from campus.plan.units import SliceQuery, Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered

#: Reads the rows of a unit.
ReadUnit = Callable[[Unit], Readings[Gathered]]


@dataclass(frozen=True)
class SourceContext:
    """The platform, resource and slice of a source. The client is for settings and capabilities: sources send
    no requests."""

    client: Client
    spec: ResourceSpec
    query: SliceQuery


#: The pages whose rows count, and how the reading ended.
ReadPages = tuple[list[Page[Any]], Outcome]


def read_pages(context: SourceContext, unit: Unit) -> Readings[Gathered]:
    """Read all pages of one collection.

    Where rows may share their key, all of their fields tell them apart, and identical rows of one answer are
    different rows, unless the platform counts them once. Where such a reading proves nothing, identical rows
    may be on several pages: then a second reading keeps all of them. It also proves a list that counts each
    of its repeated rows."""
    spec = context.spec
    reading = yield _collection(context, unit, keep_duplicates=False)
    gathered = _gather(spec, reading, keep_duplicates=False)
    if gathered.complete or spec.shape != "pages":
        return gathered
    if spec.numbered is None and not _has_repeats(gathered, spec):
        return gathered
    reading = yield _collection(context, unit, keep_duplicates=True)
    repeated = _gather(spec, reading, keep_duplicates=True)
    is_proven = repeated.complete and (spec.numbered is not None or _has_repeats(repeated, spec))
    return repeated if is_proven else gathered


def _has_repeats(gathered: Gathered, spec: ResourceSpec) -> bool:
    """Whether some rows share their key, and all rows of a key are identical."""
    keys = {*row_keys(gathered.rows, spec.primary_key)}
    return len(keys) < len(gathered.rows) and len({*sent_rows(gathered)}) == len(keys)


def sent_rows(rows: Gathered | Page[Any]) -> list[Hashable]:
    """All fields that each row was sent with."""
    return [(msgspec.json.encode(row), extra) for row, extra in zip(rows.rows, rows.extras, strict=True)]


def _collection(context: SourceContext, unit: Unit, *, keep_duplicates: bool) -> Collection[Page[Any]]:
    """The list of a unit, as the platform sends it."""
    client, spec = context.client, context.spec
    names = V1_NAMES if spec.is_v1 else V3_NAMES
    if spec.shape == "pages":
        paging = page_list(
            client.capabilities,
            spec.path,
            client.page_size,
            client.config.unpaged_limit,
            names,
            keep_duplicates=keep_duplicates,
            empty_is_unusual=unit.empty_is_unusual,
        )
    else:
        paging = page_unpaged_list(
            client.capabilities, spec.path, names, empty_is_unusual=unit.empty_is_unusual
        )
    return Collection(
        unit.path,
        unit.params,
        partial(page_of, spec, keep_id_numbers=client.config.keep_id_numbers),
        partial(_keys, spec, keep_duplicates=keep_duplicates),
        paging,
    )


def _gather(spec: ResourceSpec, reading: ReadPages, *, keep_duplicates: bool) -> Gathered:
    """The rows of the pages that a reading has brought."""
    pages, outcome = reading
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    keys = [_keys(spec, page, keep_duplicates=keep_duplicates) for page in pages]
    if keep_duplicates:
        keys = numbered_pages(keys)
    rows = counted_of(keys, outcome)
    remaining = {*rows.keys}
    for page, page_keys in zip(pages, keys, strict=True):
        count = len(page.rows)
        # A row that is on two pages has moved. Where rows have a key of their own, the merge notices.
        new = range(count) if spec.numbered is None else _take(page_keys[:count], remaining)
        new_bad = _take(page_keys[count:], remaining)
        gathered.rows += [page.rows[i] for i in new]
        gathered.extras += [page.extras[i] for i in new]
        gathered.bad += [page.bad[i] for i in new_bad]
        gathered.repeats += len(page_keys) - len(new) - len(new_bad)
        gathered.drift.update(page.drift)
        gathered.sent |= page.sent
    gathered.has_unclear_repeats = spec.numbered is not None and rows.has_unclear_repeats
    gathered.trashed = [False] * len(gathered.rows)
    return gathered


def _keys(spec: ResourceSpec, page: Page[Any], *, keep_duplicates: bool) -> list[Hashable]:
    """The keys that tell the rows of a page apart, and then those of its bad rows."""
    keys: Iterable[Hashable]
    if spec.numbered is None:
        keys = row_keys(page.rows, spec.primary_key)
    else:
        keys = sent_rows(page) if keep_duplicates else numbered(sent_rows(page), Counter())
    return [*keys, *((bad.raw,) for bad in page.bad)]


def _take(keys: Sequence[Hashable], remaining: set[Hashable]) -> list[int]:
    """Remove the keys from those that remain; the indexes of those that were there, each once."""
    indexes = []
    for index, key in enumerate(keys):
        if key in remaining:
            remaining.remove(key)
            indexes.append(index)
    return indexes
