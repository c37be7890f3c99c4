"""Reads a whole dataset by pages, where it has no ids to read by. Pages wait on disk until all are read."""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from campus.account import Account, BadRow, Drift
from campus.datasets.records import RecordsRead, Source, Write, decoder
from campus.decoding.columnar import Records
from campus.fetch.collection import Collection
from campus.fetch.reader import Reader
from campus.http.errors import Refused
from campus.paging import Outcome, PageNames, page_by_number
from campus.paging.passes import counted_of, numbered_pages


@dataclass(frozen=True)
class StoredPage:
    """A page on disk."""

    # Of its batch in the file.
    number: int
    # A hash a row, since the keys of the whole reading are in memory.
    keys: list[int]
    bad: list[BadRow]
    drift: Counter[Drift]


class Pages:
    """The pages of one reading, with the same columns, in a file that lives as long as the `with` block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(suffix=".arrow", dir=folder)  # noqa: SIM115, __exit__ closes it
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._written = 0

    def put(self, records: Records, key: tuple[str, ...]) -> StoredPage:
        """Store a decoded page."""
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._file.name, records.batch.schema)
        self._writer.write_batch(records.batch)
        self._written += 1
        return StoredPage(self._written - 1, _keys(records, key), records.bad, records.drift)

    def get(self, pages: Sequence[StoredPage]) -> Iterator[Records]:
        """Read pages back. No page can be stored afterwards."""
        self._close()
        if not pages:
            return
        with pa.OSFile(self._file.name, "rb") as source:
            reader = pa.ipc.open_file(source)
            for page in pages:
                yield Records(reader.get_batch(page.number), page.bad, page.drift)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._file.close()


class RowNumbers:
    """Keys for the rows of a reading of a dataset without a key: a hash of the row's values, and the number
    of the row among equal rows."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()

    def column(self, batch: pa.RecordBatch) -> Any:
        """The column `_row` of the next batch, as text `hash/number`. The hash leaves out nulls, so that a
        new field without values changes no key."""
        return pa.array(self._names(batch), pa.string())

    def _names(self, batch: pa.RecordBatch) -> Iterator[str]:
        for row in batch.to_pylist():
            values = {name: value for name, value in row.items() if value is not None}
            if "_extra" in values:
                values["_extra"] = json.loads(values["_extra"], parse_float=str, parse_int=str)
            text = msgspec.json.encode(values, order="sorted")
            digest = hashlib.blake2b(text, digest_size=16)
            self._seen[digest.digest()] += 1
            yield f"{digest.hexdigest()}/{self._seen[digest.digest()]}"


def _keys(records: Records, key: tuple[str, ...]) -> list[int]:
    """A hash for each row: of its key, or without a key of all its values."""
    batch = records.batch.select(key) if key else records.batch
    columns = [column.to_pylist() for column in batch.columns]
    sent = [*zip(*columns, strict=True), *((bad.raw,) for bad in records.bad)]
    return [hash(repr(values)) for values in sent]


async def read_pages(reader: Reader, source: Source, limit: int, write: Write, scratch: Path) -> RecordsRead:
    """Read a whole dataset by numbered pages until the reading is proven to be complete. The pages are sorted
    by the key where the platform sorts.

    write: takes batches of the contract's columns and `_extra`; without a key, `_row` comes first. scratch:
    the folder in which the pages wait. Raises CampusError."""
    read, decode_records = RecordsRead(Account(tally=reader.tally), distinct=False), decoder(reader, source)
    with Pages(scratch) as stored:

        def decode(body: bytes) -> StoredPage:
            return stored.put(decode_records(body), source.key)

        async def ask(order: Mapping[str, str]) -> tuple[list[StoredPage], Outcome]:
            paging = page_by_number(
                reader.client.page_size,
                limit,
                names=PageNames(unpaged=(("paginated", 0), ("limit", limit))),
                keep_duplicates=not source.key,
                confirmation=reader.capabilities.confirmation,
            )
            collection = Collection(
                source.path, {**source.params, **order}, decode, lambda page: page.keys, paging
            )
            return await collection.read(reader)

        order = {"sort": source.key_fields[0]} if source.key_fields else {}
        try:
            pages, outcome = await ask(order)
        except Refused:
            if not order:
                raise
            # The proof works without an order, too.
            pages, outcome = await ask({})
        numbers = RowNumbers()
        for records in stored.get(pages) if source.key else counted_records(read, stored, pages, outcome):
            if not source.key:
                records.batch = records.batch.add_column(0, "_row", numbers.column(records.batch))
            write(read.take(records))
        note_outcome(read, outcome)
    return read


def counted_records(
    read: RecordsRead, stored: Pages, pages: Sequence[StoredPage], outcome: Outcome
) -> Iterator[Records]:
    """The records of a finished reading without a key. Identical rows that the platform does not count are
    left out, and noted in the account."""
    account = read.account
    if outcome.total is None or sum(len(page.keys) for page in pages) <= outcome.total:
        yield from stored.get(pages)
        return
    keys = numbered_pages(page.keys for page in pages)
    rows = counted_of(keys, outcome)
    account.has_unclear_repeats = rows.has_unclear_repeats
    for records, page_keys in zip(stored.get(pages), keys, strict=True):
        is_counted = [key in rows.keys for key in page_keys]
        count = records.batch.num_rows
        if repeats := is_counted.count(False):
            account.received += repeats
            account.repeats += repeats
            records.bad = [*compress(records.bad, is_counted[count:])]
            records.batch = records.batch.filter(pa.array(is_counted[:count], pa.bool_()))
        yield records


def note_outcome(read: RecordsRead, outcome: Outcome) -> None:
    """Note in the account of a reading by pages how it ended."""
    read.account.server_total = outcome.total
    read.account.complete = outcome.complete
    if not outcome.complete:
        read.account.proofs.append(outcome.note)
