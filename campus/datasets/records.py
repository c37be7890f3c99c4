"""Reading the records of a dataset by segments of their ids."""

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
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from campus.contracts.fields import Contract
from campus.decoding.columnar import Records, decode_records
from campus.decoding.definition import UPDATED_AT
from campus.decoding.page import Drift
from campus.decoding.raw_json import raw_rows
from campus.fetch.answer import Answer, fetch
from campus.fetch.collection import drive, together
from campus.fetch.emptiness import confirmed
from campus.http.client import Client
from campus.http.events import Tally
from campus.paging import PageRequest, PageSeen, page_by_id
from campus.registry import DATASETS
from campus.sources.gathered import Account

# As many pages are decoded at a time as there are processors: more would only take more memory.
_DECODERS = ThreadPoolExecutor(os.cpu_count() or 1, "decode")
Write = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True)
class Source:
    """The records of one dataset of one school, and how they are asked for.

    `key`: the columns of its primary key, and `key_fields` the platform's names of them; none: it has none.
    `params`: fields, filters and relations. `updated_at`: the column of their last update; None where they
    have none that shows every change."""

    school_id: int
    path: str
    contract: type[Contract]
    key: tuple[str, ...]
    key_fields: tuple[str, ...]
    params: Mapping[str, str] = field(default_factory=dict)
    updated_at: str | None = None


@dataclass(frozen=True)
class Span:
    """The ids of a segment, both ends included."""

    first: int
    last: int

    @classmethod
    def of(cls, segment: int, width: int) -> "Span":
        """The span of a segment by its number."""
        return cls(segment * width, (segment + 1) * width - 1)


@dataclass(frozen=True)
class CountedSpan:
    """A span, and how many rows it has by the platform's own count."""

    span: Span
    rows: int


@dataclass
class RecordsRead:
    """What was read of a dataset. `distinct`: its keys are proven to be distinct. `incremental`: only what
    changed was asked for, and the platform heeded it; `spans`: those of which all was asked for besides.
    `cursor`: the last id that was read."""

    account: Account = field(default_factory=Account)
    distinct: bool = True
    incremental: bool = False
    spans: tuple[Span, ...] = ()
    cursor: int | None = None

    def take(self, records: Records, write: Write) -> None:
        """Account for decoded rows and hand them on."""
        account = self.account
        account.received += records.received
        account.bad += records.bad
        account.drift.update(records.drift)
        self.distinct = self.distinct and records.ascending
        if records.last_key is not None:
            self.cursor = max(records.last_key, self.cursor or records.last_key)
        write(records.batch)


async def read_segment(
    client: Client,
    source: Source,
    span: Span,
    limit: int,
    since: datetime | None,
    write: Write,
    tally: Tally | None = None,
) -> RecordsRead:
    """Read the records of a segment by the procedure of the specification: ascending ids until none is left.

    since: only records updated then or later (the platform's wall clock). write: takes batches of the
    contract's columns and `_extra`, one at a time, in other threads. tally: of the requests that it took to
    come here. While one page is written, the next is on its way. Raises CampusError."""
    read = RecordsRead(Account(tally=tally or Tally()), incremental=since is not None)
    await _read_on(client, source, span, limit, since, write, read)
    return read


async def read_whole_segment(
    client: Client, source: Source, span: Span, limit: int, write: Write, tally: Tally
) -> RecordsRead:
    """Read a segment in full, held against the platform's own count of it; arguments as of `read_segment`.

    Empty answers end a reading, also those that came by mistake. Where the count shows more, those behind
    the last id are counted, and read as long as any come; if some stay out, the reading is not complete.
    More by the count alone proves nothing: rows come meanwhile, and a platform may count otherwise. Where it
    does not count, what lies behind the last id is asked for once more."""
    read = await read_segment(client, source, span, limit, None, write, tally)
    account = read.account
    while True:
        total = account.server_total = await count(client, source, span, tally)
        received = account.received
        rest = span if read.cursor is None else Span(read.cursor + 1, span.last)
        if not account.complete or rest.first > rest.last or (total is not None and total <= received):
            return read
        if total is None:
            await _read_on(client, source, rest, max(1, limit // 2), None, write, read)
            if account.received == received:
                return read
            continue
        left = await count(client, source, rest, tally)
        # Where fewer ids have as many rows, the count does not heed the ids.
        if not left or (received and left >= total):
            return read
        await _read_on(client, source, rest, limit, None, write, read)
        if account.received == received:
            account.complete = False
            account.notes.append(f"the platform counts {left} rows from id {rest.first} on and sends none")


async def read_spans(
    client: Client, source: Source, spans: Sequence[CountedSpan], limit: int, write: Write, read: RecordsRead
) -> None:
    """Read spans of a segment in full, side by side, into the account of its changes; see `read_segment`.

    A span is read until as many rows have come as it has by its count, so that it ends without an empty
    answer. The caller holds the whole segment against its count afterwards. Raises CampusError."""
    account, lock = read.account, threading.Lock()

    def write_alone(batch: pa.RecordBatch) -> None:
        with lock:
            write(batch)

    async def read_span(counted: CountedSpan) -> None:
        part = RecordsRead(Account(tally=account.tally))
        await _read_on(client, source, counted.span, limit, None, write_alone, part, counted.rows)
        account.received += part.account.received
        account.bad += part.account.bad
        account.drift.update(part.account.drift)
        account.complete = account.complete and part.account.complete
        read.cursor = max(filter(None, (read.cursor, part.cursor)), default=None)

    # Nothing is left of a span that counts no row.
    await together(read_span(counted) for counted in spans if counted.rows)
    read.spans = tuple(counted.span for counted in spans)
    # What changed in a span has come twice.
    read.distinct = False


async def _read_on(
    client: Client,
    source: Source,
    span: Span,
    limit: int,
    since: datetime | None,
    write: Write,
    read: RecordsRead,
    enough: float = math.inf,
) -> None:
    """Read the records of a stretch of ids into an account that is begun; no further than `enough` rows."""
    paging = page_by_id(
        limit,
        span.first,
        span.last,
        key=source.key_fields[0],
        confirmation=client.capabilities.confirmation,
        empty_is_unusual=since is None and not read.account.received,
        has_enough=lambda: came >= enough,
    )
    changed = {} if since is None else {f"{UPDATED_AT}_egt": f"{since:%Y-%m-%d %H:%M:%S}"}
    loop = asyncio.get_running_loop()
    writing: asyncio.Future[None] | None = None
    came = 0

    def take(records: Records) -> None:
        records = _within(records, source.key[0], span)
        if since is not None and source.updated_at is not None and read.incremental:
            read.incremental = not _has_older(records.batch.column(source.updated_at), since)
        read.take(records, write)

    async def fetch_page(request: PageRequest) -> PageSeen:
        nonlocal writing, came
        answer = await fetch(
            client,
            source.path,
            {**source.params, **changed, **dict(request.params)},
            school_id=source.school_id,
            scope=DATASETS.scopes,
            decode=partial(
                decode_records,
                contract=source.contract,
                key=source.key,
                keep_id_numbers=client.config.keep_id_numbers,
            ),
            executor=_DECODERS,
            tally=read.account.tally,
        )
        read.account.tally.pages += 1
        came += answer.value.received
        if writing is not None:
            await asyncio.shield(writing)
        writing = loop.run_in_executor(_DECODERS, take, answer.value)
        return PageSeen(_ends(answer.value), answer.pagination)

    try:
        outcome = await drive(paging, fetch_page)
        if writing is not None:
            await asyncio.shield(writing)
    finally:
        if writing is not None:
            # It writes where the caller will clean up.
            await asyncio.wait([writing])
    account = read.account
    account.complete = outcome.complete and read.distinct
    account.server_total = None
    if not outcome.complete:
        account.notes.append(outcome.note)
    elif not read.distinct:
        account.notes.append("the platform does not sort by id, so rows may be missing")


def _ends(records: Records) -> list[int | None]:
    """The least and the greatest id of a page; None where it has rows, but none whose id can be read."""
    return [records.first_key, records.last_key] if records.received else []


async def count(client: Client, source: Source, span: Span | None, tally: Tally) -> int | None:
    """How many records a segment has (None: the whole dataset) by the platform's own count, if it counts."""
    within: dict[str, str | int] = {}
    if span is not None:
        [key_field] = source.key_fields
        within = {f"{key_field}_egt": span.first, f"{key_field}_elt": span.last}

    async def ask(before: int) -> Answer[Sequence[bytes | Raw]]:
        return await fetch(
            client,
            source.path,
            {**source.params, **within, "page": 1, "per_page": 1 + before},
            school_id=source.school_id,
            scope=DATASETS.scopes,
            decode=raw_rows,
            tally=tally,
        )

    answer = await confirmed(client.capabilities, ask, lambda answer: not answer.value and not _told(answer))
    return _told(answer)


def _told(answer: Answer[Sequence[bytes | Raw]]) -> int | None:
    return None if answer.pagination is None else answer.pagination.total_count


def _within(records: Records, key: str, span: Span) -> Records:
    """Without the records of other segments, which a platform sends that does not know the upper bound."""
    keys = records.batch.column(key)
    if not len(keys):
        return records
    ends = pc.min_max(keys)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if span.first <= low and high <= span.last:
        return records
    inside = pc.and_(pc.greater_equal(keys, pa.scalar(span.first)), pc.less_equal(keys, pa.scalar(span.last)))
    batch = records.batch.filter(inside)
    drift = records.drift + Counter({Drift("ignored_parameter", f"{key}_elt"): len(keys) - batch.num_rows})
    return replace(records, batch=batch, drift=drift)


def _has_older(updated_at: "pa.Array[Any]", since: datetime) -> bool:
    """Whether the platform sends records that were not asked for: it does not know updated_at_egt."""
    asked = pa.scalar(since.replace(microsecond=0), pa.timestamp("us"))
    return bool(pc.any(pc.less(updated_at, asked)).as_py())


def key_in(row: bytes | Raw, key_field: str) -> int | None:
    """The id of one record; None where it has none that is an integer."""
    try:
        value = msgspec.json.decode(msgspec.json.decode(row, type=dict[str, Raw])[key_field])
    except (msgspec.DecodeError, KeyError):
        return None
    return value if type(value) is int else None
