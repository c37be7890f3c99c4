"""Finds the ids of a segment at which the platform and the lake differ, by the platform's own counts.

A range of ids whose count fits counts as unchanged. A range whose count does not fit is cut into parts until
its parts are small enough to be read. Two things do not show in a count that fits: as many insertions as
deletions, and a change. The count of the whole segment does not show them either, so they wait for the next
reading in full.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Sequence

from campus.datasets.records import CountedSpan, Source, Span, count
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader

# Parts that a range is cut into. See benchmarks/README.md for others.
PARTS = 4
# A range with so few stored rows is read.
FEW_ROWS = 1_000
# A segment takes no more requests than this: counts of its ranges, and one to read each range.
MOST_REQUESTS = 200


def locate_differences(
    stored_ids: Sequence[int], span: Span, rows: int
) -> Generator[list[Span], Sequence[int | None], list[CountedSpan] | None]:
    """Yield spans to be counted, take their counts, and return the spans to be read.

    stored_ids: ascending. rows: the platform's count of `span`. Returns None where all of `span` should be
    read: the platform does not count, its counts contradict one another, or half of the rows would be read.
    Once the spans are read, the stored ids are the platform's, unless as many ids came as went within a span
    that fits."""
    differing, to_read, requests = [CountedSpan(span, rows)], list[CountedSpan](), 0
    while True:
        large = [part for part in differing if part.rows and _stored(stored_ids, part.span) > FEW_ROWS]
        to_read += [part for part in differing if part not in large]
        # Every part but the last is counted, and every part may have to be read.
        if requests + (2 * PARTS - 1) * len(large) + len(to_read) > MOST_REQUESTS:
            to_read, large = to_read + large, []
        if not large:
            break
        cuts = [_cut(stored_ids, part.span) for part in large]
        counts = iter((yield [span for spans in cuts for span in spans[:-1]]))
        requests += (PARTS - 1) * len(large)
        differing = []
        for whole, spans in zip(large, cuts, strict=True):
            parts = _counted(spans, [next(counts) for _ in spans[:-1]], whole.rows)
            if parts is None:
                return None
            differing += [part for part in parts if part.rows != _stored(stored_ids, part.span)]
    return None if 2 * sum(part.rows for part in to_read) >= rows else to_read


def _stored(ids: Sequence[int], span: Span) -> int:
    """How many ids lie within a span."""
    return bisect_right(ids, span.last) - bisect_left(ids, span.first)


def _cut(ids: Sequence[int], span: Span) -> list[Span]:
    """The parts of a span, with as many stored ids each."""
    start, rows = bisect_left(ids, span.first), _stored(ids, span)
    firsts = [span.first, *(ids[start + rows * part // PARTS] for part in range(1, PARTS))]
    lasts = [*(first - 1 for first in firsts[1:]), span.last]
    return [Span(first, last) for first, last in zip(firsts, lasts, strict=True)]


def _counted(spans: Iterable[Span], counts: Iterable[int | None], rows: int) -> list[CountedSpan] | None:
    """The parts of a span that has `rows`; the count of the last part follows from the other counts. None
    where a count is missing, or the counts are too high."""
    of_parts = [count for count in counts if count is not None]
    rest = rows - sum(of_parts)
    if len(of_parts) < PARTS - 1 or rest < 0:
        return None
    return [CountedSpan(part, count) for part, count in zip(spans, [*of_parts, rest], strict=True)]


async def find_differences(
    reader: Reader, source: Source, stored_ids: Sequence[int], span: Span, rows: int
) -> list[CountedSpan] | None:
    """Find the spans of a segment to be read, with counts that are asked for side by side.

    Arguments and result are those of `locate_differences`. Raises CampusError."""
    search = locate_differences(stored_ids, span, rows)
    counts: list[int | None] = []

    async def ask(position: int, part: Span) -> None:
        counts[position] = await count(reader, source, part)

    try:
        spans = next(search)
        while True:
            counts = [None] * len(spans)
            await run_together(ask(position, part) for position, part in enumerate(spans))
            spans = search.send(counts)
    except StopIteration as end:
        to_read: list[CountedSpan] | None = end.value
        return to_read
