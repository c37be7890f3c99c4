"""A reading on its way to the lake: batches of any size go to a Parquet file, in bounded memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.tables import Table

#: Rows and bytes that are held before they become a row group: pages alone would make thousands of tiny ones.
ROW_GROUP_ROWS = 16_384
ROW_GROUP_BYTES = 16 << 20


class Spool:
    """Takes batches of `table.spool_schema`; the file lives as long as the `with` block."""

    def __init__(self, table: Table, directory: Path) -> None:
        self.rows = 0
        self._table = table
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f"{table.name}-", suffix=".parquet", dir=directory)
        os.close(descriptor)
        self._path = Path(name)
        self._writer = pq.ParquetWriter(name, table.spool_schema, compression="zstd", compression_level=1)

    def write(self, batch: pa.RecordBatch) -> None:
        """Raises ValueError where a key is null: such a row belongs in quarantine, never here."""
        batch = batch.cast(self._table.spool_schema)
        for name in self._table.primary_key:
            if batch.column(name).null_count:
                raise ValueError(f"{self._table.name}: a row without its key {name} came to the spool")
        self.rows += batch.num_rows
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        if self._held_rows >= ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def finish(self) -> Path:
        """Close the file and say where it is; nothing can be written after."""
        self._flush()
        self._writer.close()
        return self._path

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
        self._held = []
        self._held_rows = self._held_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._path.unlink(missing_ok=True)
