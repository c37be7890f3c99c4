"""Reading a whole dataset by pages, where ids are of no use: its pages wait on disk for the proof."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from campus.datasets.records import RecordsRead, Source, Write
from campus.decoding.columnar import Records, RowNumbers, decode_records
from campus.decoding.page_buffer import Page, Pages
from campus.fetch.collection import Collection, read_collection
from campus.http.client import Client
from campus.http.errors import Refused
from campus.paging import Outcome, PageNames, page_by_number
from campus.registry import DATASETS


async def read_pages(client: Client, source: Source, limit: int, write: Write, scratch: Path) -> RecordsRead:
    """Read a whole dataset by numbered pages, sorted by its key where it can be, until the reading is proven.

    write: takes batches of the contract's columns and `_extra`; without a key, `_row` stands before them.
    scratch: where the pages wait. Raises CampusError."""
    read = RecordsRead(distinct=False)
    with Pages(scratch) as stored:

        def decode(body: bytes) -> Page:
            keeps = client.config.keep_id_numbers
            records = decode_records(body, source.contract, source.key, keep_id_numbers=keeps)
            return stored.put(records, source.key)

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
            # An order helps, but the proof needs none.
            pages, outcome = await ask({})
        hand_on(read, stored.get(pages), outcome, write, keyless=not source.key)
    return read


def hand_on(
    read: RecordsRead, pages: Iterable[Records], outcome: Outcome, write: Write, *, keyless: bool
) -> None:
    """Write the pages of a reading that is over, and note in its account how it ended. `keyless`: `_row` is
    put before the columns."""
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
