"""Finds the segments of ids that hold a dataset's records, or that it can be read by pages only."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import fields
from campus.datasets.records import Source, Span, count, key_in, raw_records
from campus.fetch.answers import confirmed
from campus.fetch.reader import Reader, Readings, drive_readings
from campus.http.errors import Refused, UnexpectedAnswer

# A dataset of few rows has no more segments than this.
FEW = 16


@dataclass(frozen=True)
class Layout:
    """How a dataset is cut into segments."""

    # Ids a segment; None: the dataset is read by pages.
    width: int | None
    # The numbers of the segments that hold records.
    segments: tuple[int, ...] = ()
    # Why it is read by pages.
    why: str = ""


class _NotSeekable(Exception):
    """The platform cannot send a part of this dataset by its ids."""


async def plan_layout(
    reader: Reader, source: Source, width: int | None, segment_rows: int, most_segments: int
) -> Layout:
    """Find the segments of a dataset that hold records. A gap between ids costs one request, however long.

    width: of the dataset's segments, which never changes; None: the dataset is new. segment_rows: the least
    width of a new dataset, which grows where `most_segments` or few rows ask for fewer segments. Raises
    CampusError."""
    if not has_integer_key(source):
        return Layout(None, why=_no_integer_key(source))
    try:
        bounds = await _id_bounds(reader, source)
        if bounds is None:
            return Layout(width or segment_rows)
        if width is None:
            return await _cut(reader, source, bounds, segment_rows, most_segments)
        return Layout(width, await _segments(reader, source, width, bounds))
    except Refused as error:
        return Layout(None, why=error.message)
    except _NotSeekable as error:
        return Layout(None, why=str(error))


async def why_by_pages(reader: Reader, source: Source) -> str:
    """Why a dataset can be read by pages only, as far as one request shows; empty where segments work.

    Raises CampusError."""
    if not has_integer_key(source):
        return _no_integer_key(source)
    try:
        await _first_id(reader, source, _from(source, 0))
    except Refused as error:
        return error.message
    except _NotSeekable as error:
        return str(error)
    return ""


def _no_integer_key(source: Source) -> str:
    return "its primary key is not one integer" if source.key else "it has no primary key"


def has_integer_key(source: Source) -> bool:
    """Whether the key is one integer, so that segments can be requested."""
    kinds = [f.arrow_type for f in fields(source.contract) if f.name in source.key]
    return len(kinds) == 1 and pa.types.is_integer(kinds[0])


def _width(ids: int, segment_rows: int, most_segments: int) -> int:
    width = segment_rows
    while ids > width * most_segments:
        width *= 2
    return width


async def _id_bounds(reader: Reader, source: Source) -> Span | None:
    """The least and the greatest id; None where the dataset has no record.

    Raises _NotSeekable where the platform does not sort, so that no request finds the next record."""
    least = await _first_id(reader, source, {})
    if least is None:
        return None
    greatest = await _first_id(reader, source, {}, descending=True)
    if greatest is None:
        raise _contradiction(source, f"sorted by id it begins with {least}, and has no end")
    if greatest <= least:
        below = await _first_id(reader, source, {f"{source.key_fields[0]}_elt": least - 1})
        above = await _first_id(reader, source, _from(source, least + 1))
        if {greatest, below, above} - {None, least}:
            raise _NotSeekable("the platform ignores sort")
    return Span(least, greatest)


async def _cut(reader: Reader, source: Source, bounds: Span, segment_rows: int, most_segments: int) -> Layout:
    """Cut a new dataset into fine segments where its ids are dense or lie in clusters. Where the ids are
    sparse, segments are so wide that their rows are worth the requests."""
    ids = bounds.last - bounds.first + 1
    counted = await count(reader, source, None)
    rows = min(counted, ids) if counted else ids
    most = min(most_segments, max(FEW, 4 * (rows // segment_rows)))
    width = _width(rows, segment_rows, most)
    segments = await _segments(reader, source, width, bounds, most)
    if len(segments) > most:
        width = _width(ids, segment_rows, most)
        segments = await _segments(reader, source, width, bounds)
    return Layout(width, segments)


async def _segments(
    reader: Reader, source: Source, width: int, bounds: Span, enough: float = math.inf
) -> tuple[int, ...]:
    """Find the segments that hold records: the next record after the end of one segment lies in the next.
    Stops once there are more than `enough`."""
    greatest = bounds.last
    # Only new records lie beyond, unless the platform ignores the bound.
    beyond = await _first_id(reader, source, _from(source, greatest + 1), empty_is_unusual=False)
    if beyond is not None and beyond <= greatest:
        raise _NotSeekable(f"the platform ignores {source.key_fields[0]}_egt")
    segments = [bounds.first // width]
    while len(segments) <= enough and (
        (start := (segments[-1] + 1) * width) <= greatest or beyond is not None
    ):
        following = await _first_id(reader, source, _from(source, start))
        if following is None and start <= greatest:
            raise _contradiction(source, f"it ends with id {greatest}, and from {start} on there is nothing")
        if following is None:
            break
        if following < start:
            raise _NotSeekable(f"the platform ignores {source.key_fields[0]}_egt")
        segments.append(following // width)
    return tuple(segments)


def _contradiction(source: Source, why: str) -> UnexpectedAnswer:
    """The error for answers that contradict one another, so that no plan can be made of them."""
    return UnexpectedAnswer(
        f"{source.path}: where its records are cannot be told, as {why}.",
        "Rows may have been deleted meanwhile, or the platform is not well: sync again.",
    )


def _from(source: Source, start: int) -> Mapping[str, str | int]:
    return {f"{source.key_fields[0]}_egt": start}


async def _first_id(
    reader: Reader,
    source: Source,
    params: Mapping[str, str | int],
    *,
    descending: bool = False,
    empty_is_unusual: bool = True,
) -> int | None:
    """The first id in order; None where there is no record, requested both by page and by limit."""
    [key_field] = source.key_fields
    order = {**params, "sort": f"-{key_field}" if descending else key_field}

    def ask(repeats: int) -> Readings[Sequence[bytes | Raw]]:
        part = {"page": 1, "per_page": repeats} if repeats % 2 else {"paginated": 0, "limit": 1 + repeats}
        return (yield from raw_records(source, {**order, **part})).value

    asking = confirmed(reader.capabilities, ask, lambda rows: not rows, is_unusual=lambda _: empty_is_unusual)
    rows = await drive_readings(reader, asking)
    if not rows:
        return None
    first = key_in(rows[0], key_field)
    if first is None:
        raise _NotSeekable(f"{key_field} of a record is no integer")
    return first
