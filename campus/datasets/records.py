"""Reads the records of a dataset by segments of their ids."""

import asyncio
import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from campus.account import Account, Drift
from campus.contracts.fields import Contract
from campus.decoding.columnar import Records, decode_records, without_repeats
from campus.decoding.definition import UPDATED_AT
from campus.decoding.raw_json import raw_rows
from campus.fetch.answers import confirmed
from campus.fetch.collection import drive, run_together
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.request import Answer
from campus.paging import PageRequest, PageSeen, page_by_id

# One page a processor: more at a time would only take more memory.
_DECODERS = ThreadPoolExecutor(os.cpu_count() or 1, "decode")
Write = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True)
class Source:
    """The records of one dataset, and the query for them."""

    path: str
    contract: type[Contract]
    # Columns of the primary key; empty: the dataset has none.
    key: tuple[str, ...]
    # The platform's names of these columns.
    key_fields: tuple[str, ...]
    # Fields, filters and relations.
    params: Mapping[str, str] = field(default_factory=dict)
    # The column of a record's last update; None: no column shows every change.
    updated_at: str | None = None


class Span(NamedTuple):
    """A range of ids, both ends included."""

    first: int
    last: int

    @classmethod
    def of(cls, segment: int, width: int) -> "Span":
        """The ids of a segment."""
        return cls(segment * width, (segment + 1) * width - 1)


@dataclass(frozen=True)
class CountedSpan:
    """A span, and the platform's count of its rows."""

    span: Span
    rows: int


@dataclass
class RecordsRead:
    """A reading of a dataset's records."""

    account: Account = field(default_factory=Account)
    # Its keys are proven to be distinct.
    distinct: bool = True
    # Only changes were requested, and the platform sent only changes.
    incremental: bool = False
    # Read in full beside the changes.
    spans: tuple[Span, ...] = ()
    # The last id that was read.
    cursor: int | None = None

    def take(self, records: Records) -> pa.RecordBatch:
        """Account for decoded rows; returns those that count."""
        account = self.account
        account.received += records.received + records.repeats
        account.repeats += records.repeats
        account.bad += records.bad
        account.drift.update(records.drift)
        self.distinct = self.distinct and records.ascending
        if records.last_key is not None:
            self.cursor = max(records.last_key, self.cursor or records.last_key)
        return records.batch


async def read_segment(
    reader: Reader, source: Source, span: Span, limit: int, since: datetime | None, write: Write
) -> RecordsRead:
    """Read the records of a segment by the procedure of the specification: ascending ids until none is left.

    The next page is requested while a page is written.

    since: only records updated then or later (the platform's wall clock). write: takes batches of the
    contract's columns and `_extra`, one at a time, in other threads. Raises CampusError."""
    read = RecordsRead(Account(tally=reader.tally), incremental=since is not None)
    await _read_range(reader, source, span, limit, since, write, read)
    return read


async def read_whole_segment(
    reader: Reader, source: Source, span: Span, limit: int, write: Write
) -> RecordsRead:
    """Read a segment in full, and compare it with the platform's count.

    An empty answer ends a reading, even if the platform sent it by mistake. So where the platform counts more
    rows, it counts those after the last id as well, and they are read as long as any come. If the platform
    counts some and sends none, the reading is not complete. The count of the segment alone proves nothing:
    rows may be new, or counted by another rule. Where the platform does not count, the ids after the last one
    are requested once more."""
    read = await read_segment(reader, source, span, limit, None, write)
    account = read.account
    while True:
        total = account.server_total = await count(reader, source, span)
        received = account.different_rows
        rest = span if read.cursor is None else Span(read.cursor + 1, span.last)
        if not account.complete or rest.first > rest.last or (total is not None and total <= received):
            return read
        if total is None:
            await _read_range(reader, source, rest, max(1, limit // 2), None, write, read)
            if account.different_rows == received:
                return read
            continue
        left = await count(reader, source, rest)
        # A part with as many rows as the whole: the platform ignores the ids when it counts.
        if not left or (received and left >= total):
            return read
        await _read_range(reader, source, rest, limit, None, write, read)
        if account.different_rows == received:
            account.complete = False
            account.proofs.append(f"the platform counts {left} rows from id {rest.first} on and sends none")


async def read_spans(
    reader: Reader, source: Source, spans: Sequence[CountedSpan], limit: int, write: Write, read: RecordsRead
) -> None:
    """Read spans of a segment in full, side by side, and add them to `read`; see `read_segment`.

    A span ends without an empty answer, once as many rows have come as the platform counts. So the caller
    compares the whole segment with its count afterwards. Raises CampusError."""
    account, lock = read.account, threading.Lock()

    def write_alone(batch: pa.RecordBatch) -> None:
        with lock:
            write(batch)

    async def read_span(counted: CountedSpan) -> None:
        part = RecordsRead(Account(tally=account.tally))
        await _read_range(reader, source, counted.span, limit, None, write_alone, part, counted.rows)
        account.received += part.account.received
        account.repeats += part.account.repeats
        account.bad += part.account.bad
        account.drift.update(part.account.drift)
        account.complete = account.complete and part.account.complete
        read.cursor = max(filter(None, (read.cursor, part.cursor)), default=None)

    # A span without rows needs no request: its stored rows are gone.
    await run_together(read_span(counted) for counted in spans if counted.rows)
    read.spans = tuple(counted.span for counted in spans)
    # The changes in a span came before, too.
    read.distinct = False


async def _read_range(
    reader: Reader,
    source: Source,
    span: Span,
    limit: int,
    since: datetime | None,
    write: Write,
    read: RecordsRead,
    enough: float = math.inf,
) -> None:
    """Read the records of a span and add them to `read`, until `enough` rows have come."""
    paging = page_by_id(
        limit,
        span.first,
        span.last,
        key=source.key_fields[0],
        confirmation=reader.capabilities.confirmation,
        empty_is_unusual=since is None and not read.account.received,
        has_enough=lambda: received >= enough,
    )
    changed = {} if since is None else {f"{UPDATED_AT}_egt": f"{since:%Y-%m-%d %H:%M:%S}"}
    decode_page, loop = decoder(reader, source), asyncio.get_running_loop()
    writing: asyncio.Future[None] | None = None
    received = 0

    def decode(body: bytes) -> Records:
        return without_repeats(decode_page(body), source.key[0])

    def take(records: Records) -> None:
        records = _keep_span(records, source.key[0], span)
        if since is not None and source.updated_at is not None and read.incremental:
            read.incremental = not _has_older(records.batch.column(source.updated_at), since)
        write(read.take(records))

    async def fetch_page(request: PageRequest) -> PageSeen:
        nonlocal writing, received
        params = {**source.params, **changed, **dict(request.params)}
        answer = await reader.fetch(source.path, params, decode, _DECODERS)
        reader.tally.pages += 1
        received += answer.value.received
        if writing is not None:
            await asyncio.shield(writing)
        writing = loop.run_in_executor(_DECODERS, take, answer.value)
        return PageSeen(_bounds(answer.value), answer.pagination)

    try:
        outcome = await drive(paging, fetch_page)
        if writing is not None:
            await asyncio.shield(writing)
    finally:
        if writing is not None:
            # The caller closes what it writes to.
            await asyncio.wait([writing])
    account = read.account
    account.complete = outcome.complete and read.distinct
    account.server_total = None
    if not outcome.complete:
        account.proofs.append(outcome.note)
    elif not read.distinct:
        account.proofs.append("the platform does not sort by id, so rows may be missing")


def _bounds(records: Records) -> list[int | None]:
    """The least and the greatest id of a page; None in their place where no row has a readable id."""
    return [records.first_key, records.last_key] if records.received else []


async def count(reader: Reader, source: Source, span: Span | None) -> int | None:
    """The platform's count of the records of a span, or of the whole dataset; None: it does not count."""
    bounds: dict[str, str | int] = {}
    if span is not None:
        [key_field] = source.key_fields
        bounds = {f"{key_field}_egt": span.first, f"{key_field}_elt": span.last}

    def ask(repeats: int) -> Readings[Answer[Sequence[bytes | Raw]]]:
        return (yield from raw_records(source, {**bounds, "page": 1, "per_page": 1 + repeats}))

    counting = confirmed(reader.capabilities, ask, lambda answer: not answer.value and not _total(answer))
    return _total(await drive_readings(reader, counting))


def raw_records(source: Source, params: Mapping[str, str | int]) -> Readings[Answer[Sequence[bytes | Raw]]]:
    """Records as raw JSON. params: beside those of the source."""
    answer: Answer[Sequence[bytes | Raw]] = yield AnswerRequest(
        source.path, {**source.params, **params}, raw_rows
    )
    return answer


def decoder(reader: Reader, source: Source) -> Callable[[bytes], Records]:
    """A function that decodes the pages of a source."""
    return partial(
        decode_records,
        contract=source.contract,
        key=source.key,
        keep_id_numbers=reader.keep_id_numbers,
    )


def _total(answer: Answer[Sequence[bytes | Raw]]) -> int | None:
    return None if answer.pagination is None else answer.pagination.total_count


def _keep_span(records: Records, key: str, span: Span) -> Records:
    """Drop the records beyond the span: a platform may ignore the upper bound."""
    keys = records.batch.column(key)
    if not len(keys):
        return records
    ends = pc.min_max(keys)
    least, greatest = ends["min"].as_py(), ends["max"].as_py()
    if span.first <= least and greatest <= span.last:
        return records
    inside = pc.and_(pc.greater_equal(keys, pa.scalar(span.first)), pc.less_equal(keys, pa.scalar(span.last)))
    batch = records.batch.filter(inside)
    drift = records.drift + Counter({Drift("ignored_parameter", f"{key}_elt"): len(keys) - batch.num_rows})
    return replace(records, batch=batch, drift=drift)


def _has_older(updated_at: "pa.Array[Any]", since: datetime) -> bool:
    """Whether older records than requested came: the platform ignores updated_at_egt."""
    bound = pa.scalar(since.replace(microsecond=0), pa.timestamp("us"))
    return bool(pc.any(pc.less(updated_at, bound)).as_py())


def key_in(row: bytes | Raw, key_field: str) -> int | None:
    """The id of one record; None where it has no integer id."""
    try:
        value = msgspec.json.decode(msgspec.json.decode(row, type=dict[str, Raw])[key_field])
    except (msgspec.DecodeError, KeyError):
        return None
    return value if type(value) is int else None
