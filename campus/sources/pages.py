"""Reads all pages of one collection, so that each row counts once."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from campus.decoding.nested import page_of
from campus.decoding.page import Page, row_keys
from campus.fetch.collection import Collection
from campus.fetch.reader import Readings
from campus.http.client import Client
from campus.paging import V1_NAMES, V3_NAMES, Outcome, page_list, page_unpaged_list
from campus.paging.passes import Counted, counted_of, numbered, numbered_pages
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


@dataclass(frozen=True, slots=True)
class KeyedPage:
    """A page, and the keys that tell its rows apart."""

    page: Page[Any]
    #: Of the rows, and then of the bad rows.
    keys: Sequence[Hashable]


#: The pages whose rows count, and how the reading ended.
ReadPages = tuple[list[KeyedPage], Outcome]


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


def _collection(context: SourceContext, unit: Unit, *, keep_duplicates: bool) -> Collection[KeyedPage]:
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
        partial(
            _decode_keyed,
            spec,
            keep_duplicates=keep_duplicates,
            keep_id_numbers=client.config.keep_id_numbers,
        ),
        attrgetter("keys"),
        paging,
    )


def _gather(spec: ResourceSpec, reading: ReadPages, *, keep_duplicates: bool) -> Gathered:
    """The rows of the pages that a reading has brought."""
    pages, outcome = reading
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    keys: Iterable[Sequence[Hashable]] = [keyed.keys for keyed in pages]
    if keep_duplicates:
        keys = numbered_pages(keys)
    # A row that is on two pages has moved. Where rows have a key of their own, the merge notices.
    are_all_counted = spec.numbered is None and not any(keyed.page.bad for keyed in pages)
    rows = Counted(frozenset()) if are_all_counted else counted_of(keys, outcome)
    remaining = {*rows.keys}
    for keyed, page_keys in zip(pages, keys, strict=True):
        page, count = keyed.page, len(keyed.page.rows)
        if spec.numbered is None:
            gathered.rows += page.rows
            gathered.extras += page.extras
        else:
            new = _take(page_keys[:count], remaining)
            gathered.repeats += count - len(new)
            gathered.rows += [page.rows[i] for i in new]
            gathered.extras += [page.extras[i] for i in new]
        new_bad = _take(page_keys[count:], remaining)
        gathered.repeats += len(page.bad) - len(new_bad)
        gathered.bad += [page.bad[i] for i in new_bad]
        gathered.drift.update(page.drift)
        gathered.sent |= page.sent
    gathered.has_unclear_repeats = spec.numbered is not None and rows.has_unclear_repeats
    gathered.trashed = [False] * len(gathered.rows)
    return gathered


def _decode_keyed(
    spec: ResourceSpec, body: bytes, *, keep_duplicates: bool, keep_id_numbers: bool
) -> KeyedPage:
    page = page_of(spec, body, keep_id_numbers=keep_id_numbers)
    keys: Iterable[Hashable]
    if spec.numbered is None:
        keys = row_keys(page.rows, spec.primary_key)
    else:
        keys = sent_rows(page) if keep_duplicates else numbered(sent_rows(page), Counter())
    return KeyedPage(page, [*keys, *((bad.raw,) for bad in page.bad)])


def _take(keys: Sequence[Hashable], remaining: set[Hashable]) -> list[int]:
    """Remove the keys from those that remain; the indexes of those that were there, each once."""
    indexes = []
    for index, key in enumerate(keys):
        if key in remaining:
            remaining.remove(key)
            indexes.append(index)
    return indexes
