"""Finding out how a dataset can be read: which segments of ids hold records, or that only pages will do."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import fields
from campus.datasets.records import Source, count, key_in
from campus.decoding.raw_json import raw_rows
from campus.fetch.answer import fetch
from campus.fetch.emptiness import confirmed
from campus.http.client import Client
from campus.http.errors import Refused, UnexpectedAnswer
from campus.http.events import Tally
from campus.registry import DATASETS

# Segments that a dataset may have however few its rows are: more come only with more rows.
FEW = 16


@dataclass(frozen=True)
class Layout:
    """How a dataset is cut. `width`: ids a segment; None: it is read by pages, and `why` says why.
    `segments`: the numbers of those that hold records."""

    width: int | None
    segments: tuple[int, ...] = ()
    why: str = ""


class _Unseekable(Exception):
    """Ids cannot be used to read a part of this dataset."""


async def lay_out(
    client: Client, source: Source, width: int | None, segment_rows: int, most_segments: int, tally: Tally
) -> Layout:
    """Find the segments of a dataset that hold records.

    width: that of its segments so far (None: new), which never changes. segment_rows: ids of a segment at
    least; where those would be more than `most_segments`, or more than so few rows are worth, segments are
    wider. A stretch without records costs one request, however long. Raises CampusError."""
    if not has_ids(source):
        return Layout(None, why=_without_ids(source))
    try:
        ends = await _ends(client, source, tally)
        if ends is None:
            return Layout(width or segment_rows)
        least, greatest = ends
        if width is None:
            return await _cut(client, source, least, greatest, segment_rows, most_segments, tally)
        return Layout(width, await _segments(client, source, width, least, greatest, tally))
    except Refused as error:
        return Layout(None, why=error.message)
    except _Unseekable as error:
        return Layout(None, why=str(error))


async def why_by_pages(client: Client, source: Source, tally: Tally) -> str:
    """Why a dataset cannot be read by segments, as far as one question tells; empty where it can.

    Raises CampusError."""
    if not has_ids(source):
        return _without_ids(source)
    try:
        await _first(client, source, _from(source, 0), tally)
    except Refused as error:
        return error.message
    except _Unseekable as error:
        return str(error)
    return ""


def _without_ids(source: Source) -> str:
    return "its primary key is not one integer" if source.key else "it has no primary key"


def has_ids(source: Source) -> bool:
    """Whether the key is one integer, by which segments can be asked for."""
    kinds = [f.arrow_type for f in fields(source.contract) if f.name in source.key]
    return len(kinds) == 1 and pa.types.is_integer(kinds[0])


def _width(ids: int, segment_rows: int, most_segments: int) -> int:
    width = segment_rows
    while ids > width * most_segments:
        width *= 2
    return width


async def _ends(client: Client, source: Source, tally: Tally) -> tuple[int, int] | None:
    """The least and the greatest id; None where there is no record.

    Raises _Unseekable where the platform does not sort: then the next record of a leap may be any."""
    least = await _first(client, source, {}, tally)
    if least is None:
        return None
    greatest = await _first(client, source, {}, tally, descending=True)
    if greatest is None:
        raise _gone(source, f"sorted by id it begins with {least}, and has no end")
    if greatest <= least:
        below = await _first(client, source, {f"{source.key_fields[0]}_elt": least - 1}, tally)
        above = await _first(client, source, _from(source, least + 1), tally)
        if {greatest, below, above} - {None, least}:
            raise _Unseekable("the platform ignores sort")
    return least, greatest


async def _cut(
    client: Client,
    source: Source,
    least: int,
    greatest: int,
    segment_rows: int,
    most_segments: int,
    tally: Tally,
) -> Layout:
    """Cut a new dataset: finely where its ids are dense or lie in clusters; where they are thinly spread, so
    widely that the segments are worth their requests."""
    ids = greatest - least + 1
    counted = await count(client, source, None, tally)
    rows = min(counted, ids) if counted else ids
    most = min(most_segments, max(FEW, 4 * (rows // segment_rows)))
    width = _width(rows, segment_rows, most)
    segments = await _segments(client, source, width, least, greatest, tally, most)
    if len(segments) > most:
        width = _width(ids, segment_rows, most)
        segments = await _segments(client, source, width, least, greatest, tally)
    return Layout(width, segments)


async def _segments(
    client: Client,
    source: Source,
    width: int,
    least: int,
    greatest: int,
    tally: Tally,
    enough: float = math.inf,
) -> tuple[int, ...]:
    """The segments that hold records, found by leaping from each one's end to the next record; no further
    than one more than `enough` of them."""
    # There is none but what came since: a platform that ignores the bound shows others.
    beyond = await _first(client, source, _from(source, greatest + 1), tally, empty_is_unusual=False)
    if beyond is not None and beyond <= greatest:
        raise _Unseekable(f"the platform ignores {source.key_fields[0]}_egt")
    found = [least // width]
    while len(found) <= enough and ((start := (found[-1] + 1) * width) <= greatest or beyond is not None):
        following = await _first(client, source, _from(source, start), tally)
        if following is None and start <= greatest:
            raise _gone(source, f"it ends with id {greatest}, and from {start} on there is nothing")
        if following is None:
            break
        if following < start:
            raise _Unseekable(f"the platform ignores {source.key_fields[0]}_egt")
        found.append(following // width)
    return tuple(found)


def _gone(source: Source, why: str) -> UnexpectedAnswer:
    """What to say where the platform contradicts itself: what there is cannot be planned from that."""
    return UnexpectedAnswer(
        f"{source.path}: where its records are cannot be told, as {why}.",
        "Rows may have been deleted meanwhile, or the platform is not well: sync again.",
    )


def _from(source: Source, start: int) -> Mapping[str, str | int]:
    return {f"{source.key_fields[0]}_egt": start}


async def _first(
    client: Client,
    source: Source,
    params: Mapping[str, str | int],
    tally: Tally,
    *,
    descending: bool = False,
    empty_is_unusual: bool = True,
) -> int | None:
    """The first id in order; None where there is no record, by pages and by limits."""
    [key_field] = source.key_fields
    sort = f"-{key_field}" if descending else key_field

    async def ask(before: int) -> Sequence[bytes | Raw]:
        part = {"page": 1, "per_page": before} if before % 2 else {"paginated": 0, "limit": 1 + before}
        answer = await fetch(
            client,
            source.path,
            {**source.params, **params, "sort": sort, **part},
            school_id=source.school_id,
            scope=DATASETS.scopes,
            decode=raw_rows,
            tally=tally,
        )
        return answer.value

    rows = await confirmed(
        client.capabilities, ask, lambda rows: not rows, is_unusual=lambda _: empty_is_unusual
    )
    if not rows:
        return None
    found = key_in(rows[0], key_field)
    if found is None:
        raise _Unseekable(f"{key_field} of a record is no integer")
    return found
