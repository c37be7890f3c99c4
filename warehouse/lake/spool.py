"""A reading on its way to the lake: batches of any size go to a Parquet file, in bounded memory."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from warehouse.lake.parquet import GROUP_BYTES, GroupedWriter
from warehouse.lake.tables import DELETED_AT, SYNCED_AT, TIMESTAMP, Table


class Spool:
    """Takes batches of `table.spool_schema`; the file lives as long as the `with` block.

    With `synced_at` the file is such as the lake's own, its rows stamped with that time, so that a slice that
    holds nothing yet can take it as it is (`Reading.distinct`). `group_bytes` are held in memory; the more
    are open together, the fewer each should hold.
    """

    def __init__(
        self,
        table: Table,
        directory: Path,
        *,
        synced_at: datetime | None = None,
        group_bytes: int = GROUP_BYTES,
    ) -> None:
        self._table = table
        self._synced_at = synced_at
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(suffix=".parquet", dir=directory)
        os.close(descriptor)
        self._path = Path(name)
        schema = table.spool_schema
        if synced_at:
            schema = schema.append(pa.field(SYNCED_AT, TIMESTAMP)).append(pa.field(DELETED_AT, TIMESTAMP))
        self._writer = GroupedWriter(name, schema, table.primary_key, group_bytes=group_bytes)

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, batch: pa.RecordBatch) -> None:
        """From any thread, one batch at a time.

        Raises ValueError where a key is null: such a row belongs in quarantine, never here."""
        batch = batch.cast(self._table.spool_schema)
        for name in self._table.primary_key:
            if name not in self._table.nullable_key and batch.column(name).null_count:
                raise ValueError(f"{self._table.name}: a row without its key {name} came to the spool")
        self._writer.write(_stamped(batch, self._synced_at) if self._synced_at else batch)

    def finish(self) -> Path:
        """Close the file and say where it is; nothing can be written after."""
        self._writer.close()
        return self._path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._path.unlink(missing_ok=True)


def _stamped(batch: pa.RecordBatch, synced_at: datetime) -> pa.RecordBatch:
    stamp = pa.repeat(pa.scalar(synced_at, TIMESTAMP), batch.num_rows)
    return batch.append_column(pa.field(SYNCED_AT, TIMESTAMP), stamp).append_column(
        pa.field(DELETED_AT, TIMESTAMP), pa.nulls(batch.num_rows, TIMESTAMP)
    )
