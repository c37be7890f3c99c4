"""Writes the lake's Parquet files, and reads small tables.

The options gave the fastest and smallest files in benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

#: Rows or bytes at which a row group is written. Small groups make aggregates slow.
GROUP_ROWS = 122_880
GROUP_BYTES = 16 << 20

#: Types that are delta-packed: ids ascend, and times share their microseconds.
_PACKED = (pa.types.is_integer, pa.types.is_date32, pa.types.is_timestamp)
#: A text column with few repeated values drops its dictionary at this many bytes.
_DICTIONARY_BYTES = 64 << 10

_DISK = pa_fs.LocalFileSystem()
_FORMAT = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False))


class GroupedWriter:
    """Writes batches of any size in row groups of a good size, with one group in memory.

    Writes statistics of `keys`, integers, dates and times. Sorts a file of a single group by `keys`; rows
    with equal keys stay in order.
    """

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        keys: Sequence[str] = (),
        filesystem: pa_fs.FileSystem | None = None,
        group_bytes: int = GROUP_BYTES,
    ) -> None:
        self.rows = 0
        #: Whether the groups written so far ascend by `keys`, without repeated keys.
        self.ascends = True
        self._keys = list(keys)
        self._last_key: pa.Table | None = None
        self._buffer: list[pa.RecordBatch] = []
        self._buffer_rows = self._buffer_bytes = 0
        self._group_bytes = group_bytes
        self._writer = pq.ParquetWriter(path, schema, filesystem=filesystem, **_options(schema, keys))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of exactly the file's schema."""
        if self._buffer_rows >= GROUP_ROWS or self._buffer_bytes >= self._group_bytes:
            self._flush()
        self.rows += batch.num_rows
        self._buffer.append(batch)
        self._buffer_rows += batch.num_rows
        self._buffer_bytes += batch.nbytes

    def close(self) -> None:
        """Write the last group and close the file."""
        if self._last_key is None and not self._ascends(self._buffer):
            self._buffer = _sorted(self._buffer, self._keys)
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._buffer_rows:
            self.ascends = self.ascends and self._ascends(self._buffer)
            group = pa.Table.from_batches(self._buffer)
            self._last_key = group.select(self._keys).slice(group.num_rows - 1)
            self._writer.write_table(group)
        self._buffer = []
        self._buffer_rows = self._buffer_bytes = 0

    def _ascends(self, batches: Sequence[pa.RecordBatch]) -> bool:
        """Whether batches ascend by the keys, and come after the last group."""
        keys = [batch.select(self._keys) for batch in batches if batch.num_rows]
        if not self._keys or not keys:
            return True
        before = [] if self._last_key is None else self._last_key.to_batches()
        return _ascends(pa.Table.from_batches([*before, *keys]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ascends(keys: pa.Table) -> bool:
    """Whether each row is above the row before by the first column that differs; null is the greatest."""
    above: Any = False
    for column in reversed(keys.columns):
        values = pa.concat_arrays(column.chunks)
        before, after = values[:-1], values[1:]
        is_null, was_null = pc.is_null(after), pc.is_null(before)
        greater = pc.coalesce(pc.greater(after, before), pc.and_not(is_null, was_null))
        equal = pc.coalesce(pc.equal(after, before), pc.and_(is_null, was_null))
        above = pc.or_(greater, pc.and_(equal, above))
    return bool(pc.all(above, min_count=0).as_py())


def _sorted(batches: Sequence[pa.RecordBatch], keys: Sequence[str]) -> list[pa.RecordBatch]:
    """The rows of batches sorted by their keys, null last. Arrow's sort is stable."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in keys])
    return list(rows.take(order).to_batches())


def read_files(
    files: Sequence[str],
    schema: pa.Schema,
    partitions: Sequence[str],
    columns: Sequence[str],
    condition: pc.Expression | None = None,
) -> pa.Table:
    """Read columns of files into memory, on one thread, in the order of the files.

    `schema`: the table's; a column that a file lacks is null. `partitions`: the columns whose values are in
    the last folders of each path."""
    dataset = _dataset(files, schema, partitions)
    return dataset.to_table(columns=list(columns), filter=condition, use_threads=False)


def prune_files(
    files: Sequence[str], schema: pa.Schema, partitions: Sequence[str], condition: pc.Expression
) -> list[str]:
    """The files whose folders allow rows that satisfy `condition`. Opens no file: they may not be local."""
    return [fragment.path for fragment in _dataset(files, schema, partitions).get_fragments(condition)]


def _dataset(files: Sequence[str], schema: pa.Schema, partitions: Sequence[str]) -> ds.FileSystemDataset:
    folders = ds.partitioning(pa.schema([schema.field(name) for name in partitions]), flavor="hive")
    fragments = [
        _FORMAT.make_fragment(file, _DISK, partition_expression=folders.parse(_below(file, len(partitions))))
        for file in files
    ]
    return ds.FileSystemDataset(fragments, schema, _FORMAT, _DISK)


def _below(file: str, folders: int) -> str:
    """The path from its last `folders` folders on."""
    return "/".join(file.split("/")[-folders - 1 :])


def _options(schema: pa.Schema, keys: Sequence[str]) -> dict[str, Any]:
    packed = [field.name for field in schema if any(fits(field.type) for fits in _PACKED)]
    return {
        "compression": "zstd",
        "compression_level": 1,
        "column_encoding": dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
        "use_dictionary": [field.name for field in schema if pa.types.is_string(field.type)],
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        "write_statistics": [*packed, *keys],
    }
