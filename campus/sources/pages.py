"""Reading one collection: all its pages, as rows that each count once."""

from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import Any

import msgspec

from campus.decoding.nested import page_of
from campus.decoding.page import Page, row_keys
from campus.fetch.collection import Collection, read_list, read_unpaged
from campus.paging import V1_NAMES, V3_NAMES
from campus.paging.passes import numbered
from campus.plan.units import Unit
from campus.registry import ResourceSpec
from campus.sources.gathered import Gathered
from campus.sources.source import SourceContext


async def read_pages(context: SourceContext, unit: Unit) -> Gathered:
    """All pages of one collection.

    Rows that may share their key are told apart by all that they were sent with, and those of one answer that
    are alike are as many rows. Where that proves nothing, alike ones may be on several pages: then each
    counts. So does one that a platform lists and counts several times, if only it is the same each time."""
    spec = context.spec
    gathered = await _read_as(context, unit, keyless=False)
    if gathered.complete or spec.shape != "pages":
        return gathered
    if spec.numbered is None and not _repeats_itself(gathered, spec):
        return gathered
    again = await _read_as(context, unit, keyless=True)
    is_whole = again.complete and (spec.numbered is not None or _repeats_itself(again, spec))
    return again if is_whole else gathered


def _repeats_itself(gathered: Gathered, spec: ResourceSpec) -> bool:
    """Whether rows share their key, all of which are alike."""
    keys = {*row_keys(gathered.rows, spec.primary_key)}
    return len(keys) < len(gathered.rows) and len({*sent_rows(gathered)}) == len(keys)


def sent_rows(rows: Gathered | Page[Any]) -> list[Hashable]:
    """All that rows were sent with."""
    return [(msgspec.json.encode(row), extra) for row, extra in zip(rows.rows, rows.extras, strict=True)]


async def _read_as(context: SourceContext, unit: Unit, *, keyless: bool) -> Gathered:
    client, spec, tally = context.client, context.spec, context.tally
    collection = Collection(
        unit.path, unit.params, context.query.school_id, spec.scopes, anonymous=spec.anonymous
    )
    names = V1_NAMES if spec.is_v1 else V3_NAMES
    parse = partial(page_of, spec, keep_id_numbers=client.config.keep_id_numbers)

    def keys_of(page: Page[Any]) -> list[Hashable]:
        return [*_keys(spec, page, keyless=keyless), *((bad.raw,) for bad in page.bad)]

    if spec.shape == "pages":
        pages, outcome = await read_list(
            client,
            collection,
            spec.path,
            names,
            keep_duplicates=keyless,
            empty_is_unusual=unit.grave,
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
            empty_is_unusual=unit.grave,
            parse=parse,
            keys=keys_of,
            tally=tally,
        )
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
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
        gathered.sent |= page.sent
    gathered.trashed = [False] * len(gathered.rows)
    return gathered


def _keys(spec: ResourceSpec, page: Page[Any], *, keyless: bool) -> list[Hashable]:
    """What tells the rows of a page apart."""
    if spec.numbered is None:
        return [*row_keys(page.rows, spec.primary_key)]
    return [*sent_rows(page)] if keyless else [*numbered(sent_rows(page), Counter())]
