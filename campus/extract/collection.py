"""Reading one collection: all its pages, as rows that each count once."""

from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import Any

import msgspec

from campus.decoding.nested import page_of
from campus.decoding.page import Page, row_key
from campus.extract.batches import Gathered
from campus.extract.requests import Unit
from campus.http.client import Client
from campus.http.events import Tally
from campus.paging import V1_NAMES, V3_NAMES
from campus.paging.fetch import Collection, read_list, read_unpaged
from campus.paging.passes import numbered
from campus.registry import ResourceSpec


async def read_pages(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> tuple[Gathered, frozenset[str]]:
    """All pages of one collection, and the names of the fields that its rows were sent with.

    Rows that may share their key are told apart by all that they were sent with, and those of one answer that
    are alike are as many rows. Where that proves nothing, alike ones may be on several pages: then each
    counts. So does one that a platform lists and counts several times, if only it is the same each time."""
    collection = Collection(unit.path, unit.params, school_id, spec.scopes, anonymous=spec.anonymous)
    read = await _read_as(client, spec, collection, tally, keyless=False, grave=unit.grave)
    gathered, _ = read
    if gathered.complete or not spec.paged or (spec.numbered is None and not _repeats_itself(gathered, spec)):
        return read
    again = await _read_as(client, spec, collection, tally, keyless=True, grave=unit.grave)
    believed_whole = again[0].complete and (spec.numbered is not None or _repeats_itself(again[0], spec))
    return again if believed_whole else read


def _repeats_itself(gathered: Gathered, spec: ResourceSpec) -> bool:
    """Whether rows share their key, all of which are alike."""
    keys = {row_key(row, spec.primary_key) for row in gathered.rows}
    return len(keys) < len(gathered.rows) and len({*looks(gathered)}) == len(keys)


def looks(rows: Gathered | Page[Any]) -> list[Hashable]:
    """All that rows were sent with."""
    return [(msgspec.json.encode(row), extra) for row, extra in zip(rows.rows, rows.extras, strict=True)]


async def _read_as(
    client: Client,
    spec: ResourceSpec,
    collection: Collection,
    tally: Tally,
    *,
    keyless: bool,
    grave: bool,
) -> tuple[Gathered, frozenset[str]]:
    names = V1_NAMES if spec.is_v1 else V3_NAMES
    parse = partial(page_of, spec, keep_id_numbers=client.config.keep_id_numbers)

    def keys_of(page: Page[Any]) -> list[Hashable]:
        return [*_keys(spec, page, keyless=keyless), *((bad.raw,) for bad in page.bad)]

    if spec.paged:
        pages, outcome = await read_list(
            client,
            collection,
            spec.path,
            names,
            keep_duplicates=keyless,
            empty_is_unusual=grave,
            parse=parse,
            keys=keys_of,
            tally=tally,
        )
    else:
        pages, outcome = await read_unpaged(
            client,
            collection,
            spec.path,
            names,
            empty_is_unusual=grave,
            parse=parse,
            keys=keys_of,
            tally=tally,
        )
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    sent: frozenset[str] = frozenset()
    seen: set[Hashable] = set()
    for page in pages:
        keys = _keys(spec, page, keyless=keyless)
        # A row that is on two pages has moved. Where two rows may share a key, nobody else would notice.
        new = [i for i, key in enumerate(keys) if spec.numbered is None or keyless or key not in seen]
        seen.update(keys)
        gathered.rows += [page.rows[i] for i in new]
        gathered.extras += [page.extras[i] for i in new]
        gathered.bad += page.bad
        gathered.drift.update(page.drift)
        sent |= page.sent
    gathered.trashed = [False] * len(gathered.rows)
    return gathered, sent


def _keys(spec: ResourceSpec, page: Page[Any], *, keyless: bool) -> list[Hashable]:
    """What tells the rows of a page apart."""
    if spec.numbered is None:
        return [row_key(row, spec.primary_key) for row in page.rows]
    return [*looks(page)] if keyless else [*numbered(looks(page), Counter())]
