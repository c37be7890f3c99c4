"""Reads a whole dataset by pages, where it has no ids to read by. Pages wait on disk until all are read."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from campus.datasets.records import RecordsRead, Source, Write, decoder
from campus.decoding.columnar import Records, RowNumbers
from campus.decoding.page_buffer import Page, Pages
from campus.fetch.collection import Collection, read_collection
from campus.http.client import Client
from campus.http.errors import Refused
from campus.paging import Outcome, PageNames, page_by_number
from campus.registry import DATASETS


async def read_pages(client: Client, source: Source, limit: int, write: Write, scratch: Path) -> RecordsRead:
    """Read a whole dataset by numbered pages until the reading is proven to be complete. The pages are sorted
    by the key where the platform sorts.

    write: takes batches of the contract's columns and `_extra`; without a key, `_row` comes first. scratch:
    the folder in which the pages wait. Raises CampusError."""
    read, decode_records = RecordsRead(distinct=False), decoder(client, source)
    with Pages(scratch) as stored:

        def decode(body: bytes) -> Page:
            return stored.put(decode_records(body), source.key)

        async def ask(order: Mapping[str, str]) -> tuple[list[Page], Outcome]:
            paging = page_by_number(
                client.page_size,
                limit,
                names=PageNames(unpaged=(("paginated", 0), ("limit", limit))),
                keep_duplicates=not source.key,
                confirmation=client.capabilities.confirmation,
            )
            collection = Collection(
                source.path,
                {**source.params, **order},
                source.school_id,
                DATASETS.scopes,
                decode,
                lambda page: page.keys,
            )
            return await read_collection(client, collection, paging, tally=read.account.tally)

        order = {"sort": source.key_fields[0]} if source.key_fields else {}
        try:
            pages, outcome = await ask(order)
        except Refused:
            if not order:
                raise
            # The proof works without an order, too.
            pages, outcome = await ask({})
        write_pages(read, stored.get(pages), outcome, write, keyless=not source.key)
    return read


def write_pages(
    read: RecordsRead, pages: Iterable[Records], outcome: Outcome, write: Write, *, keyless: bool
) -> None:
    """Write the pages of a finished reading, and note in its account how it ended.

    keyless: puts `_row` before the columns."""
    numbers = RowNumbers()
    for records in pages:
        if keyless:
            batch = records.batch
            records.batch = batch.add_column(0, "_row", numbers.column(batch))
        read.take(records, write)
    read.account.server_total = outcome.total
    read.account.complete = outcome.complete
    if not outcome.complete:
        read.account.notes.append(outcome.note)
