"""Replaces the data files of a slice in one commit, in memory that does not grow with the slice.

The memory of deltalake's own writer grows with the rows, and its commits read the names of all files of the
table. So pyarrow writes the file through the table's store, and this module writes the commit.

A commit conflicts with the same commits as one of deltalake: a change of the table's columns or properties,
one of the same application transactions, and the removal of the same file.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake.exceptions import CommitFailedError

from warehouse.lake import delta_log
from warehouse.lake.delta import ATTEMPTS, Lake
from warehouse.lake.delta_log import Action
from warehouse.lake.parquet import GroupedWriter
from warehouse.lake.table_state import TableState
from warehouse.lake.tables import Slice, Stored, file_schema

#: The name of these commits in a table's history.
ENGINE = "campus-warehouse"
#: Bytes that are copied at a time.
BLOCK = 1 << 20
#: Commits between two checkpoints, for so many slices. Larger tables have fewer checkpoints: each names the
#: files of all slices.
CHECKPOINT, SLICES = 10, 5000


def replace(
    lake: Lake,
    table: Stored,
    slice: Slice,
    table_state: TableState,
    rows: Iterable[pa.RecordBatch],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> str:
    """Replace all files of a slice by one of `rows`. A crash leaves at most a file that no version names.

    Args:
        table_state: The table that the rows were made from.
        rows: Batches of `file_schema(table)`.
        transactions: Delta's application transactions.

    Returns:
        The name of the new file below the table.

    Raises:
        CommitFailedError: A later commit names one of the transactions or replaces the slice.
    """
    added = _write(lake, table, slice, rows)
    _commit(
        lake, table, table_state, [added, *_removals(slice, table_state.files(slice))], transactions, metadata
    )
    return str(added["add"]["path"])


def rearrange(
    lake: Lake,
    table: Stored,
    table_state: TableState,
    before: Iterable[Slice],
    parts: Iterable[tuple[Slice, Iterable[pa.RecordBatch]]],
) -> None:
    """Replace all files of the slices `before` by `parts`, each of one slice, in one commit.

    The commit counts as one of each slice. So a load of any of them that is under way fails. The change log
    would take it for a change of rows."""
    removed = {slice: _removals(slice, table_state.files(slice)) for slice in before}
    added = {slice: _write(lake, table, slice, rows) for slice, rows in parts}
    touched = {slice.counter for slice in (*removed, *added)}
    transactions = {name: (table_state.transactions.get(name) or 0) + 1 for name in touched}
    actions = [*added.values(), *(removal for removals in removed.values() for removal in removals)]
    _commit(lake, table, table_state, actions, transactions, {"rearranged": ", ".join(sorted(touched))})


def append(
    lake: Lake,
    table: Stored,
    slice: Slice,
    table_state: TableState,
    rows: Iterable[pa.RecordBatch],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> None:
    """As `replace`, and keep the slice's files."""
    _commit(lake, table, table_state, [_write(lake, table, slice, rows)], transactions, metadata)


def adopt(
    lake: Lake,
    table: Stored,
    slice: Slice,
    table_state: TableState,
    file: Path,
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> str:
    """As `replace`, by a copy of a Parquet file that has the shape of the lake's files."""
    store, path = lake.store(table), _new_path(slice)
    # deltalake's streams take bytes only; blocks larger than the buffer reach them as another type.
    with file.open("rb") as source, store.open_output_stream(path, buffer_size=2 * BLOCK) as target:
        shutil.copyfileobj(source, target, BLOCK)
    added = _added(store, slice, path, pq.read_metadata(file).num_rows)
    _commit(
        lake, table, table_state, [added, *_removals(slice, table_state.files(slice))], transactions, metadata
    )
    return path


def note(lake: Lake, table: Stored, table_state: TableState, transactions: Mapping[str, int]) -> None:
    """Commit transactions alone."""
    _commit(lake, table, table_state, [], transactions, {})


def _commit(
    lake: Lake,
    table: Stored,
    table_state: TableState,
    actions: Sequence[Action],
    transactions: Mapping[str, int],
    metadata: Mapping[str, Any],
) -> None:
    # A table that was deleted or restored since has another history.
    if not table_state.stands(lake.objects, table.folder):
        raise CommitFailedError(
            f"lake table {table.name} was replaced since version {table_state.version} was read"
        )
    names = [{"txn": {"appId": name, "version": version}} for name, version in transactions.items()]
    version = _put(lake, table, table_state.version, [_info(table, metadata), *actions, *names])
    # As deltalake counts: the first version is 0.
    if (version + 1) % (CHECKPOINT * max(1, len(table_state.names) // SLICES)) == 0:
        _checkpoint(lake, table, version)


def _put(lake: Lake, table: Stored, version: int, actions: Sequence[Action]) -> int:
    """Commit after the commits since `version` unless one of them conflicts. Returns the new version."""
    removed = {action["remove"]["path"] for action in actions if "remove" in action}
    names = {action["txn"]["appId"] for action in actions if "txn" in action}
    for _ in range(ATTEMPTS):
        for other in delta_log.since(lake.objects, table.folder, version):
            version = other.version
            shared = names & other.transactions.keys() or removed & other.removed
            if shared or other.alters:
                what = ", ".join(sorted(shared)) or "columns, properties or protocol"
                raise CommitFailedError(f"lake table {table.name}: version {version} has changed {what}")
        if delta_log.write(lake.objects, table.folder, version + 1, actions):
            return version + 1
    raise CommitFailedError(f"lake table {table.name}: other commits came first {ATTEMPTS} times")


def _checkpoint(lake: Lake, table: Stored, version: int) -> None:
    """Write a checkpoint, and delete the commits that are older than the table's properties allow."""
    # Opened for this alone: a table that stays open would ask for the commits that are deleted here.
    opened = lake.open(table, version)
    opened.create_checkpoint()
    opened.cleanup_metadata()


def _info(table: Stored, metadata: Mapping[str, Any]) -> Action:
    parameters = {"mode": "Append", "partitionBy": json.dumps(table.slice_columns)}
    return {
        "commitInfo": {
            "timestamp": _now(),
            "operation": "WRITE",
            "operationParameters": parameters,
            "engineInfo": ENGINE,
            **metadata,
        }
    }


def _write(lake: Lake, table: Stored, slice: Slice, rows: Iterable[pa.RecordBatch]) -> Action:
    store, path = lake.store(table), _new_path(slice)
    with GroupedWriter(path, file_schema(table), filesystem=store) as writer:
        for batch in rows:
            writer.write(batch)
    return _added(store, slice, path, writer.rows)


def _new_path(slice: Slice) -> str:
    return "/".join(filter(None, (slice.folder, f"part-{uuid.uuid4()}.parquet")))


def _added(store: pa_fs.PyFileSystem, slice: Slice, path: str, count: int) -> Action:
    return {
        "add": {
            "path": path,
            "partitionValues": _values(slice),
            "size": store.get_file_info(path).size,
            "modificationTime": _now(),
            "dataChange": True,
            "stats": json.dumps({"numRecords": count}),
        }
    }


def _removals(slice: Slice, files: Iterable[str]) -> list[Action]:
    return [
        {
            "remove": {
                "path": path,
                "deletionTimestamp": _now(),
                "dataChange": True,
                "partitionValues": _values(slice),
            }
        }
        for path in files
    ]


def _values(slice: Slice) -> dict[str, str]:
    return {name: str(value) for name, value in slice.values}


def _now() -> int:
    """Delta's clock: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000
