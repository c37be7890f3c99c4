"""A reading on its way to the lake: batches of any size go to a Parquet file, in bounded memory."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.lake.parquet import GROUP_BYTES, GroupedWriter
from warehouse.lake.tables import DELETED_AT, SYNCED_AT, TIMESTAMP, TRASHED, Table

#: How many hashes of a row there are.
HASHES = 1 << 64


@dataclass(frozen=True, slots=True)
class Content:
    """The rows of a spool: a name that they have in any order, how many they are, and how many of them the
    platform does not show as deleted."""

    name: str
    rows: int
    alive: int


class Spool:
    """Takes batches of `table.spool_schema`; the file lives as long as the `with` block.

    With `synced_at` the file is such as the lake's own, its rows stamped with that time, so that a slice that
    holds nothing yet can take it as it is (`Reading.distinct`); without it, the content has a name.
    `group_bytes` are held in memory; the more are open together, the fewer each should hold. `rewrite` takes
    out of each batch what must not be stored.
    """

    def __init__(
        self,
        table: Table,
        directory: Path,
        *,
        synced_at: datetime | None = None,
        group_bytes: int = GROUP_BYTES,
        rewrite: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> None:
        self._table, self._rewrite = table, rewrite
        self._synced_at = synced_at
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(suffix=".parquet", dir=directory)
        os.close(descriptor)
        self._path = Path(name)
        schema = table.spool_schema
        if synced_at:
            schema = schema.append(pa.field(SYNCED_AT, TIMESTAMP)).append(pa.field(DELETED_AT, TIMESTAMP))
        self._writer = GroupedWriter(name, schema, table.primary_key, group_bytes=group_bytes)
        self._hash = self._deleted = 0

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, batch: pa.RecordBatch) -> None:
        """From any thread, one batch at a time.

        Raises ValueError where a key is null: such a row belongs in quarantine, never here."""
        batch = batch.cast(self._table.spool_schema)
        if self._rewrite is not None:
            batch = self._rewrite(batch)
        for name in self._table.primary_key:
            if name not in self._table.nullable_key and batch.column(name).null_count:
                raise ValueError(f"{self._table.name}: a row without its key {name} came to the spool")
        if self._synced_at:
            batch = _stamped(batch, self._synced_at)
        else:
            self._hash = (self._hash + _hash(batch)) % HASHES
            self._deleted += pc.sum(batch[TRASHED]).as_py() or 0 if self._table.shows_deleted else 0
        self._writer.write(batch)

    def copy(self, other: Path) -> None:
        """Take over the rows of another spool of the same table and time that is finished."""
        with pq.ParquetFile(other, pre_buffer=False) as file:
            for batch in file.iter_batches():
                self._writer.write(batch)

    @property
    def content(self) -> Content | None:
        """What was written so far; None: its content has no name."""
        if self._synced_at:
            return None
        said = f"{self._table.spool_schema}|{pl.__version__}|{self.rows}|{self._hash}"
        name = hashlib.sha256(said.encode()).hexdigest()[:24]
        return Content(name, self.rows, self.rows - self._deleted)

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


def _hash(batch: pa.RecordBatch) -> int:
    """The sum of its rows' hashes, the same in any order of the rows and on any machine."""
    rows = pl.DataFrame(batch)
    return int(rows.hash_rows(seed=0).cast(pl.UInt128).sum() if len(rows) else 0) % HASHES


def _stamped(batch: pa.RecordBatch, synced_at: datetime) -> pa.RecordBatch:
    stamp = pa.repeat(pa.scalar(synced_at, TIMESTAMP), batch.num_rows)
    return batch.append_column(pa.field(SYNCED_AT, TIMESTAMP), stamp).append_column(
        pa.field(DELETED_AT, TIMESTAMP), pa.nulls(batch.num_rows, TIMESTAMP)
    )
