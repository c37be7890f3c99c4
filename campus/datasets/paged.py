"""Reading a whole dataset by pages, where ids are of no use: its pages wait on disk for the proof."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from campus.client import Client
from campus.collection import Collection, read_collection
from campus.datasets.columnar import Records, RowNumbers, decode_records, records_schema
from campus.datasets.records import RecordsRead, Source, Write
from campus.decode import BadRow, Drift
from campus.errors import Refused
from campus.paging import Outcome, PageNames, PageNumbers
from campus.resources import DATASETS


async def read_pages(client: Client, source: Source, limit: int, write: Write, scratch: Path) -> RecordsRead:
    """Read a whole dataset by numbered pages, sorted by its key where it can be, until the reading is proven.

    write: takes batches of the contract's columns and `_extra`; without a key, `_row` stands before them.
    scratch: where the pages wait. Raises CampusError."""
    read = RecordsRead(distinct=False)
    with _Pages(scratch, records_schema(source.contract)) as stored:

        async def ask(order: Mapping[str, str]) -> tuple[list[_Page], Outcome]:
            paging = PageNumbers(
                client.per_page,
                limit,
                names=PageNames(whole=(("paginated", 0), ("limit", limit))),
                keyless=not source.key,
            )
            answer = await read_collection(
                client,
                Collection(source.path, {**source.params, **order}, source.school_id, DATASETS.scopes),
                paging,
                parse=lambda body: stored.put(decode_records(body, source.contract, source.key), source.key),
                keys=lambda page: page.keys,
                tally=read.account.tally,
            )
            client.per_page = min(client.per_page, paging.size)
            return answer

        order = {"sort": source.key_fields[0]} if source.key_fields else {}
        try:
            pages, outcome = await ask(order)
        except Refused:
            if not order:
                raise
            # An order helps, but the proof needs none.
            pages, outcome = await ask({})
        numbers = RowNumbers()
        for records in stored.get(pages):
            if not source.key:
                batch = records.batch
                records.batch = batch.add_column(0, "_row", numbers.column(batch))
            read.take(records, write)
    read.account.server_total = outcome.total
    read.account.complete = outcome.complete
    if not outcome.complete:
        read.account.notes.append(outcome.note)
    return read


@dataclass(frozen=True)
class _Page:
    """A page that waits on disk as batch `number`. `keys`: what tells its rows apart, hashed, since all of a
    dataset's are in memory at a time."""

    number: int
    keys: list[int]
    bad: list[BadRow]
    drift: Counter[Drift]


class _Pages:
    """The pages of one reading, in a file that lives as long as the `with` block."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(suffix=".arrow", dir=folder)  # noqa: SIM115, __exit__ closes it
        self._writer = pa.ipc.new_file(self._file.name, schema)
        self._written = 0

    def put(self, records: Records, key: tuple[str, ...]) -> _Page:
        """Take a decoded page."""
        self._writer.write_batch(records.batch)
        self._written += 1
        return _Page(self._written - 1, _keys(records, key), records.bad, records.drift)

    def get(self, pages: Iterable[_Page]) -> Iterator[Records]:
        """These pages again; none can be put in any more."""
        self._writer.close()
        with pa.OSFile(self._file.name, "rb") as source:
            reader = pa.ipc.open_file(source)
            for page in pages:
                yield Records(reader.get_batch(page.number), page.bad, page.drift)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._file.close()


def _keys(records: Records, key: tuple[str, ...]) -> list[int]:
    """What tells rows apart: their keys, or all that is in them."""
    batch = records.batch.select(key) if key else records.batch
    columns = [column.to_pylist() for column in batch.columns]
    sent = [*zip(*columns, strict=True), *(bad.key or (bad.raw,) for bad in records.bad)]
    return [hash(repr(one)) for one in sent]
