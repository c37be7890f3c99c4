"""One slice's data files replaced in one commit, in memory that does not grow with the slice.

deltalake's own writer took 200 to 650 MB more for the same rows (500,000 and 2 million). Here pyarrow
writes the file through the table's own store, and the commit names what comes and what goes. Adding and
removing by name in an append is what held in tests; an overwrite by partition filter let duplicates in.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from warehouse.lake.delta import Lake, relative_files
from warehouse.lake.parquet import GroupedWriter
from warehouse.lake.tables import Slice, Stored, file_schema

#: Bytes of a file that are copied at a time.
BLOCK = 1 << 20


def replace(
    lake: Lake,
    table: Stored,
    slice: Slice,
    opened: DeltaTable,
    held: Iterable[str],
    rows: Iterable[pa.RecordBatch],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> str:
    """Put `rows` (lake columns without the slice's own) in the place of `held`, all files (below the table)
    that `opened` has of the slice. Returns the file that it has now.

    `transactions` are Delta's application transactions: another commit that names one of them, or that
    replaced the slice since `opened`, makes this one fail with deltalake's CommitFailedError. A crash
    leaves at most a file that no version names.
    """
    added = _write(lake, table, slice, rows)
    _commit(table, opened, [added, *_removals(slice, held)], transactions, metadata)
    return added.path


def rearrange(
    lake: Lake,
    table: Stored,
    opened: DeltaTable,
    before: Iterable[Slice],
    parts: Iterable[tuple[Slice, Iterable[pa.RecordBatch]]],
) -> None:
    """Put `parts`, each of another slice, in the place of all that `opened` holds of the slices `before`, in
    one commit. It counts as one of each slice, so that a load of any of them that is under way fails."""
    removed = {slice: _removals(slice, relative_files(opened, slice)) for slice in before}
    added = {slice: _write(lake, table, slice, rows) for slice, rows in parts}
    touched = {str(slice) for slice in (*removed, *added)}
    transactions = {name: (opened.transaction_version(name) or 0) + 1 for name in touched}
    actions: list[AddAction | RemoveAction] = list(added.values())
    actions += [one for removals in removed.values() for one in removals]
    _commit(table, opened, actions, transactions, {"rearranged": ", ".join(sorted(touched))})


def append(
    lake: Lake,
    table: Stored,
    slice: Slice,
    opened: DeltaTable,
    rows: Iterable[pa.RecordBatch],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> None:
    """As `replace`, but beside what the slice holds already."""
    _commit(table, opened, [_write(lake, table, slice, rows)], transactions, metadata)


def adopt(
    lake: Lake,
    table: Stored,
    slice: Slice,
    opened: DeltaTable,
    file: Path,
    count: int,
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> str:
    """As `append`, of a Parquet file of `count` rows that has the lake's columns already; it is copied.
    Returns the copy."""
    store, path = lake.store(table), _new_path(slice)
    # deltalake's streams take bytes only, and what is larger than the buffer reaches them as something else.
    with file.open("rb") as source, store.open_output_stream(path, buffer_size=2 * BLOCK) as target:
        shutil.copyfileobj(source, target, BLOCK)
    _commit(table, opened, [_added(store, slice, path, count)], transactions, metadata)
    return path


def note(table: Stored, opened: DeltaTable, transactions: Mapping[str, int]) -> None:
    """Write down transactions alone."""
    _commit(table, opened, [], transactions, {})


def _commit(
    table: Stored,
    opened: DeltaTable,
    actions: list[AddAction | RemoveAction],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> None:
    opened.create_write_transaction(
        actions,
        mode="append",
        schema=opened.schema(),
        partition_by=list(table.slice_columns),
        commit_properties=CommitProperties(
            custom_metadata=dict(metadata),
            app_transactions=[Transaction(name, version) for name, version in transactions.items()],
        ),
    )


def _write(lake: Lake, table: Stored, slice: Slice, rows: Iterable[pa.RecordBatch]) -> AddAction:
    store, path = lake.store(table), _new_path(slice)
    with GroupedWriter(path, file_schema(table), filesystem=store) as writer:
        for batch in rows:
            writer.write(batch)
    return _added(store, slice, path, writer.rows)


def _new_path(slice: Slice) -> str:
    folder = "/".join(f"{name}={value}" for name, value in slice.values)
    return f"{folder}/part-{uuid.uuid4()}.parquet"


def _added(store: pa_fs.PyFileSystem, slice: Slice, path: str, count: int) -> AddAction:
    return AddAction(
        path=path,
        size=store.get_file_info(path).size,
        partition_values={name: str(value) for name, value in slice.values},
        modification_time=_now(),
        data_change=True,
        stats=json.dumps({"numRecords": count}),
    )


def _removals(slice: Slice, files: Iterable[str]) -> list[RemoveAction]:
    values: dict[str, str | None] = {name: str(value) for name, value in slice.values}
    return [
        RemoveAction(path, data_change=True, deletion_timestamp=_now(), partition_values=values)
        for path in files
    ]


def _now() -> int:
    """Delta's clock: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
