"""Stages the rows of a reading: batches of any size go to one Parquet file, in bounded memory.

The file has the schema of the lake's files. An empty slice takes the file as it is, if its rows ascend by
their keys.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.lake.parquet import GROUP_BYTES, GroupedWriter
from warehouse.lake.tables import DELETED_AT, SYNCED_AT, TIMESTAMP, TRASHED, TRASHED_AT, Table, file_schema

#: The number of possible hashes of a row.
HASHES = 1 << 64


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged file, complete."""

    path: Path
    #: A hash of the rows, the same in any order of them and on any machine.
    content: str
    rows: int
    #: Rows that the platform does not show as deleted.
    alive: int
    #: The rows ascend by the primary key, and each key comes once.
    ascends: bool


class StageWriter:
    """Takes batches of `table.staging_schema`; the file lives as long as the `with` block.

    Args:
        synced_at: Start of the sync. Stamps the rows, and stands for the time of a deletion that the platform
            shows without one.
        group_bytes: Held in memory. The more files are open together, the fewer each should hold.
        rewrite: Takes out of each batch what must not be stored.
    """

    def __init__(
        self,
        table: Table,
        directory: Path,
        *,
        synced_at: datetime,
        group_bytes: int = GROUP_BYTES,
        rewrite: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> None:
        self._table, self._rewrite = table, rewrite
        self._stamp = pa.scalar(synced_at, TIMESTAMP)
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(suffix=".parquet", dir=directory)
        os.close(descriptor)
        self._path = Path(name)
        self._schema = file_schema(table)
        self._writer = GroupedWriter(name, self._schema, table.primary_key, group_bytes=group_bytes)
        self._hash = self._deleted = 0

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; from any thread, one batch at a time.

        Raises:
            ValueError: A key is null. Such a row belongs in quarantine.
        """
        batch = batch.cast(self._table.staging_schema)
        if self._rewrite is not None:
            batch = self._rewrite(batch)
        for name in self._table.primary_key:
            if name not in self._table.nullable_key and batch.column(name).null_count:
                raise ValueError(f"{self._table.name}: a row to be staged has no key {name}")
        self._hash = (self._hash + _hash(batch)) % HASHES
        deleted_at = self._deleted_at(batch)
        self._deleted += batch.num_rows - deleted_at.null_count
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns |= {SYNCED_AT: pa.repeat(self._stamp, batch.num_rows), DELETED_AT: deleted_at}
        arrays = [columns[name] for name in self._schema.names]
        self._writer.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def copy(self, staged: StagedFile) -> None:
        """Append the rows of another file, staged for the same table, which never shows deleted rows."""
        with pq.ParquetFile(staged.path, pre_buffer=False) as file:
            for batch in file.iter_batches():
                self.write(batch.select(self._table.staging_schema.names))

    def finish(self) -> StagedFile:
        """Close the file; nothing can be written after."""
        self._writer.close()
        said = f"{self._table.staging_schema}|{pl.__version__}|{self.rows}|{self._hash}"
        return StagedFile(
            path=self._path,
            content=hashlib.sha256(said.encode()).hexdigest()[:24],
            rows=self.rows,
            alive=self.rows - self._deleted,
            ascends=self._writer.ascends,
        )

    def _deleted_at(self, batch: pa.RecordBatch) -> Any:
        if not self._table.shows_deleted:
            return pa.nulls(batch.num_rows, TIMESTAMP)
        times = pc.coalesce(batch.column(TRASHED_AT), self._stamp)
        return pc.if_else(batch.column(TRASHED), times, pa.scalar(None, TIMESTAMP))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._path.unlink(missing_ok=True)


def _hash(batch: pa.RecordBatch) -> int:
    """The sum of the hashes of the rows."""
    rows = pl.DataFrame(batch)
    return int(rows.hash_rows(seed=0).cast(pl.UInt128).sum() if len(rows) else 0) % HASHES
